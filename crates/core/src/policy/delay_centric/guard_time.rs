//! The paths that are measured often in a guard time.

use super::GuardTime;
use crate::frame::PathId;

impl GuardTime {
    /// Whether `path` has heartbeats at the short interval.
    pub(super) fn has_fast_heartbeats(self, path: PathId, current: PathId) -> bool {
        self.to.map_or(path != current, |to| to == path)
    }
}
