//! The start of a node's control thread.

use std::path::PathBuf;

use polypath_session::key::PublicKey;

use super::error::NodeError;
use super::event_handler::NodeEventHandler;
use crate::config::NodeConfig;
use crate::control::commands;
use crate::control::listeners::{self, Listeners};
use crate::control::reload::{Reloader, Running};
use crate::control::socket::ControlSocket;
use crate::control::thread::ControlThread;
use crate::interfaces::monitor::InterfaceMonitor;
use crate::notify::Notifier;
use crate::privilege;

/// Opens the control socket and the metrics endpoint, drops privileges and starts the control
/// thread.
///
/// `own` is the node's public key, and `file` the configuration file that a reload reads. All else
/// of the node is open by now, since a node without privileges could no longer open it.
pub(super) fn start(
    config: &NodeConfig,
    file: Option<PathBuf>,
    own: PublicKey,
    notifier: &Notifier,
    monitor: Option<InterfaceMonitor>,
    handler: &mut NodeEventHandler,
) -> Result<ControlThread, NodeError> {
    let (handle, commands) = commands::channel()?;
    handler.management.attach(commands)?;
    handler.management.report_to(notifier.clone());
    let reloader = file.map(|file| {
        let offload = config.offload();
        let running = Running { own, offload };
        Reloader::new(file, config.clone(), running)
    });
    let listeners = open_listeners(config)?;
    if let (Some(user), Some(control)) = (&config.node.user, &listeners.control) {
        privilege::hand_to(user, control.path())?;
    }
    privilege::drop_privileges(config.node.user.as_deref())?;
    // Started last: its threads inherit the reduced privileges.
    let thread = ControlThread::start(listeners, handle, reloader, monitor, notifier.clone())?;
    Ok(thread)
}

fn open_listeners(config: &NodeConfig) -> Result<Listeners, NodeError> {
    let control = ControlSocket::configured(&config.control, &config.node.name())?;
    if let Some(control) = &control {
        tracing::info!(socket = %control.path().display(), "listening on the control socket");
    }
    let metrics = listeners::bind_metrics(config.metrics.as_ref()).map_err(NodeError::Metrics)?;
    if let Some(address) = metrics.as_ref().and_then(|m| m.local_addr().ok()) {
        tracing::info!("metrics at http://{address}/metrics");
    }
    Ok(Listeners { control, metrics })
}
