//! Senders of spaced packets and their receiver on plain UDP sockets: the agents of the packet-spacing
//! paper (section 3).
//!
//! They drive the machines that a node drives for its packets, without a session: nothing is
//! authenticated, and the packets carry no data. A deployment uses nodes, or `polypath send`.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use crate::config::PathConfig;
use crate::udp::{PathSocket, UdpError};
pub use receiver::{ArrivedPackets, GapMoments, SpacedReceivers};
pub use sender::{SentPackets, SpacedSenders, SpacedSendersConfig, StartedSender};

/// The longest datagram in bytes.
const MAX_DATAGRAM: usize = 65_507;

fn open(name: &str, local: SocketAddr) -> Result<PathSocket, UdpError> {
    PathSocket::open(&PathConfig::bound_to(name, local))
}

/// The length of the UDP payload of a message of `len` bytes that has `size` bytes on the wire.
fn padded(socket: &PathSocket, size: u64, len: usize) -> usize {
    let payload = size.saturating_sub(u64::from(socket.headers()));
    usize::try_from(payload)
        .unwrap_or(MAX_DATAGRAM)
        .clamp(len, MAX_DATAGRAM)
}
