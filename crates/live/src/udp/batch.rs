//! Datagrams of one length that follow each other, in one call: `UDP_SEGMENT` when sending, `UDP_GRO` when receiving.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::SocketAddr;

use bytes::Bytes;

use super::{PathSocket, Received};

/// Datagrams in one call at most (`UDP_MAX_SEGMENTS`).
const MOST_DATAGRAMS: usize = 64;
/// Bytes in one call at most: what an IPv4 packet holds less its headers.
const MOST_BYTES: usize = 65_507;

/// Datagrams that wait to be sent in one call.
#[derive(Debug, Default)]
pub struct Outgoing {
    datagrams: Vec<Bytes>,
    len: usize,
    /// Whether the network takes no datagrams in one call: they are sent one by one from then on.
    pub(crate) refuses: bool,
}

/// What became of datagrams that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many left.
    pub datagrams: usize,
    /// Their bytes.
    pub bytes: usize,
    /// How many the kernel did not take.
    pub unsent: usize,
    /// How many of those are longer than the interface lets through.
    pub too_long: usize,
}

impl Outgoing {
    /// Whether `datagram` can go in one call with those that wait: as long as they, or shorter as the last.
    #[must_use]
    pub fn takes(&self, datagram: &[u8]) -> bool {
        let (Some(first), Some(last)) = (self.datagrams.first(), self.datagrams.last()) else {
            return true;
        };
        last.len() == first.len()
            && datagram.len() <= first.len()
            && self.datagrams.len() < MOST_DATAGRAMS
            && self.len + datagram.len() <= MOST_BYTES
    }

    /// Lets a datagram wait.
    pub fn push(&mut self, datagram: Bytes) {
        self.len += datagram.len();
        self.datagrams.push(datagram);
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Sends what waits to `to`; what the kernel does not take is lost, as a single datagram is.
    pub fn flush(&mut self, socket: &PathSocket, to: SocketAddr) -> Sent {
        let all = std::mem::take(&mut self.len);
        let datagrams = self.datagrams.len();
        if datagrams > 1 && !self.refuses {
            match socket.send_gso(&slices(&self.datagrams), self.datagrams[0].len(), to) {
                Ok(()) => {
                    self.datagrams.clear();
                    return Sent {
                        datagrams,
                        bytes: all,
                        ..Sent::default()
                    };
                }
                // Longer than the MTU, or more than the interface can do.
                Err(error) if is_refusal(&error) => {
                    tracing::debug!(%to, %error, "datagrams are sent one by one from now on");
                    self.refuses = true;
                }
                // A full queue, or no way there now: that holds for each of them.
                Err(error) => {
                    tracing::debug!(%to, %error, "datagrams not sent");
                    self.datagrams.clear();
                    return Sent {
                        unsent: datagrams,
                        ..Sent::default()
                    };
                }
            }
        }
        let sent = self.send_each(socket, to);
        // Then it is their length and not their number that the network does not take.
        self.refuses &= sent.too_long == 0;
        sent
    }

    /// Lets datagrams be sent together again, whatever the network refused before.
    pub fn retry_gso(&mut self) {
        self.refuses = false;
    }

    /// Forgets what waits, and says how much that was.
    pub fn discard(&mut self) -> u64 {
        self.len = 0;
        self.datagrams.drain(..).len() as u64
    }

    fn send_each(&mut self, socket: &PathSocket, to: SocketAddr) -> Sent {
        let mut sent = Sent::default();
        for datagram in self.datagrams.drain(..) {
            match socket.send(&datagram, to) {
                Ok(()) => {
                    sent.datagrams += 1;
                    sent.bytes += datagram.len();
                }
                Err(error) => {
                    sent.unsent += 1;
                    let is_too_long = error.raw_os_error() == Some(nix::libc::EMSGSIZE);
                    sent.too_long += usize::from(is_too_long);
                    tracing::debug!(%to, %error, "datagram not sent");
                }
            }
        }
        sent
    }
}

fn slices(datagrams: &[Bytes]) -> Vec<IoSlice<'_>> {
    datagrams
        .iter()
        .map(|datagram| IoSlice::new(datagram))
        .collect()
}

/// Whether the network takes the same datagrams one by one.
fn is_refusal(error: &io::Error) -> bool {
    use nix::libc::{EINVAL, EIO, EMSGSIZE, EOPNOTSUPP};
    matches!(
        error.raw_os_error(),
        Some(EINVAL | EIO | EMSGSIZE | EOPNOTSUPP)
    )
}

/// Datagrams that were received in one call, one after the other.
#[derive(Debug, Default)]
pub struct Incoming(VecDeque<(Received, Bytes)>);

impl Incoming {
    /// Cuts what was received together, `bytes`, into its datagrams.
    pub fn fill(&mut self, received: Received, mut bytes: Bytes) {
        while !bytes.is_empty() {
            let datagram = bytes.split_to(received.segment.min(bytes.len()));
            let len = datagram.len();
            self.0.push_back((
                Received {
                    len,
                    segment: len,
                    ..received
                },
                datagram,
            ));
        }
    }

    /// The next datagram.
    pub fn take(&mut self) -> Option<(Received, Bytes)> {
        self.0.pop_front()
    }

    /// Whether none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
