//! The choices of flows that choose by themselves.

use smallvec::SmallVec;

use super::choice::{Choice, Decision};
use super::flows::Flows;
use super::{Action, DelayCentric, GuardKind};
use crate::frame::PathId;
use crate::packet::FlowId;
use crate::time::Time;

impl DelayCentric {
    /// The path of the data of a flow.
    #[inline]
    pub(super) fn flow_path(
        &mut self,
        now: Time,
        flow: FlowId,
        act: &mut dyn FnMut(Action),
    ) -> PathId {
        let first = self.choice.current;
        let Some(flows) = &mut self.flows else {
            return first;
        };
        let path = flows.path(now, flow, first);
        if self.has_failed(path)
            && let Some(to) = self.fallback_path(path, self.alive)
        {
            return self.leave(now, flow, to, act);
        }
        path
    }

    /// Moves a flow from a path that has failed; returns its path.
    #[cold]
    fn leave(
        &mut self,
        now: Time,
        flow: FlowId,
        to: PathId,
        act: &mut dyn FnMut(Action),
    ) -> PathId {
        let Some(mut flows) = self.flows.take() else {
            return to;
        };
        if let Some(choice) = flows.choice_mut(flow) {
            let before = *choice;
            self.apply(now, choice, Decision::Leave(to), act);
            let after = *choice;
            flows.update_summary_of(before, after);
        }
        self.flows = Some(flows);
        to
    }

    /// Changes the choices of flows that have to change.
    pub(super) fn evaluate_flows(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        let Some(mut flows) = self.flows.take() else {
            return;
        };
        flows.forget_idle(now);
        let decisions = self.by_path(&flows, |path| self.decide_on(path));
        if decisions.iter().any(Option::is_some) {
            for choice in flows.choices_mut(now) {
                let decision = decisions.get(choice.current.index()).copied().flatten();
                if let Some(decision) = decision.filter(|decision| decision.applies_to(*choice)) {
                    self.apply(now, choice, decision, act);
                }
            }
            flows.update_summary();
        }
        self.flows = Some(flows);
    }

    /// The result for the flows of each path, which is the same for all of them.
    pub(super) fn by_path<T>(
        &self,
        flows: &Flows,
        of: impl Fn(PathId) -> Option<T>,
    ) -> SmallVec<[Option<T>; 8]> {
        let used = flows.summary().used;
        let paths = (0..).map(PathId).take(self.paths.len());
        paths
            .map(|path| used.contains(path).then(|| of(path)).flatten())
            .collect()
    }

    /// Changes the choice of a flow.
    pub(super) fn apply(
        &mut self,
        now: Time,
        choice: &mut Choice,
        decision: Decision,
        act: &mut dyn FnMut(Action),
    ) {
        let to = match decision {
            Decision::Wait(to) => {
                let guard = self.start_guard_time(now, Some(to), choice.current);
                choice.guard_time = Some(guard);
                return;
            }
            Decision::Leave(to) | Decision::Switch(to) => to,
        };
        let from = core::mem::replace(&mut choice.current, to);
        choice.guard_time = (self.config.guard().is_of(GuardKind::Hold))
            .then(|| self.start_guard_time(now, None, to));
        act(Action::FlowSwitched { from, to });
    }
}
