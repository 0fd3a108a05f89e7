//! Copies on every path: of ACKs and control segments (PPD-TCP1), or of everything (PPD-TCP2).

use super::{Action, PathPolicy, PathSet, Paths, Plan, is_small_and_vital};
use crate::frame::PathId;
use crate::packet::PacketMeta;
use crate::time::Time;

/// PPD-TCP1: pure ACKs and control segments on all paths, all else on one (PPD paper, 3.1).
#[derive(Clone, Debug)]
pub struct DuplicateAcks {
    data_path: PathId,
}

impl DuplicateAcks {
    /// Data travels on `data_path`, or on another while that one cannot be used.
    #[must_use]
    pub fn new(data_path: PathId) -> Self {
        Self { data_path }
    }
}

impl PathPolicy for DuplicateAcks {
    fn route(
        &mut self,
        _: Time,
        meta: &PacketMeta,
        paths: &Paths,
        _: &mut dyn FnMut(Action),
    ) -> Plan {
        let copies = if is_small_and_vital(meta) {
            paths.copies
        } else {
            paths.usable.one(self.data_path)
        };
        Plan {
            copies,
            probes: PathSet::EMPTY,
        }
    }

    fn active(&self) -> Option<PathId> {
        Some(self.data_path)
    }
}

/// PPD-TCP2: everything on all paths, the upper bound of what path diversity gains (PPD paper, 3.2).
#[derive(Clone, Debug)]
pub struct DuplicateAll;

impl PathPolicy for DuplicateAll {
    fn route(&mut self, _: Time, _: &PacketMeta, paths: &Paths, _: &mut dyn FnMut(Action)) -> Plan {
        Plan {
            copies: paths.copies,
            probes: PathSet::EMPTY,
        }
    }
}
