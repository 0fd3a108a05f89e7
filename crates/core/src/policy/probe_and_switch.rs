//! PPD-TCP3: duplicate ACKs, data on the active path, probes on the others (PPD paper, 3.3 and
//! 5.2).
//!
//! The receiver compares the arrival of each data packet with the arrivals of its probes, allows
//! for delta T (the extra time that a data packet takes compared with a probe), and requests a
//! switch if a probe wins. Packet pairs measure delta T: on all paths when data starts to flow, so
//! that the first active path has an estimate before the policy leaves it, and on the inactive
//! paths at an interval while data flows.
//!
//! The policy leaves an unusable active path without a request when the next packet is sent. A live
//! active path that is too narrow for a packet stays active: only that packet takes the first path
//! that is wide enough, and without probes, because probes compare with the active path, and the
//! best of the other paths may be worse.
//!
//! A switch opens an epoch, which every frame carries. A request whose epoch is not newer has no
//! effect, so requests may be repeated and reordered.

use super::{
    Action, CopiedPackets, Feedback, PathPolicy, PathSet, Paths, Plan, PolicyContext,
    PolicyProperties,
};
use crate::frame::{Epoch, PathId};
use crate::machine::Deadline;
use crate::packet::PacketMeta;
use crate::time::{Duration, Time};

/// PPD-TCP3 on the sending side.
#[derive(Clone, Debug)]
pub struct ProbeAndSwitch {
    active: PathId,
    epoch: Epoch,
    pair_interval: Duration,
    /// The time of the next pairs; `None` while no data flows.
    next_pairs: Option<Time>,
    /// Whether data has been sent since the last pairs.
    busy: bool,
}

impl ProbeAndSwitch {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "probe-and-switch",
        copies: CopiedPackets::Control,
        probes: true,
        switches: true,
        respects_costs: false,
        respects_classes: false,
    };

    /// A policy whose first active path is `path`; pairs repeat while data flows, at least 1 ms
    /// apart.
    #[must_use]
    pub fn new(path: u8, context: &PolicyContext) -> Self {
        Self {
            active: context.start_on(path),
            epoch: context.epoch,
            pair_interval: context.pair_interval.max(Duration::from_millis(1)),
            next_pairs: None,
            busy: false,
        }
    }

    fn leave_unusable(&mut self, paths: Paths, act: &mut dyn FnMut(Action)) {
        let Some(to) = paths
            .alive
            .preferred_or_lowest(self.active)
            .into_iter()
            .next()
        else {
            return;
        };
        let from = core::mem::replace(&mut self.active, to);
        if from != to {
            self.epoch = self.epoch.next();
            act(Action::Switched { from, to });
        }
    }

    fn start_session(&mut self, now: Time, paths: Paths, act: &mut dyn FnMut(Action)) {
        if self.next_pairs.is_none() {
            paths.alive.into_iter().map(Action::SendPair).for_each(act);
            self.next_pairs = Some(now + self.pair_interval);
        }
    }
}

impl PathPolicy for ProbeAndSwitch {
    fn route(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan {
        if Self::PROPERTIES.copies.includes(meta.kind) {
            return Plan::copies(paths.copies);
        }
        self.leave_unusable(*paths, act);
        self.start_session(now, *paths, act);
        self.busy = true;
        let probes = if paths.usable.contains(self.active) {
            paths.usable.without(PathSet::only(self.active))
        } else {
            PathSet::EMPTY
        };
        Plan {
            probes,
            ..Plan::copies(paths.usable.preferred_or_lowest(self.active))
        }
    }

    fn handle_feedback(&mut self, _: Time, feedback: Feedback, act: &mut dyn FnMut(Action)) {
        let Feedback::Switch { to, epoch } = feedback else {
            return;
        };
        if epoch <= self.epoch {
            return;
        }
        self.epoch = epoch;
        let from = core::mem::replace(&mut self.active, to);
        if from != to {
            act(Action::Switched { from, to });
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.next_pairs.map(|at| Deadline {
            at,
            why: "packet pair",
        })
    }

    fn handle_timeout(&mut self, now: Time, paths: &Paths, act: &mut dyn FnMut(Action)) {
        if self.next_pairs.is_none_or(|at| at > now) {
            return;
        }
        self.next_pairs = self.busy.then(|| now + self.pair_interval);
        if core::mem::take(&mut self.busy) {
            let inactive = paths.alive.without(PathSet::only(self.active));
            inactive.into_iter().map(Action::SendPair).for_each(act);
        }
    }

    fn active(&self) -> Option<PathId> {
        Some(self.active)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}
