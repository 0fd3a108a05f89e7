//! Batches of datagrams of one length in one call: `UDP_SEGMENT` (GSO) to send, `UDP_GRO` to
//! receive.
//!
//! quinn-udp 0.6.3 is not faster (`benches/libraries.rs`), and its buffer for control messages has
//! no room for timestamp, segment size and ECN field together: it loses the ECN marks of datagrams
//! that GRO merged. It also sends from one buffer only, and cannot disable GRO.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_core::packet::TrafficClass;

use super::{PathSocket, Received};

/// The most datagrams in one call (`UDP_MAX_SEGMENTS`).
const MAX_DATAGRAMS: usize = 64;
/// The most bytes in one call: those of an IPv4 packet without its headers.
const MAX_BYTES: usize = 65_507;

/// The queue of datagrams to be sent in one call.
#[derive(Debug, Default)]
pub struct Outgoing {
    datagrams: Vec<Bytes>,
    len: usize,
    /// That of all of them.
    traffic_class: TrafficClass,
    /// Whether GSO was refused, and datagrams are sent one by one.
    pub(crate) gso_refused: bool,
}

/// The result of sending datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounts {
    /// The number of datagrams sent.
    pub datagrams: usize,
    /// Their bytes.
    pub bytes: usize,
    /// The number of datagrams that the kernel refused, and of cookies that were withheld.
    pub unsent: usize,
    /// The number of those that exceed the MTU of the interface.
    pub too_long: usize,
}

impl Outgoing {
    /// Whether `datagram` can join the queue: it has the traffic class of the others, and is as long as they
    /// are, or shorter as the last. An empty one is sent by itself, since GSO would lose it.
    #[must_use]
    pub fn accepts(&self, datagram: &[u8], traffic_class: TrafficClass) -> bool {
        let (Some(first), Some(last)) = (self.datagrams.first(), self.datagrams.last()) else {
            return true;
        };
        traffic_class == self.traffic_class
            && !datagram.is_empty()
            && last.len() == first.len()
            && datagram.len() <= first.len()
            && self.datagrams.len() < MAX_DATAGRAMS
            && self.len + datagram.len() <= MAX_BYTES
    }

    /// Adds a datagram, to be sent with this traffic class, to the queue.
    pub fn push(&mut self, datagram: Bytes, traffic_class: TrafficClass) {
        self.traffic_class = traffic_class;
        self.len += datagram.len();
        self.datagrams.push(datagram);
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Sends the queue to `to`, ECN-capable datagrams one by one; those that the kernel refuses are
    /// lost.
    pub fn flush(&mut self, socket: &PathSocket, to: SocketAddr) -> SendCounts {
        let all = std::mem::take(&mut self.len);
        let datagrams = self.datagrams.len();
        // A queue of this host marks what leaves in one call before it is divided, so that a mark
        // would be on all of it.
        if datagrams > 1 && !self.gso_refused && !self.traffic_class.ecn.is_capable() {
            let segment = self.datagrams[0].len();
            match socket.send_gso(&slices(&self.datagrams), segment, self.traffic_class, to) {
                Ok(()) => {
                    self.datagrams.clear();
                    return SendCounts {
                        datagrams,
                        bytes: all,
                        ..SendCounts::default()
                    };
                }
                // The segment exceeds the MTU, or the interface has no GSO.
                Err(error) if is_refusal(&error) => {
                    tracing::debug!(%to, %error, "datagrams are sent one by one from now on");
                    self.gso_refused = true;
                }
                // A full queue, or no route: each of them would fail.
                Err(error) => {
                    tracing::debug!(%to, %error, "datagrams not sent");
                    self.datagrams.clear();
                    return SendCounts {
                        unsent: datagrams,
                        ..SendCounts::default()
                    };
                }
            }
        }
        let sent = self.send_each(socket, to);
        // If single datagrams are too long as well, GSO is not the cause.
        self.gso_refused &= sent.too_long == 0;
        sent
    }

    /// Tries GSO again after a refusal.
    pub fn retry_gso(&mut self) {
        self.gso_refused = false;
    }

    /// Empties the queue and returns the number of datagrams in it.
    pub fn discard(&mut self) -> u64 {
        self.len = 0;
        self.datagrams.drain(..).len() as u64
    }

    fn send_each(&mut self, socket: &PathSocket, to: SocketAddr) -> SendCounts {
        let mut sent = SendCounts::default();
        for datagram in self.datagrams.drain(..) {
            match socket.send(&datagram, self.traffic_class, to) {
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

/// Whether the same datagrams may succeed one by one.
fn is_refusal(error: &io::Error) -> bool {
    use nix::libc::{EINVAL, EIO, EMSGSIZE, EOPNOTSUPP};
    matches!(
        error.raw_os_error(),
        Some(EINVAL | EIO | EMSGSIZE | EOPNOTSUPP)
    )
}

/// Datagrams that were received in one call.
#[derive(Debug, Default)]
pub struct Incoming(VecDeque<(Received, Bytes)>);

impl Incoming {
    /// Splits the `bytes` of one call into datagrams.
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

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
