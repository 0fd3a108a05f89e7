//! UDP ports of this host in place of a TUN device.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use polypath_document::Problems;
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{is_never_a_host, meet};
use super::{LocalConfig, NodeConfig, some_address};

/// The maximum number of UDP ports of a node.
const MAX_PORTS: usize = 64;

/// A UDP port of the overlay: datagrams of applications of this host go to the port of the same
/// number at the peer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpPort {
    /// The number of the port, the same at both nodes.
    pub port: u16,
    /// The address and port where this node receives datagrams of applications:
    /// `"127.0.0.1:5000"`. Without it, only the answers of `to` are carried.
    #[serde(default, deserialize_with = "some_address")]
    #[schemars(with = "Option<String>")]
    pub listen: Option<SocketAddr>,
    /// The address and port that the peer's datagrams go to: `"127.0.0.1:6000"`. Without it, they go
    /// to the application that has sent to `listen` last.
    #[serde(default, deserialize_with = "some_address")]
    #[schemars(with = "Option<String>")]
    pub to: Option<SocketAddr>,
    /// The addresses of the datagrams in the overlay, if the peer has a TUN device; otherwise
    /// omitted.
    #[serde(default)]
    pub overlay: Option<OverlayAddresses>,
}

/// The addresses of a UDP port in the overlay of a peer with a TUN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverlayAddresses {
    /// An address of the network of the peer's TUN device, which stands for this node.
    pub local: Ipv4Addr,
    /// The address of the peer's TUN device.
    pub peer: Ipv4Addr,
}

impl LocalConfig {
    /// The name of the node on this machine, as for its control socket: that of its TUN device, or
    /// `udp` and the number of its first UDP port.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.tun, self.udp.first()) {
            (Some(tun), _) => tun.name.clone(),
            (None, Some(first)) => format!("udp{}", first.port),
            (None, None) => String::new(),
        }
    }
}

/// Checks that a node has either a TUN device or UDP ports, and these.
pub(super) fn check(config: &NodeConfig, problems: &mut Problems) {
    let ports = &config.node.udp;
    match (&config.node.tun, ports.len()) {
        (None, 0) => problems.report(
            "node",
            "the node has neither a TUN device (`tun`) nor UDP ports (`udp`)",
            "add `[node.tun]`, or `[[node.udp]]` for UDP without a device",
        ),
        (Some(_), 1..) => problems.report(
            "node.udp",
            "the node has a TUN device, which carries UDP, too",
            "remove `[node.tun]` or `[[node.udp]]`",
        ),
        (None, count) if count > MAX_PORTS => {
            let message = format!("there are {count} UDP ports");
            problems.report("node.udp", message, format!("give at most {MAX_PORTS}"));
        }
        _ => {}
    }
    let mut numbers = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let key = |field: &str| format!("node.udp.{index}.{field}");
        let remedy = "give each a number of its own from 1 on, the same at both nodes";
        if port.port == 0 {
            problems.report(&key("port"), "there is no port 0", remedy);
        } else if !numbers.insert(port.port) {
            let message = format!("port {} is used twice", port.port);
            problems.report(&key("port"), message, remedy);
        }
        check_ends(port, &key, problems);
        check_overlay(port, &key, problems);
        check_conflicts(config, index, port, problems);
    }
}

/// Checks `listen` and `to` by themselves.
fn check_ends(port: &UdpPort, key: &dyn Fn(&str) -> String, problems: &mut Problems) {
    if port.listen.is_none() && port.to.is_none() {
        let remedy = "give `listen`, where applications of this host send to, or `to`, where \
                      the peer's datagrams go";
        let message = "the port has neither `listen` nor `to`";
        problems.report(&key("port"), message, remedy);
    }
    if let Some(listen) = port.listen {
        let is_broadcast = listen.ip() == IpAddr::V4(Ipv4Addr::BROADCAST);
        if listen.port() == 0 || listen.ip().is_multicast() || is_broadcast {
            let message = format!("no application can send to {listen}");
            let remedy = "give an address of this host and a port, as \"127.0.0.1:5000\"";
            problems.report(&key("listen"), message, remedy);
        } else if port.to.is_none() && !listen.ip().is_loopback() {
            // One datagram with another source address would redirect the peer's.
            let message = format!(
                "any host that reaches {listen} could receive the peer's datagrams, or direct them elsewhere"
            );
            let remedy = "give `to`, the address of the application, or listen at loopback";
            problems.report(&key("listen"), message, remedy);
        }
    }
    if let Some(to) = port.to {
        let is_broadcast = to.ip() == IpAddr::V4(Ipv4Addr::BROADCAST);
        if to.port() == 0 || is_never_a_host(to.ip()) || is_broadcast {
            let message = format!("{to} cannot be the address of an application");
            let remedy = "give its address and port, as \"127.0.0.1:6000\"";
            problems.report(&key("to"), message, remedy);
        }
        if let Some(listen) = port
            .listen
            .filter(|listen| listen.is_ipv4() != to.is_ipv4())
        {
            let remedy = "use the same address family for both";
            problems.report(&key("to"), format!("{listen} cannot send to {to}"), remedy);
        }
    }
}

/// Checks the addresses for a peer with a TUN device.
fn check_overlay(port: &UdpPort, key: &dyn Fn(&str) -> String, problems: &mut Problems) {
    let Some(OverlayAddresses { local, peer }) = port.overlay else {
        return;
    };
    let odd = |ip: Ipv4Addr| ip.is_multicast() || ip.is_broadcast() || is_never_a_host(ip.into());
    if odd(local) || odd(peer) || local == peer {
        let message = format!("{local} and {peer} cannot be the addresses of both ends");
        let remedy =
            "give two addresses of the network of the peer's TUN device, the second its own";
        problems.report(&key("overlay"), message, remedy);
    }
}

/// Checks that no other socket of the node has the address of `listen`, and that datagrams do not come
/// back to the node.
fn check_conflicts(config: &NodeConfig, index: usize, port: &UdpPort, problems: &mut Problems) {
    let key = |field: &str| format!("node.udp.{index}.{field}");
    let earlier = config.node.udp.iter().take(index);
    let listening = earlier.filter_map(|other| other.listen);
    let mut others = listening.chain(config.paths.iter().filter_map(|path| path.local));
    if let Some(listen) = port.listen
        && let Some(other) = others.find(|other| meet(listen, *other))
    {
        let message = format!("{listen} and {other} of another socket of this node are the same");
        let remedy = "give each path and UDP port a local address and port of its own";
        problems.report(&key("listen"), message, remedy);
    }
    let mut listening = config.node.udp.iter().filter_map(|port| port.listen);
    if let Some(to) = port.to
        && let Some(listen) = listening.find(|listen| meet(*listen, to))
    {
        let message =
            format!("datagrams to {to} would come back to this node, which listens at {listen}");
        problems.report(&key("to"), message, "give the address of an application");
    }
}
