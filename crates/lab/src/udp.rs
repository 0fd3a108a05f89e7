//! UDP sockets in the namespaces of a lab.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use polypath_sim::Side;

use crate::addressing::SIDES;
use crate::endpoints::Endpoints;
use crate::flow::READ_TIMEOUT;
use crate::namespace::Namespace;

/// Two sockets that are connected to each other: at the server's side, then at the client's.
///
/// `address` is that of a side. Reads time out after 100 ms. Fails if the system refuses a socket.
pub(crate) fn connected_pair(
    endpoints: &Endpoints,
    address: impl Fn(Side) -> SocketAddr + Sync,
) -> io::Result<[UdpSocket; 2]> {
    let [server, client] = SIDES.map(|side| {
        let socket = open(
            endpoints.at(side),
            address(side),
            Some(address(side.other())),
        )?;
        socket.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok::<_, io::Error>(socket)
    });
    Ok([server?, client?])
}

/// A socket in `namespace` with this address, connected to `remote` if there is one.
///
/// Fails if the system refuses it.
pub(crate) fn open(
    namespace: &Namespace,
    local: SocketAddr,
    remote: Option<SocketAddr>,
) -> io::Result<UdpSocket> {
    namespace.run(|| {
        let socket = UdpSocket::bind(local)?;
        if let Some(remote) = remote {
            socket.connect(remote)?;
        }
        Ok(socket)
    })
}
