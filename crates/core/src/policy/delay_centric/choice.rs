//! The path on which data is, and its guard time.

use crate::frame::PathId;
use crate::policy::GuardTime;
use crate::time::Time;

/// The choice of all data, or of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) current: PathId,
    pub(super) guard_time: Option<GuardTime>,
}

/// A change of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Leave a path that has failed.
    Leave(PathId),
    /// Switch to a better path.
    Switch(PathId),
    /// Wait for the guard time before a switch to a better path.
    Wait(PathId),
}

impl Choice {
    /// A choice without guard time.
    pub(super) const fn on(current: PathId) -> Self {
        Self {
            current,
            guard_time: None,
        }
    }

    /// Whether a guard time is due; ends it.
    pub(super) fn end_guard_time(&mut self, now: Time) -> bool {
        let is_due = self.guard_time.is_some_and(|guard| guard.end <= now);
        if is_due {
            self.guard_time = None;
        }
        is_due
    }

    /// Whether `path` has heartbeats at the short interval.
    pub(super) fn has_fast_heartbeats(self, path: PathId) -> bool {
        let guard = self.guard_time;
        guard.is_some_and(|guard| guard.to.map_or(path != self.current, |to| to == path))
    }
}
