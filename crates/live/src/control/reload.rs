//! Reloading the configuration of a running node: changes that need no restart are applied, others
//! refuse the file.

use std::path::PathBuf;
use std::sync::Arc;

use polypath_core::endpoint::Adjustment;
use polypath_core::frame::PathId;

use super::change::{Change, PathChange, Rebinding, Settings};
use super::commands::ControlHandle;
use super::http::HttpServer;
use super::listeners::{self, Servers};
use super::socket::ControlSocket;
use crate::config::{MetricsConfig, NodeConfig, PathConfig};
use crate::udp::{PathSocket, UdpError};
use differences::{changed_keys, fixed_keys};

mod differences;
mod handle;

pub(crate) use differences::Running;
pub use handle::ReloadHandle;
pub(crate) use handle::{ReloadRequests, channel};

/// Reloads a node's configuration file.
#[derive(Debug)]
pub(crate) struct Reloader {
    file: PathBuf,
    running: Running,
    /// The configuration in force.
    config: NodeConfig,
}

impl Reloader {
    /// A reloader for a node that runs with `config`, read from `file`.
    pub(crate) fn new(file: PathBuf, config: NodeConfig, running: Running) -> Self {
        Self {
            file,
            running,
            config,
        }
    }

    /// The configuration in force.
    pub(super) fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Applies the file and returns the keys that have changed.
    ///
    /// The sockets of the paths `unbound` are bound to interfaces that no longer exist.
    ///
    /// # Errors
    /// The reason why the file is refused; then nothing has changed.
    pub(super) fn reload(
        &mut self,
        handle: &Arc<ControlHandle>,
        servers: &mut Servers,
        unbound: &[PathId],
    ) -> Result<Vec<String>, String> {
        let new = NodeConfig::load(&self.file).map_err(|error| error.to_string())?;
        let fixed = fixed_keys(&self.config, &new, self.running);
        if !fixed.is_empty() {
            let keys = fixed.join(", ");
            return Err(format!("restart the node for a change of: {keys}"));
        }
        let changed = changed_keys(&self.config, &new);
        let control = self
            .moves_control(&new, servers.control.as_ref())
            .then(|| listeners::reopen_control(&new, servers.control.is_some()))
            .transpose()?;
        let change = self.prepare(&new, unbound)?;
        let metrics = (new.metrics != self.config.metrics)
            .then(|| self.move_metrics(&new, handle, &mut servers.metrics))
            .transpose()?;
        if let Err(error) = handle.change(change) {
            drop(metrics);
            self.restore_metrics(handle, &mut servers.metrics);
            return Err(error);
        }
        if let Some(control) = control {
            servers.control = control;
        }
        if let Some(metrics) = metrics {
            servers.metrics = metrics;
        }
        self.config = new;
        Ok(changed)
    }

    /// Whether `new` asks for another control socket than the `current` one.
    fn moves_control(&self, new: &NodeConfig, current: Option<&ControlSocket>) -> bool {
        let stays = |current: &ControlSocket| current.is_at(&new.control, &new.node.name());
        new.control != self.config.control && !current.is_some_and(stays)
    }

    /// Serves the metrics at the endpoint of `new`.
    ///
    /// Where the port stays and only the address changes, the current server is stopped first,
    /// since both could not be bound together; it is restored if that fails.
    fn move_metrics(
        &self,
        new: &NodeConfig,
        handle: &Arc<ControlHandle>,
        current: &mut Option<HttpServer>,
    ) -> Result<Option<HttpServer>, String> {
        let port = |config: &Option<MetricsConfig>| Some(config.as_ref()?.listen.port());
        if current.is_some() && port(&new.metrics) == port(&self.config.metrics) {
            *current = None;
        }
        let started = listeners::serve_metrics(new.metrics.as_ref(), handle);
        if started.is_err() {
            self.restore_metrics(handle, current);
        }
        started
    }

    /// Serves the metrics at the endpoint in force, where [`Self::move_metrics`] has stopped that.
    fn restore_metrics(&self, handle: &Arc<ControlHandle>, current: &mut Option<HttpServer>) {
        if current.is_some() {
            return;
        }
        match listeners::serve_metrics(self.config.metrics.as_ref(), handle) {
            Ok(restored) => *current = restored,
            Err(error) => log_metrics_lost(&error),
        }
    }

    fn prepare(&self, new: &NodeConfig, unbound: &[PathId]) -> Result<Change, String> {
        let adjustment = Adjustment::new(&new.endpoint()).map_err(|error| error.to_string())?;
        let paths = (0..)
            .map(PathId)
            .zip(self.config.paths.iter().zip(&new.paths));
        let paths = paths
            .filter(|(_, (old, new))| old != new)
            .map(|(path, (old, new))| prepare_path(path, old, new, unbound.contains(&path)));
        Ok(Change {
            settings: Some(Settings {
                adjustment,
                policy: new.policy,
                liveness: new.liveness,
            }),
            discovers_mtu: new.discovers_mtu(),
            paths: paths.collect::<Result<_, _>>()?,
        })
    }
}

/// Opens the socket that a change of a path needs, if it needs one.
fn prepare_path(
    path: PathId,
    old: &PathConfig,
    new: &PathConfig,
    is_unbound: bool,
) -> Result<PathChange, String> {
    let other_interface = old.interface != new.interface;
    // A socket whose interface no longer exists cannot be rebound without privileges, but no longer
    // holds its address.
    let moved = old.local() != new.local() || other_interface && is_unbound;
    // A second socket could not have the same address, so the current one changes its interface.
    let rebound = !moved && other_interface;
    let socket = moved.then(|| PathSocket::open(new)).transpose();
    let socket = socket.map_err(|error| match error {
        UdpError::InUse { .. } => format!(
            "{error}; if this node received there until its last reload, the address is free within 10 s: \
             reload again then"
        ),
        error => error.to_string(),
    })?;
    let rebinding = || Rebinding {
        old: old.clone(),
        new: new.clone(),
    };
    Ok(PathChange {
        path,
        name: new.name.clone(),
        interface: rebound.then(|| Box::new(rebinding())),
        remote: (old.remote != new.remote).then(|| new.remote.into()),
        socket,
        copied: Some(new.copied()),
        mtu: None,
        interface_status: None,
    })
}

/// Logs the outcome of a reload.
pub(super) fn log_outcome(outcome: &Result<Vec<String>, String>) {
    match outcome {
        Ok(changed) if changed.is_empty() => {
            tracing::info!("reloaded: the configuration has not changed");
        }
        Ok(changed) => tracing::info!(changed = changed.join(", "), "reloaded"),
        Err(why) => {
            tracing::error!("reload refused, the configuration in force stays: {why}");
        }
    }
}

fn log_metrics_lost(error: &str) {
    tracing::error!("metrics are no longer served: {error}");
}

#[cfg(test)]
mod tests;
