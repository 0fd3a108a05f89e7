//! The kernel's Multipath TCP (RFC 8684) over two links.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use polypath_core::frame::PathId;
use polypath_sim::Side;
use socket2::{Domain, Protocol, Socket, Type};

use super::error::FailoverError;
use super::parameters::{LINKS, READ_TIMEOUT};
use crate::addressing::{path_address, path_device};
use crate::endpoints::Endpoints;
use crate::namespace::Namespace;
use crate::program;

const PORT: u16 = 5300;
/// The congestion control of both endpoints, set per socket: not every one can be a namespace's
/// default.
const CONGESTION_CONTROL: &str = "cubic";
// Parameters below /proc/sys/net.
const ENABLED: &str = "mptcp/enabled";
const STALE: &str = "mptcp/stale_loss_cnt";
/// The timeout of connecting and of accepting.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// A connection between two endpoints.
pub(super) struct Mptcp {
    /// Stays open, since later subflows join through it too.
    listener: Socket,
}

/// Checks that the kernel has MPTCP and that `ip` can configure it; an error names the remedy.
pub(super) fn preflight() -> Result<(), FailoverError> {
    for parameter in [ENABLED, STALE] {
        if !Path::new("/proc/sys/net").join(parameter).exists() {
            return Err(FailoverError::Mptcp(format!(
                "the kernel has no net/{parameter}: boot Linux 5.15 or newer with CONFIG_MPTCP (as Debian's)"
            )));
        }
    }
    let namespace = Namespace::new()?;
    namespace.ip(&["mptcp", "limits", "show"]).map_err(|e| {
        FailoverError::Mptcp(format!(
            "`ip` does not support MPTCP ({e}): install iproute2 5.8 or newer"
        ))
    })?;
    namespace.run(|| socket().map(drop)).map_err(|e| {
        FailoverError::Mptcp(format!(
            "cannot open an MPTCP socket with {CONGESTION_CONTROL} ({e}): run as root, after `modprobe tcp_{CONGESTION_CONTROL}`"
        ))
    })
}

impl Mptcp {
    /// Connects server side and client side with a subflow on each link; returns the sender's and
    /// the receiver's socket.
    pub(super) fn start(endpoints: &Endpoints, quick: bool) -> io::Result<(Self, [Socket; 2])> {
        for side in crate::addressing::SIDES {
            let namespace = endpoints.at(side);
            namespace.set(ENABLED, "1")?;
            if quick {
                namespace.set(STALE, "1")?;
            }
            let limits = ["mptcp", "limits", "set", "subflow", "1"];
            namespace.ip(&[&limits[..], &["add_addr_accepted", "1"]].concat())?;
        }
        // The client announces the second link's address, and the server joins it from the source
        // address of the route; an MPTCP endpoint at the server too would add a third subflow.
        let (address, device) = (
            path_address(PathId(1), Side::Client).addr(),
            path_device(PathId(1)),
        );
        let announce = ["mptcp", "endpoint", "add", &address.to_string()];
        let rest = ["dev", &device, "id", "2", "signal"];
        endpoints
            .at(Side::Client)
            .ip(&[&announce[..], &rest[..]].concat())?;
        let (listener, sockets) = connect(endpoints)?;
        Ok((Self { listener }, sockets))
    }

    /// Closes the listener, so that no more subflows join.
    pub(super) fn finish(self) {
        drop(self.listener);
    }

    /// The reason why the connection has not settled, if any: a subflow is missing, stale, or has
    /// backed off its retransmission timer.
    pub(super) fn unsettled(endpoints: &Endpoints) -> io::Result<Option<String>> {
        let mut command = Command::new(program::SS.path());
        command.args(["-H", "-t", "-i", "-n", "-O", "state", "established"]);
        command.args(["dport", "=", &format!(":{PORT}")]);
        let sockets = endpoints.at(Side::Server).output(&mut command)?;
        let subflows = sockets.lines().count();
        if subflows != LINKS {
            return Ok(Some(format!("there are {subflows} subflows")));
        }
        if sockets.contains("backoff:") {
            return Ok(Some("a subflow's retransmission timer backed off".into()));
        }
        let read = || std::fs::read_to_string("/proc/thread-self/net/netstat");
        let table = endpoints.at(Side::Server).run(read)?;
        let [stale, recovered] = ["SubflowStale", "SubflowRecover"].map(|n| counter(&table, n));
        Ok((stale != recovered).then(|| "a subflow is stale".into()))
    }
}

/// A counter of the `MPTcpExt` section of `/proc/net/netstat`: a line of names and a line of
/// values.
fn counter(table: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter(|line| line.starts_with("MPTcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(n, _)| *n == name)?.1.parse().ok()
}

fn socket() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
    socket.set_tcp_congestion(CONGESTION_CONTROL.as_bytes())?;
    Ok(socket)
}

fn connect(endpoints: &Endpoints) -> io::Result<(Socket, [Socket; 2])> {
    let listener = endpoints.at(Side::Client).run(|| {
        let socket = socket()?;
        // A join is addressed to the other link, so the listener binds to all addresses.
        socket.bind(&SocketAddr::from(([0, 0, 0, 0], PORT)).into())?;
        socket.listen(1)?;
        socket.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        Ok(socket)
    })?;
    let address = SocketAddr::new(path_address(PathId(0), Side::Client).addr(), PORT);
    let sender = endpoints.at(Side::Server).run(|| {
        let socket = socket()?;
        socket.connect_timeout(&address.into(), CONNECT_TIMEOUT)?;
        Ok(socket)
    })?;
    sender.set_tcp_nodelay(true)?;
    let (receiver, _) = listener.accept()?;
    receiver.set_read_timeout(Some(READ_TIMEOUT))?;
    Ok((listener, [sender, receiver]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let table = "TcpExt: SyncookiesSent SubflowStale\nTcpExt: 1 2\n\
                     MPTcpExt: MPCapableSYNRX SubflowStale SubflowRecover\nMPTcpExt: 3 4 5\n";
        assert_eq!(counter(table, "SubflowStale"), Some(4));
        assert_eq!(counter(table, "SubflowRecover"), Some(5));
        assert_eq!(counter(table, "Nonesuch"), None);
    }
}
