//! Lazy timers: a deadline that moves to a later time leaves its calendar entry where it is.

use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use crate::calendar::Calendar;
use crate::event::Event;

/// The one calendar entry of a machine that counts.
///
/// A retransmission timer moves with every ACK and expires almost never. Its entry stays where it
/// was; when it comes up too early, the machine is not woken and a new entry is made for the
/// present deadline. An entry that was overtaken by an earlier one is passed over when it comes up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    armed: Time,
}

impl Default for Timer {
    fn default() -> Self {
        Self { armed: Time::MAX }
    }
}

impl Timer {
    /// Makes sure that an entry comes up at the deadline or before.
    #[inline]
    pub(crate) fn arm(
        &mut self,
        deadline: Option<Deadline>,
        calendar: &mut Calendar<Event>,
        event: Event,
    ) {
        if let Some(deadline) = deadline
            && deadline.at < self.armed
        {
            self.armed = deadline.at;
            calendar.schedule(deadline.at, event);
        }
    }

    /// True if the entry that came up at `at` is the one that counts, which it ceases to be.
    #[inline]
    pub(crate) fn expires(&mut self, at: Time) -> bool {
        let counts = self.armed == at;
        if counts {
            self.armed = Time::MAX;
        }
        counts
    }
}
