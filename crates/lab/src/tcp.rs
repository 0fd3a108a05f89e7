//! A connection of a stream protocol from the server's side to the client's.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use polypath_sim::Side;
use socket2::Socket;

use crate::endpoints::Endpoints;
use crate::flow::READ_TIMEOUT;

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
