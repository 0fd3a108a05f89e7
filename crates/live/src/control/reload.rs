//! A configuration that is read again: what can change under way does, the rest is refused whole.

use std::net::TcpListener;
use std::path::PathBuf;

use polypath_core::endpoint::Adjustment;
use polypath_core::frame::PathId;
use polypath_session::key::PublicKey;

use super::change::{Change, PathChange, Settings};
use super::commands::ControlHandle;
use super::socket::ControlSocket;
use super::thread::Listeners;
use crate::config::{Control, MetricsConfig, NodeConfig, PathConfig};
use crate::keys;
use crate::node;
use crate::udp::{PathSocket, UdpError};

mod handle;

pub use handle::ReloadHandle;
pub(crate) use handle::{ReloadRequests, channel};

/// Why a node that can be asked does not give that up by itself.
const NO_SOCKET: &str = "control: the node cannot have a socket in a directory of its own, and would not be asked any \
                         more; name one with `control.socket`, or write control = \"off\"";

/// What the node is that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// Its public key.
    pub(crate) own: PublicKey,
    /// Whether many packets cross the kernel in a call.
    pub(crate) offload: bool,
}

/// Reads the node's file again.
#[derive(Debug)]
pub(crate) struct Reloader {
    file: PathBuf,
    running: Running,
    /// What is in force.
    config: NodeConfig,
}

impl Reloader {
    /// For the node that runs by `config`, which came from `file`.
    pub(crate) fn new(file: PathBuf, config: NodeConfig, running: Running) -> Self {
        Self {
            file,
            running,
            config,
        }
    }

    /// What is in force.
    pub(super) fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Puts the file into force and says which keys have changed; or why not, and then nothing has. The sockets of the
    /// paths `adrift` are bound to interfaces that are not there.
    pub(super) fn reload(
        &mut self,
        handle: &ControlHandle,
        listeners: &mut Listeners,
        adrift: &[PathId],
    ) -> Result<Vec<String>, String> {
        let new = NodeConfig::load(&self.file).map_err(|error| error.to_string())?;
        let fixed = self.fixed(&new);
        if !fixed.is_empty() {
            let keys = fixed.join(", ");
            return Err(format!("restart the node for a change of: {keys}"));
        }
        let changed = changed(&self.config, &new);
        let is_other = self.is_control_other(&new, listeners.control.as_ref());
        let control = is_other
            .then(|| open_control(&new, listeners.control.is_some()))
            .transpose()?;
        let change = self.prepare(&new, adrift)?;
        let metrics = (new.metrics != self.config.metrics)
            .then(|| self.listen_anew(&new, &mut listeners.metrics))
            .transpose()?;
        if let Err(error) = handle.change(change) {
            drop(metrics);
            self.listen_again(&mut listeners.metrics);
            return Err(error);
        }
        if let Some(control) = control {
            listeners.control = control;
        }
        if let Some(metrics) = metrics {
            listeners.metrics = metrics;
        }
        self.config = new;
        Ok(changed)
    }

    /// Whether `new` says another control socket than that of now.
    fn is_control_other(&self, new: &NodeConfig, now: Option<&ControlSocket>) -> bool {
        let stays = |now: &ControlSocket| now.is_at(&new.control, &new.node.tun.name);
        new.control != self.config.control && !now.is_some_and(stays)
    }

    /// Listens for those who read metrics as `new` says. Of a port that stays on another address
    /// the listener of before has to make way; it is back where that was in vain.
    fn listen_anew(
        &self,
        new: &NodeConfig,
        listener: &mut Option<TcpListener>,
    ) -> Result<Option<TcpListener>, String> {
        let port = |config: &Option<MetricsConfig>| Some(config.as_ref()?.listen.port());
        if listener.is_some() && port(&new.metrics) == port(&self.config.metrics) {
            *listener = None;
        }
        let listening = listen(new.metrics.as_ref());
        if listening.is_err() {
            self.listen_again(listener);
        }
        listening
    }

    /// Listens as before, where the listener had to make way.
    fn listen_again(&self, listener: &mut Option<TcpListener>) {
        if listener.is_some() {
            return;
        }
        match listen(self.config.metrics.as_ref()) {
            Ok(again) => *listener = again,
            Err(error) => tracing::error!("metrics are not served any more: {error}"),
        }
    }

    /// The keys that differ from those in force and cannot change under way.
    fn fixed(&self, new: &NodeConfig) -> Vec<String> {
        let (a, b) = (&self.config, new);
        let (tun_a, tun_b) = (&a.node.tun, &b.node.tun);
        // A key that cannot be read any more, as after privileges were dropped, is the old one.
        let own = keys::load(&b.node.key_file).map(|key| key.public());
        let checks = [
            (
                "node.key_file",
                a.node.key_file != b.node.key_file || own.is_ok_and(|own| own != self.running.own),
            ),
            ("node.user", a.node.user != b.node.user),
            ("node.tun.name", tun_a.name != tun_b.name),
            ("node.tun.addresses", tun_a.addresses != tun_b.addresses),
            ("node.tun.mtu", tun_a.mtu != tun_b.mtu),
            ("node.tun.queue", tun_a.queue != tun_b.queue),
            ("node.tun.offload", tun_a.offload != tun_b.offload),
            (
                "policy (to one that compares times, from one with offload)",
                self.running.offload && b.policy.probes(),
            ),
            ("paths (listed or \"auto\")", a.uplinks != b.uplinks),
            ("peer.public_key", a.peer.public_key != b.peer.public_key),
            ("path (their number)", a.paths.len() != b.paths.len()),
            ("path (their order)", is_reordered(&a.paths, &b.paths)),
        ];
        let keys = checks.into_iter().filter(|(_, differs)| *differs);
        let mut keys: Vec<String> = keys.map(|(key, _)| key.to_owned()).collect();
        for (index, (old, new)) in a.paths.iter().zip(&b.paths).enumerate() {
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
            (rest.local, rest.remote) = (new.local, new.remote);
            if rest != *new {
                keys.push(format!("path.{index}.relay"));
            }
        }
        keys
    }

    fn prepare(&self, new: &NodeConfig, adrift: &[PathId]) -> Result<Change, String> {
        let adjustment =
            Adjustment::new(&node::endpoint(new)).map_err(|error| error.to_string())?;
        let paths = (0..)
            .map(PathId)
            .zip(self.config.paths.iter().zip(&new.paths));
        let paths = paths
            .filter(|(_, (old, new))| old != new)
            .map(|(path, (old, new))| Self::prepare_path(path, [old, new], adrift));
        Ok(Change {
            settings: Some(Settings {
                adjustment,
                policy: new.policy,
                liveness: new.liveness,
            }),
            sizes: new.finds_sizes(),
            paths: paths.collect::<Result<_, _>>()?,
        })
    }

    fn prepare_path(
        path: PathId,
        [old, new]: [&PathConfig; 2],
        adrift: &[PathId],
    ) -> Result<PathChange, String> {
        let other_interface = old.interface != new.interface;
        // A socket whose interface has gone is not to be bound again without a privilege, nor has it the address.
        let moved = old.local() != new.local() || other_interface && adrift.contains(&path);
        // Two sockets cannot have one address: the one that there is changes its interface.
        let bound = !moved && other_interface;
        let socket = moved.then(|| PathSocket::open(new)).transpose();
        let socket = socket.map_err(|error| match error {
            UdpError::InUse { .. } => format!(
                "{error}; where it is this node that received there until its last reload, that ends within 10 s: reload it again then"
            ),
            error => error.to_string(),
        })?;
        Ok(PathChange {
            path,
            name: new.name.clone(),
            interface: bound.then(|| Box::new([new.clone(), old.clone()])),
            remote: (old.remote != new.remote).then(|| new.remote.into()),
            socket,
            mtu: None,
            interface_status: None,
        })
    }
}

/// Listens for those who read metrics.
pub(crate) fn listen(config: Option<&MetricsConfig>) -> Result<Option<TcpListener>, String> {
    let Some(MetricsConfig { listen }) = config else {
        return Ok(None);
    };
    let listening = TcpListener::bind(listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listening.map(Some).map_err(|error| {
        format!(
            "metrics.listen {listen}: {error}; give it an address of this machine and a port that is free \
             (`ss -tlpn`)"
        )
    })
}

/// Whether a path has the name that another one had.
fn is_reordered(old: &[PathConfig], new: &[PathConfig]) -> bool {
    let had = |name: &str, but: usize| {
        let mut old = old.iter().enumerate();
        old.any(|(index, path)| index != but && path.name == name)
    };
    let mut new = new.iter().enumerate();
    new.any(|(index, path)| had(&path.name, index))
}

/// The keys that differ and can change under way.
fn changed(old: &NodeConfig, new: &NodeConfig) -> Vec<String> {
    let checks = [
        ("policy", old.policy != new.policy),
        ("probing", old.probing != new.probing),
        ("liveness", old.liveness != new.liveness),
        ("pmtu", old.pmtu != new.pmtu),
        ("control", old.control != new.control),
        ("metrics", old.metrics != new.metrics),
        ("auto", old.auto != new.auto),
    ];
    let keys = checks.into_iter().filter(|(_, differs)| *differs);
    let mut keys: Vec<String> = keys.map(|(key, _)| key.to_owned()).collect();
    for (index, (old, new)) in old.paths.iter().zip(&new.paths).enumerate() {
        let fields = [
            ("name", old.name != new.name),
            ("local", old.local() != new.local()),
            ("remote", old.remote != new.remote),
            ("interface", old.interface != new.interface),
        ];
        let fields = fields.into_iter().filter(|(_, differs)| *differs);
        keys.extend(fields.map(|(field, _)| format!("path.{index}.{field}")));
    }
    keys
}

/// The control socket that `config` says, or none; a node that is asked already is not to lose that by itself.
fn open_control(config: &NodeConfig, is_asked: bool) -> Result<Option<ControlSocket>, String> {
    let opened = ControlSocket::configured(&config.control, &config.node.tun.name);
    let opened = opened.map_err(|error| error.to_string())?;
    if is_asked && opened.is_none() && matches!(config.control, Control::Socket(_)) {
        return Err(NO_SOCKET.to_owned());
    }
    Ok(opened)
}

#[cfg(test)]
mod tests;
