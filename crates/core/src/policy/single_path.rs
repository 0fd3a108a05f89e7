//! Everything on one path, or on another while that one cannot be used.

use super::{Action, PathPolicy, PathSet, Paths, Plan};
use crate::frame::PathId;
use crate::packet::PacketMeta;
use crate::time::Time;

/// Everything on one path: what the other policies are compared with.
#[derive(Clone, Debug)]
pub struct SinglePath {
    path: PathId,
}

impl SinglePath {
    /// Everything on `path`.
    #[must_use]
    pub fn new(path: PathId) -> Self {
        Self { path }
    }
}

impl PathPolicy for SinglePath {
    fn route(&mut self, _: Time, _: &PacketMeta, paths: &Paths, _: &mut dyn FnMut(Action)) -> Plan {
        Plan {
            copies: paths.usable.one(self.path),
            probes: PathSet::EMPTY,
        }
    }

    fn active(&self) -> Option<PathId> {
        Some(self.path)
    }
}
