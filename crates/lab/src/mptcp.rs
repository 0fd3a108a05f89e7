//! The kernel's Multipath TCP (RFC 8684) over all paths of two endpoints.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use polypath_core::frame::PathId;
use polypath_sim::Side;
use socket2::{Domain, Protocol, Socket, Type};

use crate::addressing::{SIDES, path_address, path_device};
use crate::endpoints::Endpoints;
use crate::namespace::Namespace;
use crate::preflight::PreflightError;
use crate::program;
use crate::tcp;

const PORT: u16 = 5300;
// Parameters below /proc/sys/net.
const ENABLED: &str = "mptcp/enabled";
const STALE: &str = "mptcp/stale_loss_cnt";

/// The configuration of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MptcpConfig {
    /// The number of paths, each with a subflow.
    pub(crate) paths: u8,
    /// The kernel's name of the congestion control of both endpoints. It is set per socket, since
    /// not every one can be a namespace's default.
    pub(crate) congestion_control: &'static str,
    /// Whether a subflow is left after one lost retransmission (`stale_loss_cnt=1`).
    pub(crate) quick: bool,
}

/// A connection between two endpoints.
pub(crate) struct Mptcp {
    /// Stays open, since later subflows join through it too.
    listener: Socket,
    subflows: usize,
}

/// Checks that the kernel has MPTCP with this congestion control, and that `ip` can configure it;
/// an error names the remedy.
pub(crate) fn preflight(congestion_control: &'static str) -> Result<(), PreflightError> {
    for parameter in [ENABLED, STALE] {
        if !Path::new("/proc/sys/net").join(parameter).exists() {
            return Err(PreflightError::Mptcp(format!(
                "the kernel has no net/{parameter}: boot Linux 5.15 or newer with CONFIG_MPTCP (as Debian's)"
            )));
        }
    }
    // A Multipath TCP socket without a connection accepts any name, and then uses the default.
    tcp::preflight(congestion_control)?;
    let namespace = Namespace::new().map_err(PreflightError::Namespace)?;
    namespace.ip(&["mptcp", "limits", "show"]).map_err(|e| {
        PreflightError::Mptcp(format!(
            "`ip` does not support MPTCP ({e}): install iproute2 5.8 or newer"
        ))
    })?;
    let open = || socket(congestion_control).map(drop);
    namespace.run(open).map_err(|e| {
        PreflightError::Mptcp(format!(
            "cannot open an MPTCP socket with {congestion_control} ({e}): run as root"
        ))
    })
}

impl Mptcp {
    /// Connects server side and client side with a subflow on each path; returns the sender's and
    /// the receiver's socket.
    pub(crate) fn start(
        endpoints: &Endpoints,
        config: MptcpConfig,
    ) -> io::Result<(Self, [Socket; 2])> {
        let others = config.paths.saturating_sub(1);
        for side in SIDES {
            let namespace = endpoints.at(side);
            namespace.set(ENABLED, "1")?;
            if config.quick {
                namespace.set(STALE, "1")?;
            }
            let limit = others.to_string();
            let limits = ["mptcp", "limits", "set", "subflow", &limit];
            namespace.ip(&[&limits[..], &["add_addr_accepted", &limit]].concat())?;
        }
        // The client announces the addresses of the other paths, and the server joins them from the
        // source address of the route; an MPTCP endpoint at the server too would add a subflow.
        for path in (1..config.paths).map(PathId) {
            announce(endpoints, path)?;
        }
        let (listener, sockets) = connect(endpoints, config.congestion_control)?;
        let subflows = config.paths.into();
        Ok((Self { listener, subflows }, sockets))
    }

    /// Closes the listener, so that no more subflows join.
    pub(crate) fn finish(self) {
        drop(self.listener);
    }

    /// The reason why the connection has not settled, if any: a subflow is missing, stale, or has
    /// backed off its retransmission timer.
    pub(crate) fn unsettled(&self, endpoints: &Endpoints) -> io::Result<Option<String>> {
        let mut command = Command::new(program::SS.path());
        command.args(["-H", "-t", "-i", "-n", "-O", "state", "established"]);
        command.args(["dport", "=", &format!(":{PORT}")]);
        let sockets = endpoints.at(Side::Server).output(&mut command)?;
        let subflows = sockets.lines().count();
        if subflows != self.subflows {
            return Ok(Some(format!("there are {subflows} subflows")));
        }
        if sockets.contains("backoff:") {
            return Ok(Some("a subflow's retransmission timer backed off".into()));
        }
        let server = endpoints.at(Side::Server);
        let count = |name| server.counter("netstat", "MPTcpExt:", name);
        Ok((count("SubflowStale")? != count("SubflowRecover")?)
            .then(|| "a subflow is stale".into()))
    }
}

/// Lets the client announce its address on `path`.
fn announce(endpoints: &Endpoints, path: PathId) -> io::Result<()> {
    let address = path_address(path, Side::Client).addr().to_string();
    let (device, id) = (path_device(path), (path.0 + 1).to_string());
    let add = ["mptcp", "endpoint", "add", &address, "dev", &device];
    let rest = ["id", &id, "signal"];
    let client = endpoints.at(Side::Client);
    client.ip(&[&add[..], &rest[..]].concat()).map(drop)
}

fn socket(congestion_control: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
    socket.set_tcp_congestion(congestion_control.as_bytes())?;
    Ok(socket)
}

fn connect(
    endpoints: &Endpoints,
    congestion_control: &'static str,
) -> io::Result<(Socket, [Socket; 2])> {
    // A join is addressed to another path, so the listener binds to all addresses.
    let any = SocketAddr::from(([0, 0, 0, 0], PORT));
    let to = SocketAddr::new(path_address(PathId(0), Side::Client).addr(), PORT);
    tcp::connect(endpoints, [any, to], || socket(congestion_control))
}
