//! The addresses inside the tunnel.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use polypath_live::keys::SystemEntropy;
use polypath_session::entropy::Entropy;

use super::Both;
use crate::failure::Failure;

/// The prefix length of a random IPv4 network: two hosts.
const LENGTH_V4: u8 = 30;
/// The number of draws from each range.
const DRAWS: u32 = 64;

/// The ranges of random IPv4 networks: the part of 10.0.0.0/8 that site networks rarely use, then
/// the range for benchmarks (RFC 2544), which no network uses.
const RANGES: [Ipv4Net; 3] = [
    Ipv4Net::new_assert(Ipv4Addr::new(10, 128, 0, 0), 9),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 64, 0, 0), 10),
    Ipv4Net::new_assert(Ipv4Addr::new(198, 18, 0, 0), 15),
];

/// The addresses of both nodes in the networks, or in random ones if there are none.
pub(super) fn addresses(networks: &[IpNet]) -> Result<Both<Vec<IpNet>>, Failure> {
    let networks = match networks {
        [] => random_networks()?,
        given => given.to_vec(),
    };
    let host = |number: u8| -> Result<Vec<IpNet>, Failure> {
        networks
            .iter()
            .map(|network| nth(*network, number))
            .collect()
    };
    Ok(Both {
        a: host(1)?,
        b: host(2)?,
    })
}

/// The address `number` of a network, with its prefix length.
fn nth(network: IpNet, number: u8) -> Result<IpNet, Failure> {
    let length = network.prefix_len();
    let address: IpAddr = match network.network() {
        IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() + u32::from(number)).into(),
        IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() + u128::from(number)).into(),
    };
    let longest = network.max_prefix_len() - 2;
    if length > longest || length == 0 {
        return Err(Failure::input(format!(
            "--tunnel {network}: each node needs an address of it; use a prefix length of 1 to {longest}"
        )));
    }
    IpNet::new(address, length).map_err(Failure::run)
}

/// A random IPv4 network without a route on this machine, and a random unique local IPv6 network
/// (RFC 4193, section 3.2).
fn random_networks() -> Result<Vec<IpNet>, Failure> {
    let mut bytes = [0; 16];
    // The first byte is the prefix with the bit of local assignment; 40 random bits follow.
    bytes[0] = 0xfd;
    SystemEntropy.fill(&mut bytes[1..6]).map_err(Failure::run)?;
    let v6 = Ipv6Addr::from(bytes);
    let v6 = Ipv6Net::new(v6, 64).map_err(Failure::run)?;
    let routes = routes(&fs::read_to_string("/proc/net/route").unwrap_or_default());
    let v4 = unused(&routes)?;
    Ok(vec![v4.into(), v6.into()])
}

fn unused(routes: &[Ipv4Net]) -> Result<Ipv4Net, Failure> {
    for range in RANGES {
        for _ in 0..DRAWS {
            let mut bytes = [0; 4];
            SystemEntropy.fill(&mut bytes).map_err(Failure::run)?;
            let host = u32::from_be_bytes(bytes) & range.hostmask().to_bits();
            let address = Ipv4Addr::from_bits(range.network().to_bits() | host);
            let network = Ipv4Net::new(address, LENGTH_V4)
                .map_err(Failure::run)?
                .trunc();
            let overlaps = |route: &Ipv4Net| route.contains(&network) || network.contains(route);
            if !routes.iter().any(overlaps) {
                return Ok(network);
            }
        }
    }
    Err(Failure::input(
        "this machine has routes to all private networks; choose one with --tunnel, such as 10.77.0.0/30",
    ))
}

/// The networks of a routing table in the form of `/proc/net/route`, without the default route.
fn routes(table: &str) -> Vec<Ipv4Net> {
    let lines = table.lines().skip(1);
    let network = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let address = |index: usize| {
            let bits = u32::from_str_radix(fields.get(index)?, 16).ok()?;
            Some(Ipv4Addr::from(bits.to_le_bytes()))
        };
        let network = Ipv4Net::with_netmask(address(1)?, address(7)?).ok()?;
        (network.prefix_len() > 0).then_some(network)
    };
    lines.filter_map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n";

    #[test]
    fn a_random_network_has_no_route() {
        let ten: Ipv4Net = "10.0.0.0/8".parse().unwrap();
        assert_eq!(routes(TABLE), [ten]);
        for _ in 0..50 {
            let network = unused(&[]).unwrap();
            assert!(ten.contains(&network), "{network}");
            assert_eq!(network.prefix_len(), LENGTH_V4);
            let network = unused(&routes(TABLE)).unwrap();
            assert!(RANGES[2].contains(&network), "{network}");
        }
        assert!(unused(&["0.0.0.0/1", "128.0.0.0/1"].map(|net| net.parse().unwrap())).is_err());
    }

    #[test]
    fn each_node_has_an_address_of_each_network() {
        let networks = ["10.77.0.0/24", "fd77::/64"].map(|net| net.parse().unwrap());
        let both = addresses(&networks).unwrap_or_else(|failure| panic!("{}", failure.message()));
        let text = |addresses: &[IpNet]| addresses.iter().map(IpNet::to_string).collect::<Vec<_>>();
        assert_eq!(text(&both.a), ["10.77.0.1/24", "fd77::1/64"]);
        assert_eq!(text(&both.b), ["10.77.0.2/24", "fd77::2/64"]);
        assert!(addresses(&["10.77.0.0/31".parse().unwrap()]).is_err());
        let random = addresses(&[]).unwrap_or_else(|failure| panic!("{}", failure.message()));
        assert!(random.a[1].to_string().starts_with("fd"), "{}", random.a[1]);
        assert_ne!(random.a, random.b);
    }
}
