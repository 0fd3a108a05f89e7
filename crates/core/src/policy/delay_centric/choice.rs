//! The path on which data is, and its guard time.

use crate::frame::PathId;
use crate::policy::{GuardTime, PathSet};
use crate::time::Time;

/// The choice of all data, or of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Decision {
    /// Whether a choice on the path of this decision takes it: in a guard time only if the path has
    /// failed.
    pub(super) const fn applies_to(self, choice: Choice) -> bool {
        choice.guard_time.is_none() || matches!(self, Self::Leave(_))
    }
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

    /// The paths with heartbeats at the short interval.
    pub(super) const fn fast_paths(self) -> PathSet {
        match self.guard_time {
            None => PathSet::EMPTY,
            Some(GuardTime { to: Some(to), .. }) => PathSet::only(to),
            Some(GuardTime { to: None, .. }) => {
                PathSet::first(PathSet::CAPACITY).without(PathSet::only(self.current))
            }
        }
    }
}
