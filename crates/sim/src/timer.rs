//! Lazy timers: a deadline that moves to a later time leaves its calendar entry where it is.

use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use crate::calendar::Calendar;
use crate::event::Event;

/// The one valid calendar entry of a machine.
///
/// A retransmission timer moves with every ACK and rarely expires. Its entry stays where it
/// was; if that is too early, the machine is not woken and a new entry is made for the
/// current deadline. An entry superseded by an earlier one is skipped.
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
    /// Ensures that an entry exists at or before the deadline.
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

    /// Whether the entry at `at` is the valid one; invalidates it.
    #[inline]
    pub(crate) fn expires(&mut self, at: Time) -> bool {
        let counts = self.armed == at;
        if counts {
            self.armed = Time::MAX;
        }
        counts
    }
}
