//! The operator's side of a node, as its configuration says.

use polypath_session::key::PublicKey;

use super::event_handler::NodeEventHandler;
use super::{NodeError, Options};
use crate::config::NodeConfig;
use crate::control::ControlSocket;
use crate::notify::Notifier;
use crate::operation::{self, Listeners, Operation, Reloader, Running, Underlay, mailbox};
use crate::privilege;

/// Opens what the operator asks at, gives up privileges, and waits for him.
///
/// `own` is the node's public key; `underlay` watches what its paths rest on. All else of the node is open by now.
pub(super) fn begin(
    config: &NodeConfig,
    options: &Options,
    (own, notifier): (PublicKey, &Notifier),
    underlay: Option<Underlay>,
    handler: &mut NodeEventHandler,
) -> Result<Operation, NodeError> {
    let (desk, orders) = mailbox::channel()?;
    handler.office.take_orders(orders)?;
    handler.office.report_to(notifier.clone());
    let reloader = options.file.clone().map(|file| {
        let offload = config.offload();
        let running = Running { own, offload };
        Reloader::new(file, config.clone(), running)
    });
    let listeners = listeners(config)?;
    if let (Some(user), Some(control)) = (&config.node.user, &listeners.control) {
        privilege::hand_to(user, control.path())?;
    }
    privilege::give_up(config.node.user.as_deref())?;
    // Its threads have what is left now.
    let operation = Operation::start(listeners, desk, reloader, underlay, notifier.clone())?;
    Ok(operation)
}

fn listeners(config: &NodeConfig) -> Result<Listeners, NodeError> {
    let control = ControlSocket::configured(&config.control, &config.node.tun.name)?;
    if let Some(control) = &control {
        tracing::info!(socket = %control.path().display(), "`polypath status` is answered");
    }
    let metrics = operation::listen(config.metrics.as_ref()).map_err(NodeError::Metrics)?;
    if let Some(address) = metrics.as_ref().and_then(|m| m.local_addr().ok()) {
        tracing::info!("metrics at http://{address}/metrics");
    }
    Ok(Listeners { control, metrics })
}
