//! The wait for a source that has no packet.

use crate::time::{Duration, Time};

/// The wait after which the receiver is notified: a shorter one is known by the packet that ends it, and a
/// message for each packet of a stream of more than 500 kbit/s would be too many.
const IDLE_AFTER: Duration = Duration::from_millis(20);

/// Whether a sender is application-limited: it waits for its source, and could send a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    is_source_empty: bool,
    /// The time since when a packet could have been sent.
    since: Option<Time>,
    /// Whether the receiver was notified, or no connection could do that.
    is_notified: bool,
    /// Whether the next packet could have been sent before.
    is_limited: bool,
}

impl Waiting {
    /// Whether the source has no packet.
    pub(super) const fn is_source_empty(&self) -> bool {
        self.is_source_empty
    }

    /// The source has no packet.
    pub(super) const fn begin(&mut self) {
        self.is_source_empty = true;
    }

    /// The source has a packet, or has ended.
    pub(super) fn end(&mut self) {
        *self = Self {
            is_limited: self.since.is_some(),
            ..Self::default()
        };
    }

    /// Whether the receiver should be notified now, which is so once in a wait.
    pub(super) fn is_notice_due(&mut self, now: Time, has_room: impl FnOnce() -> bool) -> bool {
        if !self.is_source_empty || !has_room() {
            self.since = None;
            return false;
        }
        self.since.get_or_insert(now);
        let is_due = self.deadline().is_some_and(|at| at <= now);
        self.is_notified |= is_due;
        is_due
    }

    /// The time at which the receiver should be notified.
    pub(super) fn deadline(&self) -> Option<Time> {
        (!self.is_notified).then_some(self.since? + IDLE_AFTER)
    }

    /// Whether the packet that is sent now could have been sent before; that holds for one packet.
    pub(super) const fn take_limited(&mut self) -> bool {
        core::mem::replace(&mut self.is_limited, false)
    }
}
