//! Addresses, ports and device names of a lab.
//!
//! Every scheme uses the same ones, since all namespaces are private.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use polypath_core::frame::PathId;
use polypath_sim::Side;

/// The TUN device of a node.
pub(crate) const OVERLAY_DEVICE: &str = "pp0";
/// The UDP port of a node on every path.
pub(crate) const NODE_PORT: u16 = 7001;
/// The port of a measured stream, of any protocol.
pub(crate) const STREAM_PORT: u16 = 6000;
/// The TCP port of the HTTP server.
pub(crate) const HTTP_PORT: u16 = 8080;

/// Both sides.
pub(crate) const SIDES: [Side; 2] = [Side::Server, Side::Client];

/// The name of a side in files and messages.
pub(crate) const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Server => "server",
        Side::Client => "client",
    }
}

const fn host(side: Side) -> u8 {
    match side {
        Side::Server => 1,
        Side::Client => 2,
    }
}

/// The device at one end of a path, through which packets enter and leave the simulated network.
pub(crate) fn path_device(path: PathId) -> String {
    format!("p{}", u16::from(path.0) + 1)
}

/// Whether `name` is the name of a path's device.
pub(crate) fn is_path_device(name: &str) -> bool {
    name.strip_prefix('p')
        .is_some_and(|number| number.parse::<u16>().is_ok())
}

/// The address at one end of a path: 10.128.0.1 and .2 for the first, 10.129.0.1 and .2 for the
/// second, ...
pub(crate) fn path_address(path: PathId, side: Side) -> IpNet {
    let address = Ipv4Addr::new(10, 128 + path.0 % 64, 0, host(side));
    prefix(IpAddr::V4(address), 24)
}

/// The IPv4 and IPv6 overlay addresses of a node.
pub(crate) fn overlay_addresses(side: Side) -> [IpNet; 2] {
    let v4 = Ipv4Addr::new(10, 77, 0, host(side));
    let v6 = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(host(side)));
    [prefix(IpAddr::V4(v4), 24), prefix(IpAddr::V6(v6), 64)]
}

fn prefix(address: IpAddr, len: u8) -> IpNet {
    IpNet::new(address, len).expect("the lengths above fit their families")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_unique() {
        let mut all: Vec<IpNet> = SIDES.into_iter().flat_map(overlay_addresses).collect();
        for path in 0..64 {
            all.extend(SIDES.map(|side| path_address(PathId(path), side)));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
