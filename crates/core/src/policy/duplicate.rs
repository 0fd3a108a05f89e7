//! Copies on every path: of ACKs and control segments (PPD-TCP1), or of all packets (PPD-TCP2).

use super::{Action, CopiedPackets, PathPolicy, Paths, Plan, PolicyContext, PolicyProperties};
use crate::frame::PathId;
use crate::packet::PacketMeta;
use crate::time::Time;

/// PPD-TCP1: pure ACKs and control segments on all paths, all other packets on one (PPD paper,
/// 3.1).
#[derive(Clone, Debug)]
pub struct DuplicateAcks {
    data_path: PathId,
}

impl DuplicateAcks {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "duplicate-acks",
        copies: CopiedPackets::Control,
        probes: false,
        switches: false,
        respects_costs: false,
        respects_classes: false,
    };

    /// A policy that sends data on path `path`, or on the lowest usable path while `path` is
    /// unusable.
    #[must_use]
    pub fn new(path: u8, context: &PolicyContext) -> Self {
        Self {
            data_path: context.start_on(path),
        }
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
        let copies = if Self::PROPERTIES.copies.includes(meta.kind) {
            paths.copies
        } else {
            paths.usable.preferred_or_lowest(self.data_path)
        };
        Plan::copies(copies)
    }

    fn active(&self) -> Option<PathId> {
        Some(self.data_path)
    }
}

/// PPD-TCP2: every packet on all paths, the upper bound of the gain of path diversity (PPD paper,
/// 3.2).
#[derive(Clone, Debug)]
pub struct DuplicateAll;

impl DuplicateAll {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "duplicate-all",
        copies: CopiedPackets::All,
        probes: false,
        switches: false,
        respects_costs: false,
        respects_classes: false,
    };
}

impl PathPolicy for DuplicateAll {
    fn route(&mut self, _: Time, _: &PacketMeta, paths: &Paths, _: &mut dyn FnMut(Action)) -> Plan {
        Plan::copies(paths.copies)
    }
}
