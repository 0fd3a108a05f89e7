//! A connection of a stream protocol from the server's side to the client's.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use polypath_sim::Side;
use socket2::{Domain, Protocol, Socket, Type};

use crate::endpoints::Endpoints;
use crate::flow::READ_TIMEOUT;
use crate::namespace::Namespace;
use crate::preflight::PreflightError;

/// The timeout of connecting and of accepting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects two sockets that `open` makes; the client's listens at the first address, and the
/// server's connects to the second.
///
/// Returns the listener, then the sender's and the receiver's socket. Reads time out after 100 ms.
/// Fails if the system refuses a socket, or the other side does not answer in ten seconds.
pub(crate) fn connect(
    endpoints: &Endpoints,
    [listen, to]: [SocketAddr; 2],
    open: impl Fn() -> io::Result<Socket> + Sync,
) -> io::Result<(Socket, [Socket; 2])> {
    let listener = endpoints.at(Side::Client).run(|| {
        let socket = open()?;
        socket.bind(&listen.into())?;
        socket.listen(1)?;
        socket.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        Ok(socket)
    })?;
    let sender = endpoints.at(Side::Server).run(|| {
        let socket = open()?;
        socket.connect_timeout(&to.into(), CONNECT_TIMEOUT)?;
        Ok(socket)
    })?;
    sender.set_tcp_nodelay(true)?;
    let (receiver, _) = listener.accept()?;
    receiver.set_read_timeout(Some(READ_TIMEOUT))?;
    Ok((listener, [sender, receiver]))
}

/// A socket with the kernel's congestion control of this name; fails if the kernel lacks it.
pub(crate) fn socket(congestion_control: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(congestion_control.as_bytes())?;
    Ok(socket)
}

/// Checks that the kernel has this congestion control; the error names the remedy.
pub(crate) fn preflight(congestion_control: &str) -> Result<(), PreflightError> {
    let namespace = Namespace::new().map_err(PreflightError::Namespace)?;
    let open = || socket(congestion_control).map(drop);
    namespace.run(open).map_err(|e| {
        PreflightError::Tcp(format!(
            "cannot open a TCP socket with {congestion_control} ({e}): run as root, after `modprobe tcp_{congestion_control}`"
        ))
    })
}
