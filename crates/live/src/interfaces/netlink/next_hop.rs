//! Whether the kernel can send to a host now, or first has to find its link-layer address.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::NLM_F_ACK;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::libc;

use super::{Connection, decode};

impl Connection {
    /// Whether the link-layer address of the next hop to `host` is known, so that a datagram leaves
    /// now instead of waiting for an answer to ARP or neighbour discovery.
    ///
    /// `device` is the index of the interface that the datagram must leave by, if any. A host that
    /// has sent ARP or neighbour discovery itself is known. False without a route, on interfaces
    /// without such addresses, and on Linux before 5.0, which does not answer.
    pub(crate) fn is_next_hop_known(&self, host: IpAddr, device: Option<u32>) -> bool {
        self.next_hop_state(host, device)
            .is_ok_and(|state| matches!(state, Some(state) if is_known(state)))
    }

    fn next_hop_state(
        &self,
        host: IpAddr,
        device: Option<u32>,
    ) -> io::Result<Option<NeighbourState>> {
        let mut next_hop = None;
        self.exchange(route_to(host, device), NLM_F_ACK, |kind, message| {
            if kind == libc::RTM_NEWROUTE {
                next_hop = decode::next_hop(message);
            }
        })?;
        let Some((link, gateway)) = next_hop else {
            return Ok(None);
        };
        let mut state = None;
        let request = neighbour(gateway.unwrap_or(host), link);
        self.exchange(request, NLM_F_ACK, |kind, message| {
            if kind == libc::RTM_NEWNEIGH {
                state = decode::neighbour_state(message);
            }
        })?;
        Ok(state)
    }
}

/// As the kernel's `NUD_VALID`: it sends to the address that it has, even while it verifies it.
const fn is_known(state: NeighbourState) -> bool {
    matches!(
        state,
        NeighbourState::Reachable
            | NeighbourState::Stale
            | NeighbourState::Delay
            | NeighbourState::Probe
            | NeighbourState::Noarp
            | NeighbourState::Permanent
    )
}

fn route_to(host: IpAddr, device: Option<u32>) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    let (family, destination) = match host {
        IpAddr::V4(ip) => (AddressFamily::Inet, RouteAddress::Inet(ip)),
        IpAddr::V6(ip) => (AddressFamily::Inet6, RouteAddress::Inet6(ip)),
    };
    message.header.address_family = family;
    message.header.destination_prefix_length = if host.is_ipv4() { 32 } else { 128 };
    message
        .attributes
        .push(RouteAttribute::Destination(destination));
    message.attributes.extend(device.map(RouteAttribute::Oif));
    RouteNetlinkMessage::GetRoute(message)
}

fn neighbour(host: IpAddr, link: u32) -> RouteNetlinkMessage {
    let mut message = NeighbourMessage::default();
    let (family, destination) = match host {
        IpAddr::V4(ip) => (AddressFamily::Inet, NeighbourAddress::Inet(ip)),
        IpAddr::V6(ip) => (AddressFamily::Inet6, NeighbourAddress::Inet6(ip)),
    };
    message.header.family = family;
    message.header.ifindex = link;
    message
        .attributes
        .push(NeighbourAttribute::Destination(destination));
    RouteNetlinkMessage::GetNeighbour(message)
}
