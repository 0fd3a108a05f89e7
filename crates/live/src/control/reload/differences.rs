//! The keys in which two configurations of a node differ.

use polypath_session::key::PublicKey;

use crate::config::{NodeConfig, PathConfig, TunDevice};
use crate::keys;

/// Properties of a running node that a reload cannot change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// The node's public key.
    pub(crate) own: PublicKey,
    /// Whether segmentation and receive offload are on.
    pub(crate) offload: bool,
}

/// The keys that differ and need a restart.
pub(super) fn fixed_keys(old: &NodeConfig, new: &NodeConfig, running: Running) -> Vec<String> {
    let tuns = [old, new].map(|config| config.node.tun.as_ref());
    // A key file that cannot be read, as after privileges were dropped, counts as unchanged.
    let own = keys::load(&new.node.key_file).map(|key| key.public());
    let mut differing = differing([
        (
            "node.key_file",
            old.node.key_file != new.node.key_file || own.is_ok_and(|own| own != running.own),
        ),
        ("node.user", old.node.user != new.node.user),
        ("node.tun.name", differs(tuns, |tun| tun.name.clone())),
        (
            "node.tun.addresses",
            differs(tuns, |tun| tun.addresses.clone()),
        ),
        ("node.tun.mtu", differs(tuns, |tun| tun.mtu)),
        ("node.tun.queue", differs(tuns, |tun| tun.queue)),
        ("node.tun.offload", differs(tuns, |tun| tun.offload)),
        ("node.udp", old.node.udp != new.node.udp),
        (
            "policy (one that compares arrival times; it needs `offload = false` in `node.tun`)",
            running.offload && new.policy.probes(),
        ),
        ("paths (listed or \"auto\")", old.uplinks != new.uplinks),
        (
            "peer.public_key",
            old.peer.public_key != new.peer.public_key,
        ),
        (
            "peer.preshared_key_file",
            old.peer.preshared_key_file != new.peer.preshared_key_file,
        ),
        ("path (their number)", old.paths.len() != new.paths.len()),
        ("path (their order)", is_reordered(&old.paths, &new.paths)),
    ]);
    for (index, (old, new)) in old.paths.iter().zip(&new.paths).enumerate() {
        differing.extend(fixed_path_keys(index, old, new));
    }
    differing
}

/// Whether two TUN devices differ in a setting.
fn differs<T: PartialEq>(tuns: [Option<&TunDevice>; 2], setting: impl Fn(&TunDevice) -> T) -> bool {
    let [old, new] = tuns.map(|tun| tun.map(&setting));
    old != new
}

/// The keys that differ and can change while the node runs.
pub(super) fn changed_keys(old: &NodeConfig, new: &NodeConfig) -> Vec<String> {
    let mut keys = differing([
        ("policy", old.policy != new.policy),
        ("class", old.classes != new.classes),
        ("spacing", old.spacing != new.spacing),
        ("probing", old.probing != new.probing),
        ("liveness", old.liveness != new.liveness),
        ("pmtu", old.pmtu != new.pmtu),
        ("control", old.control != new.control),
        ("metrics", old.metrics != new.metrics),
        ("auto", old.auto != new.auto),
    ]);
    for (index, (old, new)) in old.paths.iter().zip(&new.paths).enumerate() {
        let fields = differing([
            ("name", old.name != new.name),
            ("local", old.local() != new.local()),
            ("remote", old.remote != new.remote),
            ("interface", old.interface != new.interface),
            ("tariff", old.tariff != new.tariff),
            ("copy_dscp", old.copy_dscp != new.copy_dscp),
            ("copy_ecn", old.copy_ecn != new.copy_ecn),
        ]);
        keys.extend(fields.iter().map(|field| format!("path.{index}.{field}")));
    }
    keys
}

fn differing<const N: usize>(checks: [(&str, bool); N]) -> Vec<String> {
    let differing = checks.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(key, _)| key.to_owned()).collect()
}

fn fixed_path_keys(index: usize, old: &PathConfig, new: &PathConfig) -> Vec<String> {
    let mut keys = Vec::new();
    if old.local().is_ipv4() != new.local().is_ipv4() {
        let key = if old.local.is_some() {
            "local"
        } else {
            "remote"
        };
        keys.push(format!("path.{index}.{key} (its address family)"));
    }
    let mut rest = old.clone();
    rest.name.clone_from(&new.name);
    rest.interface.clone_from(&new.interface);
    (rest.local, rest.remote, rest.tariff) = (new.local, new.remote, new.tariff);
    rest.copy_dscp = new.copy_dscp;
    rest.copy_ecn = new.copy_ecn;
    if rest != *new {
        keys.push(format!("path.{index}.relay"));
    }
    keys
}

/// Whether a path has the name that another path had.
fn is_reordered(old: &[PathConfig], new: &[PathConfig]) -> bool {
    let had_elsewhere = |name: &str, own: usize| {
        let mut old = old.iter().enumerate();
        old.any(|(index, path)| index != own && path.name == name)
    };
    let mut new = new.iter().enumerate();
    new.any(|(index, path)| had_elsewhere(&path.name, index))
}
