//! The sockets at which a node answers its operator.

use std::net::TcpListener;
use std::sync::Arc;

use super::commands::ControlHandle;
use super::http::{HttpServer, LIMITS};
use super::metrics;
use super::socket::ControlSocket;
use crate::config::{Control, MetricsConfig, NodeConfig};

/// The error of a node whose control socket has no directory that can be written: it does not go on
/// without one.
const NO_SOCKET: &str = "control: no default directory for the socket can be written, and the node would become \
                         unreachable; name a socket with `control.socket`, or write control = \"off\"";

/// The listening sockets of a node that starts; a part that is off is `None`.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) control: Option<ControlSocket>,
    pub(crate) metrics: Option<TcpListener>,
}

/// The servers of a running node; a part that is off is `None`.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// The control socket, whose clients the control thread accepts.
    pub(super) control: Option<ControlSocket>,
    pub(super) metrics: Option<HttpServer>,
}

impl Listeners {
    /// Starts the servers, in the network namespace and with the privileges of the calling thread.
    pub(super) fn serve(self, handle: &Arc<ControlHandle>) -> std::io::Result<Servers> {
        let serve = |listener| start_metrics(listener, handle);
        Ok(Servers {
            control: self.control,
            metrics: self.metrics.map(serve).transpose()?,
        })
    }
}

/// Listens at the metrics endpoint, if one is configured.
///
/// # Errors
/// The reason with its key and a remedy.
pub(crate) fn bind_metrics(config: Option<&MetricsConfig>) -> Result<Option<TcpListener>, String> {
    let Some(MetricsConfig { listen }) = config else {
        return Ok(None);
    };
    TcpListener::bind(listen).map(Some).map_err(|error| {
        format!(
            "metrics.listen {listen}: {error}; give an address of this machine and a free port (`ss -tlpn`)"
        )
    })
}

/// Starts the server of the metrics, if one is configured.
///
/// # Errors
/// The reason with its key and a remedy.
pub(super) fn serve_metrics(
    config: Option<&MetricsConfig>,
    handle: &Arc<ControlHandle>,
) -> Result<Option<HttpServer>, String> {
    let serve = |listener| {
        start_metrics(listener, handle).map_err(|error| {
            format!(
                "metrics.listen: cannot start the server: {error}; raise the limits of open files and of \
                 processes (`ulimit -n -u`)"
            )
        })
    };
    bind_metrics(config)?.map(serve).transpose()
}

fn start_metrics(
    listener: TcpListener,
    handle: &Arc<ControlHandle>,
) -> std::io::Result<HttpServer> {
    HttpServer::start(listener, metrics::router(handle.clone()), LIMITS)
}

/// Opens the control socket that `config` asks for on a reload, if any.
///
/// # Errors
/// A node that `has_socket` keeps it unless the file turns it off.
pub(super) fn reopen_control(
    config: &NodeConfig,
    has_socket: bool,
) -> Result<Option<ControlSocket>, String> {
    let opened = ControlSocket::configured(&config.control, &config.node.name());
    let opened = opened.map_err(|error| error.to_string())?;
    if has_socket && opened.is_none() && matches!(config.control, Control::Socket(_)) {
        return Err(NO_SOCKET.to_owned());
    }
    Ok(opened)
}
