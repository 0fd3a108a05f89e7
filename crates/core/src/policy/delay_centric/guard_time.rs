//! Guard times under way.

use crate::frame::PathId;
use crate::time::Time;

/// A guard time.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardTime {
    /// To where it leads; nowhere yet, if it follows a switch.
    pub(super) to: Option<PathId>,
    pub(super) end: Time,
}

impl GuardTime {
    /// Whether `path` has fast heartbeats.
    pub(super) fn watches(self, path: PathId, current: PathId) -> bool {
        self.to.map_or(path != current, |to| to == path)
    }
}
