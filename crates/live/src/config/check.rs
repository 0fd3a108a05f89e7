//! Checks of a node's configuration that its types cannot express.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use ipnet::IpNet;
use polypath_core::endpoint::MIN_PAIR_LEN;
use polypath_core::liveness::{LivenessConfig, LivenessError};
use polypath_core::policy::PathSet;
use polypath_core::time::Duration;
use polypath_document::{self as document, Problems, UsedPolicies, at_most_a_day};

use super::{
    MIN_MTU_V6, NodeConfig, PathConfig, PathRelay, TunDevice, Uplinks, auto, control, udp_port,
};
use crate::keys;
use crate::privilege;

/// The remedy for a key that is not a relay's.
const RELAY_KEY: &str = "give the key printed by `polypath key` for the relay";
/// Without a policy that can be read, nothing is said of what it would do.
const POLICY_KIND: &str = "policy.kind";
/// The longest interface name in bytes (`IFNAMSIZ` without the terminating zero).
const MAX_NAME: usize = 15;
/// The minimum MTU for IPv4 that every host accepts (RFC 791), in bytes.
const MIN_MTU: u16 = 576;

pub(super) fn check(config: &NodeConfig, problems: &mut Problems) {
    if let Some(tun) = &config.node.tun {
        check_tun(tun, problems);
    }
    udp_port::check(config, problems);
    check_offload(config, problems);
    check_probing(config, problems);
    check_liveness(config, problems);
    check_paths(&config.paths, problems);
    check_loops(config, problems);
    auto::check(config, problems);
    check_relays(config, problems);
    control::check(config, problems);
    check_policy(config, problems);
    check_classes(config, problems);
    document::check_spacing("", config.spacing, problems);
}

/// Checks that neither the peer nor a relay has this node's own key, in the file `own`. A key file
/// that cannot be read is reported when the node opens it.
pub(super) fn check_key(config: &NodeConfig, own: &Path, problems: &mut Problems) {
    let Ok(own) = keys::load(own).map(|own| own.public()) else {
        return;
    };
    if own == config.peer.public_key {
        let remedy = "give the key printed by `polypath key` for the peer";
        problems.report("peer.public_key", "this is the node's own key", remedy);
    }
    for (index, relay) in relays(&config.paths) {
        if own == relay.public_key {
            let key = format!("path.{index}.relay.public_key");
            problems.report(&key, "this is the node's own key", RELAY_KEY);
        }
    }
}

/// Checks that the pre-shared key is not the private key of a node; relative paths are relative to
/// `directory`. A file that cannot be read is reported when the node opens it.
pub(super) fn check_preshared_key(config: &NodeConfig, directory: &Path, problems: &mut Problems) {
    let Some(preshared) = &config.peer.preshared_key_file else {
        return;
    };
    let own = keys::load(&directory.join(&config.node.key_file));
    let preshared = keys::load_preshared(&directory.join(preshared));
    let Ok(preshared) = preshared else {
        return;
    };
    let remedy = "make a key with `polypath key --preshared`, and copy it to the peer";
    let mut report = |message| problems.report("peer.preshared_key_file", message, remedy);
    if own.is_ok_and(|own| own.as_bytes() == preshared.as_bytes()) {
        report("this is also the key of `node.key_file`, the node's own private key");
    } else if keys::public_of(&preshared) == Some(config.peer.public_key) {
        report("this is the peer's private key, which must not leave its machine");
    }
}

/// Checks that the user that `key` names exists on this machine.
pub(super) fn check_user(key: &str, user: Option<&str>, problems: &mut Problems) {
    if let Some(name) = user
        && privilege::is_missing(name)
    {
        let remedy = format!("add the user (`useradd --system {name}`) or name another");
        problems.report(key, format!("there is no user `{name}`"), remedy);
    }
}

/// The relays with the indices of their paths.
fn relays(paths: &[PathConfig]) -> impl Iterator<Item = (usize, &PathRelay)> {
    let paths = paths.iter().enumerate();
    paths.filter_map(|(index, path)| Some((index, path.relay.as_ref()?)))
}

fn check_relays(config: &NodeConfig, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (index, relay) in relays(&config.paths) {
        let key = |field: &str| format!("path.{index}.relay{field}");
        if config.paths[index].remote.is_some() {
            let message = "the path has both a `remote` and a `relay`";
            problems.report(&key(""), message, "omit one of them");
        }
        if relay.public_key == config.peer.public_key {
            problems.report(&key(".public_key"), "this is the peer's key", RELAY_KEY);
        }
        if !seen.insert(relay.address) {
            let message = format!("two paths use the relay at {}", relay.address);
            let remedy = "give each its own address, as another port of one machine";
            problems.report(&key(".address"), message, remedy);
        }
    }
}

fn check_tun(tun: &TunDevice, problems: &mut Problems) {
    check_interface("node.tun.name", &tun.name, problems);
    if tun.name == "lo" {
        let remedy = "choose an unused name, as \"pp0\"";
        problems.report("node.tun.name", "`lo` is the loopback interface", remedy);
    }
    check_overlay(&tun.addresses, problems);
    let least = min_mtu(tun);
    if tun.mtu.is_some_and(|mtu| mtu < least) {
        let remedy = format!("use {least} or more, or omit it");
        problems.report(
            "node.tun.mtu",
            "the MTU is too small for the addresses",
            remedy,
        );
    }
    if tun.queue == 0 {
        problems.report(
            "node.tun.queue",
            "a queue of 0 packets drops everything",
            "use 1 or more",
        );
    }
}

fn check_offload(config: &NodeConfig, problems: &mut Problems) {
    if config.policy.probes() && config.offload() {
        let message =
            "with offload packets share timestamps, and `probe-and-switch` compares arrival times";
        problems.report(
            "node.tun.offload",
            message,
            "omit it, or choose another policy",
        );
    }
}

fn check_policy(config: &NodeConfig, problems: &mut Problems) {
    let policy = config.policy;
    if policy.needs_liveness() && config.liveness.config().is_none() {
        let message = "`leave` needs heartbeats, and liveness detection is off";
        problems.report("policy.leave", message, "omit it, or `liveness = \"off\"`");
    }
    check_tariffs(config, problems);
    if let Err(error) = policy.check(config.paths.len()) {
        let message = format!("policy `{}`: {error}", policy.name());
        problems.report(&error.key("policy"), message, error.remedy());
    }
}

fn check_tariffs(config: &NodeConfig, problems: &mut Problems) {
    for (index, path) in config.paths.iter().enumerate() {
        if let Err(error) = path.tariff.check() {
            let key = format!("path.{index}.tariff.{}", error.key());
            problems.report(&key, error.to_string(), error.remedy());
        }
    }
}

fn check_classes(config: &NodeConfig, problems: &mut Problems) {
    document::check_classes(&config.classes, problems);
    let costs: Vec<u8> = config.paths.iter().map(|path| path.tariff.cost).collect();
    let policies = UsedPolicies {
        policies: &[config.policy],
        keys: &[POLICY_KIND.to_owned()],
        remedy: "use policy = { kind = \"in-time\" }",
    };
    policies.check(&config.classes, &costs, problems);
}

fn check_overlay(addresses: &[IpNet], problems: &mut Problems) {
    let key = "node.tun.addresses";
    if addresses.is_empty() {
        let remedy = "give it one: addresses = [\"10.77.0.1/24\"]";
        problems.report(key, "the device has no address", remedy);
    }
    let mut seen = BTreeSet::new();
    for address in addresses.iter().map(IpNet::addr) {
        if address.is_unspecified() || address.is_multicast() {
            let message = format!("{address} cannot be the address of a device");
            let remedy = "give the address of this node in the overlay, as \"10.77.0.1/24\"";
            problems.report(key, message, remedy);
        } else if !seen.insert(address) {
            let message = format!("the address {address} is given twice");
            problems.report(key, message, "omit one of them");
        }
    }
}

fn min_mtu(tun: &TunDevice) -> u16 {
    let mut addresses = tun.addresses.iter();
    if addresses.any(|prefix| prefix.addr().is_ipv6()) {
        MIN_MTU_V6
    } else {
        MIN_MTU
    }
}

pub(super) fn check_interface(key: &str, name: &str, problems: &mut Problems) {
    let odd = |c: char| c == '/' || c.is_whitespace() || !c.is_ascii();
    if name.is_empty() || name.len() > MAX_NAME || name.contains(odd) {
        let message = format!("`{name}` is not an interface name");
        let remedy = "use 1 to 15 ASCII characters without `/` and spaces";
        problems.report(key, message, remedy);
    } else if name.contains(['*', '?', '[']) {
        let message = format!("`{name}` is a pattern, and a path is bound to one interface");
        let remedy = "give a name as listed by `ip link`; patterns belong into `[auto]`, with paths = \"auto\"";
        problems.report(key, message, remedy);
    }
}

fn check_probing(config: &NodeConfig, problems: &mut Problems) {
    let probing = &config.probing;
    if !probing.threshold.is_finite() || probing.threshold < 0.0 {
        let remedy = "use a number of at least 0; the paper uses 2";
        problems.report("probing.threshold", "invalid threshold", remedy);
    }
    if probing.pair_interval.as_nanos() == 0 {
        let remedy = "use for example \"1 s\"";
        problems.report("probing.pair_interval", "the interval is zero", remedy);
    }
    at_most_a_day("probing.pair_interval", probing.pair_interval, problems);
    // An invalid MTU is reported elsewhere and does not limit pairs.
    let tun = config.node.tun.as_ref();
    let mtu = tun.and_then(|tun| tun.mtu.filter(|mtu| *mtu >= min_mtu(tun)));
    let most = mtu.unwrap_or(u16::MAX);
    if !(MIN_PAIR_LEN..=most).contains(&probing.pair_len) {
        let message = format!("packets of {} B cannot be sent as a pair", probing.pair_len);
        let remedy = format!("use \"{MIN_PAIR_LEN} B\" to \"{most} B\"");
        problems.report("probing.pair_len", message, remedy);
    }
}

fn check_liveness(config: &NodeConfig, problems: &mut Problems) {
    let usual = LivenessConfig::default();
    let heartbeats = config.liveness.config();
    for problem in heartbeats.iter().flat_map(LivenessConfig::problems) {
        let key = problem.key();
        let remedy = match problem {
            LivenessError::Misses => format!("use for example {}", usual.misses),
            LivenessError::Interval => example(usual.interval),
            LivenessError::Standby => example(usual.standby),
            LivenessError::Margin => example(usual.margin),
            LivenessError::Retry => example(usual.retry),
            LivenessError::Hold => example(usual.hold),
            LivenessError::LongestHold => example(usual.longest_hold),
            LivenessError::TooLong(_) => "use at most a day".to_owned(),
        };
        problems.report(&format!("liveness.{key}"), problem.to_string(), remedy);
    }
}

fn example(span: Duration) -> String {
    format!("use for example \"{span}\"")
}

fn check_paths(paths: &[PathConfig], problems: &mut Problems) {
    let most = usize::from(PathSet::CAPACITY);
    if paths.is_empty() || paths.len() > most {
        let message = format!("there are {} paths", paths.len());
        problems.report(
            "path",
            message,
            format!("give 1 to {most} `[[path]]` tables"),
        );
    }
    check_sockets(
        paths.iter().map(|p| (p.local(), p.interface.as_deref())),
        problems,
    );
    let (mut names, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for (index, path) in paths.iter().enumerate() {
        let key = |field: &str| format!("path.{index}.{field}");
        if path.name.is_empty() {
            problems.report(&key("name"), "the name is empty", "give the path a name");
        } else if path.name.contains(char::is_control) {
            let message = format!("the name {:?} has control characters", path.name);
            problems.report(&key("name"), message, "use letters, digits, spaces");
        } else if !names.insert(&path.name) {
            let message = format!("path name `{}` is used twice", path.name);
            problems.report(&key("name"), message, "rename one of them");
        }
        if let Some(target) = path.remote.filter(|target| !targets.insert(*target)) {
            let message = format!(
                "two paths lead to {target}, and the peer distinguishes paths by their local address"
            );
            let remedy = "give each path an address or port of its own at the peer";
            problems.report(&key("remote"), message, remedy);
        }
        check_addresses(path, &key, problems);
        if let Some(name) = &path.interface {
            check_interface(&key("interface"), name, problems);
        }
    }
}

/// Checks that the sockets of all paths can be open together: an unspecified address takes a port
/// on every address, and a socket without an interface takes it on all interfaces.
pub(super) fn check_sockets<'a>(
    sockets: impl Iterator<Item = (SocketAddr, Option<&'a str>)>,
    problems: &mut Problems,
) {
    let mut before: Vec<(usize, SocketAddr, Option<&str>)> = Vec::new();
    for (index, (local, interface)) in sockets.enumerate() {
        if local.ip().is_multicast() {
            let remedy =
                "give an address of an interface of this machine, as listed by `ip address`";
            let message = format!("{local} is a multicast address");
            problems.report(&format!("path.{index}.local"), message, remedy);
        }
        let meet = |(_, other, on): &&(usize, SocketAddr, Option<&str>)| {
            let on_one = interface.is_none() || on.is_none() || interface == *on;
            on_one && meet(local, *other)
        };
        if let Some((first, other, _)) = before.iter().find(meet) {
            let message = if local == *other {
                format!("two paths receive at {local}")
            } else {
                format!(
                    "two paths receive at port {}: path.{first}.local is {other}, path.{index}.local is {local}",
                    local.port()
                )
            };
            let key = format!("path.{index}.local");
            problems.report(&key, message, "give each its own address or port");
        }
        before.push((index, local, interface));
    }
}

/// Whether sockets at both addresses cannot be open together, and one receives what is sent to the
/// other; with port 0 the system chooses one.
pub(super) fn meet(one: SocketAddr, other: SocketAddr) -> bool {
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    let is_one = one.ip() == other.ip() || (is_any && one.is_ipv4() == other.is_ipv4());
    is_one && one.port() == other.port() && one.port() != 0
}

/// Checks that the routing table does not send the datagrams of a path into the overlay, which
/// would send them on that path again.
fn check_loops(config: &NodeConfig, problems: &mut Problems) {
    let Some(tun) = &config.node.tun else {
        return;
    };
    for (index, path) in config.paths.iter().enumerate() {
        let own = |prefix: &IpNet| Some(prefix.addr()) == path.local.map(|local| local.ip());
        if tun.addresses.iter().any(own) {
            let remedy = "give an address outside the overlay, as listed by `ip address`";
            let message = "this is the node's own address in the overlay, which the paths carry";
            problems.report(&format!("path.{index}.local"), message, remedy);
        }
        if path.interface.as_deref() == Some(&*tun.name) {
            let remedy = "give the interface of an uplink";
            let message = format!(
                "`{}` is the node's own TUN device: the path would carry itself",
                tun.name
            );
            problems.report(&format!("path.{index}.interface"), message, remedy);
        }
        // The datagrams of a bound socket leave by its interface.
        let is_bound = path.interface.is_some() || config.uplinks == Uplinks::Auto;
        let Some(target) = path.target().filter(|_| !is_bound) else {
            continue;
        };
        let mut networks = tun.addresses.iter();
        if let Some(network) = networks.find(|network| network.contains(&target.ip())) {
            let field = target_field(path);
            let message = format!(
                "{} is in the overlay's own network, {network} of `node.tun.addresses`: the path's datagrams would \
                 loop",
                target.ip()
            );
            let remedy = "give an address outside the overlay, or the overlay another network";
            problems.report(&format!("path.{index}.{field}"), message, remedy);
        }
    }
}

/// The key of the target of a path.
fn target_field(path: &PathConfig) -> &'static str {
    match path.relay {
        Some(_) if path.remote.is_none() => "relay.address",
        _ => "remote",
    }
}

/// Whether an address cannot be that of a host: unspecified, of "this network", or reserved (RFC
/// 6890).
pub(super) fn is_never_a_host(ip: IpAddr) -> bool {
    let IpAddr::V4(v4) = ip else {
        return ip.is_unspecified();
    };
    let first = v4.octets()[0];
    first == 0 || (first >= 240 && v4 != Ipv4Addr::BROADCAST)
}

fn check_addresses(path: &PathConfig, key: &dyn Fn(&str) -> String, problems: &mut Problems) {
    let field = target_field(path);
    let whose = if field == "remote" { "peer" } else { "relay" };
    let Some(remote) = path.target() else {
        if path.local.is_some_and(|local| local.port() == 0) {
            let remedy = "give a port, or the `remote` or the `relay` to send to";
            problems.report(&key("local"), "the peer cannot know this port", remedy);
        }
        return;
    };
    if remote.port() == 0 || is_never_a_host(remote.ip()) {
        let remedy = format!("give the address and port where the {whose} receives");
        problems.report(
            &key(field),
            format!("{remote} cannot be the address of a host"),
            remedy,
        );
    }
    let is_broadcast = remote.ip() == IpAddr::V4(Ipv4Addr::BROADCAST);
    if remote.ip().is_multicast() || is_broadcast {
        let remedy = format!("give the address and port where the {whose} receives");
        let message = format!("{remote} is a multicast or broadcast address");
        problems.report(&key(field), message, remedy);
    }
    if Some(remote) == path.local {
        let remedy = format!("give the address and port where the {whose} receives");
        problems.report(
            &key(field),
            format!("{remote} is the local address of the path"),
            remedy,
        );
    }
    if remote.is_ipv4() != path.local().is_ipv4() {
        let remedy = "use the same address family for both";
        let message = format!("{} cannot send to {remote}", path.local());
        problems.report(&key(field), message, remedy);
    }
}
