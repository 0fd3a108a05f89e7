//! Sources of datagrams over several paths, and the responder that answers them: the test program of
//! the delay-centric paper (III) on real sockets.
//!
//! Each source chooses a path for each datagram by a policy of its own
//! ([`MultihomedSource`](polypath_core::multihomed::MultihomedSource)). All sources of a program
//! share a socket for each path, and their frames carry the number of their source. Nothing is
//! authenticated: the answers are shorter than what they answer, and those of another run are
//! ignored.

mod report;
mod responder;
mod sender;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;

use polypath_core::multihomed::HEADER_LEN;

use crate::config::PathConfig;
use crate::udp::{PathSocket, UdpError};
pub use report::{ResponderReport, SourceChange, SourcesReport};
pub use responder::Responder;
pub use sender::{Sources, SourcesConfig};

/// The longest datagram in bytes.
const MAX_DATAGRAM: usize = 65_507;

/// A path of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePath {
    /// The name in messages.
    pub name: String,
    /// The local address; the system chooses the port if it is 0.
    pub local: SocketAddr,
    /// The address of the responder.
    pub remote: SocketAddr,
}

/// An error in opening or running sources or a responder.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// A socket.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// A size is out of range.
    #[error("{what} of {size} B: use {least} B, for the headers alone, to 65 535 B")]
    Size {
        /// The kind of datagram.
        what: &'static str,
        /// Its size on the wire in bytes.
        size: u32,
        /// The smallest size in bytes.
        least: usize,
    },
    /// A source has more paths than the program.
    #[error("there are {0} paths, and a source has more")]
    Paths(usize),
    /// The drive loop.
    #[error("the sources stopped: {0}")]
    Drive(#[from] io::Error),
}

/// Opens the socket of a path.
fn open(name: &str, local: SocketAddr) -> Result<PathSocket, UdpError> {
    PathSocket::open(&PathConfig::bound_to(name, local))
}

/// The length of the UDP payload of a datagram of `size` bytes on the wire.
fn payload(socket: &PathSocket, what: &'static str, size: u32) -> Result<usize, SourcesError> {
    let headers = socket.headers() as usize;
    let least = headers + HEADER_LEN;
    let out_of_range = SourcesError::Size { what, size, least };
    let size = size as usize;
    if size < least || size - headers > MAX_DATAGRAM {
        return Err(out_of_range);
    }
    Ok(size - headers)
}
