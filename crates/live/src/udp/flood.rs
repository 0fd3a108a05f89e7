//! Protection against floods of datagrams from strangers.
//!
//! Reading a datagram and checking its header costs some microseconds. The kernel drops a
//! stranger's datagram for a fraction of that ([`super::filter`]), but does not report why; so the
//! filter is attached only while there are many.

use std::mem::{replace, take};

use polypath_session::event::Reject;

use super::PathSocket;
use super::filter::{Admitted, Handshakes, SHARE};

/// Datagrams of strangers per second that start a flood: reading them takes about 1 % of a
/// processor.
pub(crate) const MANY_PER_SECOND: u64 = 2000;
/// Seconds with fewer datagrams that end a flood.
pub(crate) const CALM_SECONDS: u32 = 10;

/// Counts the datagrams of strangers at a socket, and filters them during a flood.
#[derive(Debug, Default)]
pub(crate) struct FloodGuard {
    /// Datagrams of strangers read in this second, without handshakes.
    junk: u64,
    /// Rejected handshakes read in this second.
    handshakes: u64,
    all_alarm: Alarm,
    handshake_alarm: Alarm,
    /// The filter that is attached, if one is.
    filter: Option<Filter>,
    /// The kernel's drop counter at the end of the last second.
    drops: u32,
}

/// The datagrams that the kernel passes to a socket during a flood.
#[derive(Debug, PartialEq, Eq)]
struct Filter {
    admitted: Admitted,
    handshakes: Handshakes,
}

/// Detects the start and the end of a flood.
#[derive(Debug, Default)]
struct Alarm {
    is_on: bool,
    /// Seconds with few datagrams.
    calm_seconds: u32,
}

impl Alarm {
    /// Handles the count of a second.
    fn end_second(&mut self, count: u64) {
        let is_many = count >= MANY_PER_SECOND;
        self.calm_seconds = if is_many { 0 } else { self.calm_seconds + 1 };
        self.is_on = is_many || (self.is_on && self.calm_seconds < CALM_SECONDS);
    }
}

impl FloodGuard {
    /// Counts a datagram of a stranger that was rejected for `reason`.
    pub(crate) fn count(&mut self, reason: Reject) {
        match reason {
            Reject::UnknownIndex | Reject::UnknownType | Reject::Truncated | Reject::Oversized => {
                self.junk += 1;
            }
            Reject::BadMac | Reject::Throttled | Reject::StaleTimestamp => self.handshakes += 1,
            _ => {}
        }
    }

    /// Ends a second: attaches or detaches the filter of `socket`, and returns the number of
    /// datagrams that the kernel dropped in that second.
    pub(crate) fn guard(
        &mut self,
        socket: &PathSocket,
        path: &str,
        admitted: impl FnOnce() -> Admitted,
    ) -> u32 {
        let dropped = self.take_drops(socket);
        let (junk, read) = (take(&mut self.junk), take(&mut self.handshakes));
        let was_on = self.filter.is_some();
        // The number of handshakes among the dropped datagrams is estimated by the share that
        // passes.
        let share = if self.handshake_alarm.is_on { SHARE } else { 1 };
        self.handshake_alarm.end_second(read * u64::from(share));
        let strangers = junk + read;
        let filtered = if was_on { u64::from(dropped) } else { 0 };
        self.all_alarm.end_second(strangers + filtered);
        let wanted = self.all_alarm.is_on.then(|| self.wanted(admitted()));
        if !self.apply(socket, wanted) {
            return dropped;
        }
        match (was_on, self.all_alarm.is_on) {
            (false, true) => tracing::warn!(
                path,
                datagrams = strangers,
                "a flood of datagrams from strangers: the kernel drops them until it ends"
            ),
            (true, false) => {
                tracing::info!(path, "the flood of datagrams from strangers has ended");
            }
            _ => {}
        }
        dropped
    }

    /// Updates the filter, if one is attached, to what is `admitted` now.
    pub(crate) fn update(&mut self, socket: &PathSocket, admitted: impl FnOnce() -> Admitted) {
        if self.filter.is_some() {
            let wanted = self.wanted(admitted());
            self.apply(socket, Some(wanted));
        }
    }

    fn wanted(&self, admitted: Admitted) -> Filter {
        let handshakes = if self.handshake_alarm.is_on {
            Handshakes::Few
        } else {
            Handshakes::All
        };
        Filter {
            admitted,
            handshakes,
        }
    }

    /// Attaches or detaches the filter; returns whether that succeeded.
    fn apply(&mut self, socket: &PathSocket, wanted: Option<Filter>) -> bool {
        if wanted == self.filter {
            return true;
        }
        let done = match &wanted {
            Some(filter) => socket.attach_filter(&filter.admitted, filter.handshakes),
            None => socket.detach_filter(),
        };
        if let Err(error) = done {
            tracing::debug!(%error, "the filter against floods cannot be changed");
            return false;
        }
        self.filter = wanted;
        true
    }

    /// The number of datagrams that the kernel dropped since the last call.
    fn take_drops(&mut self, socket: &PathSocket) -> u32 {
        let drops = socket.kernel_drops().unwrap_or(self.drops);
        let before = replace(&mut self.drops, drops);
        drops.wrapping_sub(before)
    }
}
