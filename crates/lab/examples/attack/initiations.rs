//! Initiations of a stranger who knows the public key of the target alone.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_session::key::PublicKey;

use crate::subject::Subject;

/// The type of an initiation, of polypath and of `WireGuard`.
pub(crate) const INITIATION: u8 = 1;
/// Different initiations in a flood.
const COUNT: usize = 6;
/// The time to wait for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Initiations of strangers to the node with key `target`, made by the program itself.
pub(crate) fn of_strangers(subject: &Subject, target: PublicKey) -> io::Result<Vec<Vec<u8>>> {
    let namespace = Namespace::new()?;
    let socket = namespace.run(|| UdpSocket::bind("127.0.0.1:0"))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let port = socket.local_addr()?.port();
    let collector = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let mut initiations = Vec::new();
    while initiations.len() < COUNT {
        let stranger = subject.start_stranger(&namespace, target, collector)?;
        let mut buffer = [0; 2048];
        loop {
            let len = socket.recv(&mut buffer)?;
            let initiation = buffer[..len].to_vec();
            if initiation.first() == Some(&INITIATION) && !initiations.contains(&initiation) {
                initiations.push(initiation);
                break;
            }
        }
        drop(stranger);
    }
    Ok(initiations)
}
