//! Datagrams of strangers, so many that the kernel is to drop them.
//!
//! To read a datagram and look at its header costs some microseconds. The kernel tells strangers' for a fraction of
//! that ([`super::filter`]), but does not say why each was dropped; so it is asked only while there are many.

use std::mem::{replace, take};

use polypath_session::event::Reject;

use super::PathSocket;
use super::filter::Admitted;

/// Datagrams of strangers in a second that are many: to read them takes about a hundredth of a processor.
pub(crate) const MANY: u64 = 2000;
/// For so many seconds there must be few, until all are read again.
pub(crate) const CALM: u32 = 10;

/// What strangers send to a socket.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    /// Datagrams of theirs that were read since the last look.
    strangers: u64,
    /// Whom the kernel lets through, where it drops the others.
    admitted: Option<Admitted>,
    /// What it had dropped at the last look.
    drops: u32,
    /// Seconds with few.
    calm: u32,
}

impl Flood {
    /// Notes a datagram of a stranger that was rejected for `reason`.
    pub(crate) fn note(&mut self, reason: Reject) {
        self.strangers += u64::from(matches!(
            reason,
            Reject::UnknownIndex | Reject::UnknownType | Reject::Truncated | Reject::Oversized
        ));
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
        let strangers = take(&mut self.strangers);
        let was_on = self.admitted.is_some();
        let is_on = self.is_to_go_on(strangers, dropped);
        if !self.admit(socket, is_on.then(admitted)) {
            return dropped;
        }
        match (was_on, is_on) {
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
            self.admit(socket, Some(admitted()));
        }
    }

    /// Whether the kernel does as is wanted.
    fn admit(&mut self, socket: &PathSocket, wanted: Option<Admitted>) -> bool {
        if wanted == self.admitted {
            return true;
        }
        let done = match &wanted {
            Some(admitted) => socket.admit_only(admitted),
            None => socket.admit_all(),
        };
        if let Err(error) = done {
            tracing::debug!(%error, "the kernel does not filter what strangers send");
            return false;
        }
        self.admitted = wanted;
        true
    }

    /// Whether the kernel is to drop strangers' datagrams, of which so many were read and dropped in a second.
    fn is_to_go_on(&mut self, strangers: u64, dropped: u32) -> bool {
        if self.admitted.is_none() {
            self.calm = 0;
            return strangers >= MANY;
        }
        let is_calm = strangers + u64::from(dropped) < MANY;
        self.calm = if is_calm { self.calm + 1 } else { 0 };
        self.calm < CALM
    }

    /// What the kernel has dropped since the last look.
    fn take_drops(&mut self, socket: &PathSocket) -> u32 {
        let drops = socket.kernel_drops().unwrap_or(self.drops);
        let before = replace(&mut self.drops, drops);
        drops.wrapping_sub(before)
    }
}
