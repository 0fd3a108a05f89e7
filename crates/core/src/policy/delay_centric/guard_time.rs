//! A running guard time.

use crate::frame::PathId;
use crate::time::Time;

/// A running guard time.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardTime {
    /// The destination of the pending switch; `None` if the guard time follows a switch.
    pub(super) to: Option<PathId>,
    /// The end of the guard time.
    pub(super) end: Time,
}

impl GuardTime {
    /// Whether `path` has heartbeats at the short interval.
    pub(super) fn has_fast_heartbeats(self, path: PathId, current: PathId) -> bool {
        self.to.map_or(path != current, |to| to == path)
    }
}
