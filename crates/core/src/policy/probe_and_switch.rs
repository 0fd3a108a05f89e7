//! PPD-TCP3: duplicate ACKs, data on the active path, probes on the others (PPD paper, 3.3 and 5.2).
//!
//! The receiver compares the arrival of each data packet with that of its probes, waiting delta T for
//! what a data packet would take longer than a probe, and asks for a switch where a probe wins. Delta T
//! is measured with packet pairs: on all paths when data begins to flow, so that a path has an estimate
//! before it is first left, and on the inactive ones at an interval for as long as it flows.
//!
//! An active path that cannot be used is left without a request, as soon as there is a packet to send. One that lives and
//! is too narrow for this packet stays active: the packet alone takes the first path that carries it, and without probes,
//! since the comparison is with the active path, and the winner among the others may be worse than that.
//!
//! A switch opens an epoch, which every frame carries; a request for an epoch that is not newer changes
//! nothing, so that a request may be repeated and may overtake another.

use super::{Action, Feedback, PathPolicy, PathSet, Paths, Plan, is_small_and_vital};
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
    /// When pairs are due; `None` while no data flows.
    next_pairs: Option<Time>,
    /// Whether data came since the last pairs.
    busy: bool,
}

impl ProbeAndSwitch {
    /// Data travels on `first` to begin with; pairs repeat at `pair_interval` while data flows.
    #[must_use]
    pub fn new(first: PathId, pair_interval: Duration) -> Self {
        let pair_interval = pair_interval.max(Duration::from_millis(1));
        Self {
            active: first,
            epoch: Epoch::default(),
            pair_interval,
            next_pairs: None,
            busy: false,
        }
    }

    /// The same, where other switches went before.
    pub(super) fn in_epoch(self, epoch: Epoch) -> Self {
        Self { epoch, ..self }
    }

    fn leave_unusable(&mut self, paths: Paths, act: &mut dyn FnMut(Action)) {
        let Some(to) = paths.alive.one(self.active).into_iter().next() else {
            return;
        };
        let from = core::mem::replace(&mut self.active, to);
        if from != to {
            self.epoch = self.epoch.next();
            act(Action::Switched { from, to });
        }
    }

    fn begin_session(&mut self, now: Time, paths: Paths, act: &mut dyn FnMut(Action)) {
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
        if is_small_and_vital(meta) {
            return Plan {
                copies: paths.copies,
                probes: PathSet::EMPTY,
            };
        }
        self.leave_unusable(*paths, act);
        self.begin_session(now, *paths, act);
        self.busy = true;
        let probes = if paths.usable.contains(self.active) {
            paths.usable.without(PathSet::only(self.active))
        } else {
            PathSet::EMPTY
        };
        Plan {
            copies: paths.usable.one(self.active),
            probes,
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
