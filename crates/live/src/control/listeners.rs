//! The sockets at which a node answers its operator.

use std::net::TcpListener;

use super::socket::ControlSocket;
use crate::config::{Control, MetricsConfig, NodeConfig};

/// Refuses to close the control socket for want of a directory that can be written.
const NO_SOCKET: &str = "control: no default directory for the socket can be written, and the node would become \
                         unreachable; name a socket with `control.socket`, or write control = \"off\"";

/// The listening sockets of a node; a part that is off is `None`.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) control: Option<ControlSocket>,
    pub(crate) metrics: Option<TcpListener>,
}

/// Listens at the metrics endpoint, if one is configured.
///
/// # Errors
/// The reason with its key and a remedy.
pub(crate) fn bind_metrics(config: Option<&MetricsConfig>) -> Result<Option<TcpListener>, String> {
    let Some(MetricsConfig { listen }) = config else {
        return Ok(None);
    };
    let bound = TcpListener::bind(listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map(Some).map_err(|error| {
        format!(
            "metrics.listen {listen}: {error}; give an address of this machine and a free port (`ss -tlpn`)"
        )
    })
}

/// Opens the control socket that `config` asks for on a reload, if any.
///
/// # Errors
/// A node that `has_socket` keeps it unless the file turns it off.
pub(super) fn reopen_control(
    config: &NodeConfig,
    has_socket: bool,
) -> Result<Option<ControlSocket>, String> {
    let opened = ControlSocket::configured(&config.control, &config.node.tun.name);
    let opened = opened.map_err(|error| error.to_string())?;
    if has_socket && opened.is_none() && matches!(config.control, Control::Socket(_)) {
        return Err(NO_SOCKET.to_owned());
    }
    Ok(opened)
}
