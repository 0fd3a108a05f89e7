//! Sockets that a path had before: the peer sends to their addresses until it receives a datagram
//! from the new one.

use std::io;

use polypath_core::time::{Duration, Time};

use crate::clock::Clock;
use crate::udp::{PathSocket, Received};

/// Time for which an old socket is read: as long as replaced keys still open datagrams in flight.
pub(super) const GRACE: Duration = Duration::from_secs(10);
/// The number of old sockets kept for a path: each costs a system call whenever the path is read.
const MAX_RETIRED: usize = 4;
/// Datagrams taken from old sockets before one of the path's own socket: a flood of an old address
/// must not keep the new one from being read.
pub(super) const IN_A_ROW: u32 = 64;

/// The sockets that a path had before.
#[derive(Debug, Default)]
pub(super) struct RetiredSockets {
    /// The oldest first.
    pub(super) all: Vec<RetiredSocket>,
    /// Datagrams taken from them since the last one of the path's own socket.
    in_a_row: u32,
}

/// A socket that only receives.
#[derive(Debug)]
pub(super) struct RetiredSocket {
    socket: PathSocket,
    pub(super) until: Time,
}

impl RetiredSockets {
    /// Keeps `socket` until `until`; drops the oldest of too many.
    pub(super) fn push(&mut self, socket: PathSocket, until: Time) {
        // Nothing is in flight to a socket without an address.
        if socket.bound().is_none() {
            return;
        }
        if self.all.len() >= MAX_RETIRED {
            self.all.remove(0);
        }
        self.all.push(RetiredSocket { socket, until });
    }

    /// Whether the path's own socket is to be read first now.
    pub(super) fn yields(&mut self) -> bool {
        let yields = self.in_a_row >= IN_A_ROW;
        if yields {
            self.in_a_row = 0;
        }
        yields
    }

    /// Receives the next datagram of an old socket into `buffer`, if one waits.
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        clock: Clock,
    ) -> io::Result<Option<Received>> {
        let mut next = 0;
        while let Some(retired) = self.all.get_mut(next) {
            // The time is read first: an expired socket is read once more and then closed.
            let is_expired = clock.now() >= retired.until;
            let received = retired.socket.receive(buffer, clock)?;
            if is_expired {
                self.all.remove(next);
            } else {
                next += 1;
            }
            if received.is_some() {
                self.in_a_row += 1;
                return Ok(received);
            }
        }
        self.in_a_row = 0;
        Ok(None)
    }
}
