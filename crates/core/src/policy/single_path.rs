//! All packets on one path, or on another while it is unusable.

use super::{
    Action, CopiedPackets, PathPolicy, PathSet, Paths, Plan, PolicyContext, PolicyProperties,
};
use crate::frame::PathId;
use crate::packet::PacketMeta;
use crate::time::Time;

/// All packets on one path: the baseline of the other policies.
#[derive(Clone, Debug)]
pub struct SinglePath {
    path: PathId,
}

impl SinglePath {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "single-path",
        copies: CopiedPackets::None,
        probes: false,
        switches: false,
        available_in_nodes: true,
    };

    /// A policy that sends all packets on path `path`, or on the lowest usable path while `path` is
    /// unusable.
    #[must_use]
    pub fn new(path: u8, context: &PolicyContext) -> Self {
        Self {
            path: context.start_on(path),
        }
    }
}

impl PathPolicy for SinglePath {
    fn route(&mut self, _: Time, _: &PacketMeta, paths: &Paths, _: &mut dyn FnMut(Action)) -> Plan {
        Plan {
            copies: paths.usable.preferred_or_lowest(self.path),
            probes: PathSet::EMPTY,
        }
    }

    fn active(&self) -> Option<PathId> {
        Some(self.path)
    }
}
