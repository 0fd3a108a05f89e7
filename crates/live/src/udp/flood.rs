//! Datagrams of strangers, so many that the kernel is to drop them.
//!
//! To read a datagram and look at its header costs some microseconds. The kernel tells strangers' for a fraction of
//! that ([`super::filter`]), but does not say why each was dropped; so it is asked only while there are many.

use std::mem::{replace, take};

use polypath_session::event::Reject;

use super::PathSocket;
use super::filter::{Admitted, Handshakes, SHARE};

/// Datagrams of strangers in a second that are many: to read them takes about a hundredth of a processor.
pub(crate) const MANY: u64 = 2000;
/// For so many seconds there must be few, until all are read again.
pub(crate) const CALM: u32 = 10;

/// What strangers send to a socket.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    /// Their datagrams that were read since the last look, but for handshakes.
    junk: u64,
    /// Their handshakes that were read since then in vain.
    handshakes: u64,
    of_all: Alarm,
    of_handshakes: Alarm,
    /// Whom the kernel lets through, where it drops the others.
    admitted: Option<(Admitted, Handshakes)>,
    /// What it had dropped at the last look.
    drops: u32,
}

/// Whether there are many of something.
#[derive(Debug, Default)]
struct Alarm {
    is_on: bool,
    /// Seconds with few.
    calm: u32,
}

impl Alarm {
    /// Notes how many there were in a second.
    fn note(&mut self, count: u64) {
        let is_many = count >= MANY;
        self.calm = if is_many { 0 } else { self.calm + 1 };
        self.is_on = is_many || (self.is_on && self.calm < CALM);
    }
}

impl Flood {
    /// Notes a datagram of a stranger that was rejected for `reason`.
    pub(crate) fn note(&mut self, reason: Reject) {
        match reason {
            Reject::UnknownIndex | Reject::UnknownType | Reject::Truncated | Reject::Oversized => {
                self.junk += 1;
            }
            Reject::BadMac | Reject::Throttled | Reject::StaleTimestamp => self.handshakes += 1,
            _ => {}
        }
    }

    /// Has the kernel let through only what is `admitted` to the socket of `path` where strangers sent many datagrams in the
    /// second that is over; says how many it has dropped in it.
    pub(crate) fn guard(
        &mut self,
        socket: &PathSocket,
        path: &str,
        admitted: impl FnOnce() -> Admitted,
    ) -> u32 {
        let dropped = self.take_drops(socket);
        let (junk, read) = (take(&mut self.junk), take(&mut self.handshakes));
        let was_on = self.admitted.is_some();
        // Of those that the kernel drops nobody knows how many were handshakes.
        let share = if self.of_handshakes.is_on { SHARE } else { 1 };
        self.of_handshakes.note(read * u64::from(share));
        let strangers = junk + read;
        self.of_all
            .note(strangers + if was_on { u64::from(dropped) } else { 0 });
        let wanted = self.of_all.is_on.then(|| (admitted(), self.passing()));
        if !self.admit(socket, wanted) {
            return dropped;
        }
        match (was_on, self.of_all.is_on) {
            (false, true) => tracing::warn!(
                path,
                datagrams = strangers,
                "strangers sent so many datagrams within a second: the kernel drops theirs until there are few again"
            ),
            (true, false) => tracing::info!(path, "strangers send few datagrams again"),
            _ => {}
        }
        dropped
    }

    /// Has the kernel let through what is `admitted` now, where it drops the rest.
    pub(crate) fn renew(&mut self, socket: &PathSocket, admitted: impl FnOnce() -> Admitted) {
        if self.admitted.is_some() {
            let wanted = (admitted(), self.passing());
            self.admit(socket, Some(wanted));
        }
    }

    /// Which of strangers' handshakes the kernel is to let through.
    fn passing(&self) -> Handshakes {
        if self.of_handshakes.is_on {
            Handshakes::Few
        } else {
            Handshakes::All
        }
    }

    /// Whether the kernel does as is wanted.
    fn admit(&mut self, socket: &PathSocket, wanted: Option<(Admitted, Handshakes)>) -> bool {
        if wanted == self.admitted {
            return true;
        }
        let done = match &wanted {
            Some((admitted, handshakes)) => socket.admit_only(admitted, *handshakes),
            None => socket.admit_all(),
        };
        if let Err(error) = done {
            tracing::debug!(%error, "the kernel does not filter what strangers send");
            return false;
        }
        self.admitted = wanted;
        true
    }

    /// What the kernel has dropped since the last look.
    fn take_drops(&mut self, socket: &PathSocket) -> u32 {
        let drops = socket.kernel_drops().unwrap_or(self.drops);
        let before = replace(&mut self.drops, drops);
        drops.wrapping_sub(before)
    }
}
