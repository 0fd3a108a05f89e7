//! Decoding of rtnetlink messages.
//!
//! Only the needed fields of each message are read, one by one, so that an unknown attribute of a
//! newer kernel or an odd value of a driver does not hide an interface.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NlaBuffer, NlasIterator};
use netlink_packet_route::address::{AddressFlags, AddressHeader, AddressScope};
use netlink_packet_route::link::{LinkFlags, LinkHeader};
use netlink_packet_route::neighbour::{NeighbourHeader, NeighbourState};
use netlink_packet_route::route::{RouteFlags, RouteHeader, RouteType};
use nix::libc;

use crate::interfaces::network::{Address, Link, Network, Route};

/// The lengths in bytes of `struct ifinfomsg`, `struct ifaddrmsg`, `struct rtmsg` and `struct
/// rtnexthop`.
const LINK: usize = 16;
const ADDRESS: usize = 8;
const ROUTE: usize = 12;
const NEXT_HOP: usize = 8;

pub(super) trait Decode {
    /// Adds the content of a message of type `kind`; a route only if it leads to one of `targets`.
    fn decode(&mut self, kind: u16, message: &[u8], targets: &[IpAddr]);
}

impl Decode for Network {
    fn decode(&mut self, kind: u16, message: &[u8], targets: &[IpAddr]) {
        match kind {
            libc::RTM_NEWLINK => self.links.extend(link(message)),
            libc::RTM_NEWADDR => self.addresses.extend(address(message)),
            libc::RTM_NEWROUTE => {
                let leads = |route: &Route| targets.iter().any(|ip| route.destination.contains(ip));
                let routes = routes(message).unwrap_or_default();
                self.routes.extend(routes.into_iter().filter(leads));
            }
            _ => {}
        }
    }
}

/// The attributes of a message whose fixed part has `len` bytes.
fn attributes(message: &[u8], len: usize) -> impl Iterator<Item = NlaBuffer<&[u8]>> {
    let attributes = NlasIterator::new(message.get(len..).unwrap_or_default());
    attributes.map_while(Result::ok)
}

fn link(message: &[u8]) -> Option<Link> {
    let header = LinkHeader::parse(message).ok()?;
    let can_send = LinkFlags::Up | LinkFlags::Running | LinkFlags::LowerUp;
    let mut link = Link {
        index: header.index,
        is_up: header.flags.contains(can_send),
        is_loopback: header.flags.contains(LinkFlags::Loopback),
        ..Link::default()
    };
    for attribute in attributes(message, LINK) {
        let value = attribute.value();
        match attribute.kind() {
            libc::IFLA_IFNAME => link.name = text(value),
            libc::IFLA_IFALIAS => link.alias = text(value),
            libc::IFLA_MTU => link.mtu = number(value).unwrap_or_default(),
            _ => {}
        }
    }
    Some(link)
}

fn address(message: &[u8]) -> Option<Address> {
    let header = AddressHeader::parse(message).ok()?;
    let mut flags = AddressFlags::from_bits_retain(header.flags.bits().into());
    let (mut local, mut address) = (None, None);
    for attribute in attributes(message, ADDRESS) {
        let value = attribute.value();
        match attribute.kind() {
            // On a point-to-point link `IFA_ADDRESS` is the address of the peer.
            libc::IFA_LOCAL => local = ip(value),
            libc::IFA_ADDRESS => address = ip(value),
            libc::IFA_FLAGS => flags = AddressFlags::from_bits_retain(number(value)?),
            _ => {}
        }
    }
    // No socket can be bound to it during duplicate address detection (RFC 4862, section 5.4).
    let is_tentative = flags.intersects(AddressFlags::Tentative | AddressFlags::Dadfailed);
    if is_tentative && !flags.contains(AddressFlags::Optimistic) {
        return None;
    }
    let ip = local.or(address)?;
    let is_link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    Some(Address {
        link: header.index,
        ip,
        is_routable: !is_link_local
            && matches!(
                header.scope,
                AddressScope::Universe | AddressScope::Site | AddressScope::Other(..=199)
            ),
        is_secondary: flags.contains(AddressFlags::Secondary),
        is_deprecated: flags.contains(AddressFlags::Deprecated),
    })
}

/// The routes of a message: one for each next hop.
fn routes(message: &[u8]) -> Option<Vec<Route>> {
    let header = RouteHeader::parse(message).ok()?;
    let usable = !header
        .flags
        .intersects(RouteFlags::Dead | RouteFlags::Linkdown);
    if header.kind != RouteType::Unicast || !usable {
        return None;
    }
    // A default route has no `RTA_DST`.
    let mut destination = match u8::from(header.address_family).into() {
        libc::AF_INET => IpAddr::from([0_u8; 4]),
        libc::AF_INET6 => IpAddr::from([0_u8; 16]),
        _ => return None,
    };
    let (mut metric, mut links) = (0, Vec::new());
    for attribute in attributes(message, ROUTE) {
        let value = attribute.value();
        match attribute.kind() {
            libc::RTA_DST => destination = ip(value)?,
            libc::RTA_PRIORITY => metric = number(value)?,
            libc::RTA_OIF => links.extend(number(value)),
            libc::RTA_MULTIPATH => links.extend(next_hops(value)),
            _ => {}
        }
    }
    let destination = IpNet::new(destination, header.destination_prefix_length).ok()?;
    let route = |link| Route {
        link,
        destination,
        metric,
    };
    Some(links.into_iter().map(route).collect())
}

/// The interface indices of the usable next hops of a multipath route (`struct rtnexthop`).
fn next_hops(mut value: &[u8]) -> Vec<u32> {
    let dead = RouteFlags::Dead | RouteFlags::Linkdown;
    let mut links = Vec::new();
    while let Some(hop) = value.first_chunk::<NEXT_HOP>() {
        let len = usize::from(u16::from_ne_bytes([hop[0], hop[1]]));
        if !RouteFlags::from_bits_retain(hop[2].into()).intersects(dead) {
            links.extend(number(&hop[4..]));
        }
        let next = len.max(NEXT_HOP).next_multiple_of(4);
        value = value.get(next..).unwrap_or_default();
    }
    links
}

/// The interface index of the next hop of a route message, and the gateway's address if it is not
/// the destination itself.
pub(super) fn next_hop(message: &[u8]) -> Option<(u32, Option<IpAddr>)> {
    let (mut link, mut gateway) = (None, None);
    for attribute in attributes(message, ROUTE) {
        let value = attribute.value();
        match attribute.kind() {
            libc::RTA_OIF => link = number(value),
            libc::RTA_GATEWAY => gateway = ip(value),
            // A gateway of the other family (`struct rtvia`): a family in two bytes, then an address.
            libc::RTA_VIA => gateway = ip(value.get(2..)?),
            _ => {}
        }
    }
    Some((link?, gateway))
}

/// The state of the neighbour of a message.
pub(super) fn neighbour_state(message: &[u8]) -> Option<NeighbourState> {
    Some(NeighbourHeader::parse(message).ok()?.state)
}

fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(value.try_into().ok()?))
}

fn ip(value: &[u8]) -> Option<IpAddr> {
    let v4 = || Some(IpAddr::from(<[u8; 4]>::try_from(value).ok()?));
    let v6 = || Some(IpAddr::from(<[u8; 16]>::try_from(value).ok()?));
    v4().or_else(v6)
}
