//! The choices of flows.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::IDLE;
use super::choice::Choice;
use crate::frame::PathId;
use crate::packet::FlowId;
use crate::policy::{FlowPath, PathSet};
use crate::time::{Duration, Time};

/// The maximum number of flows with a choice of their own; others follow the choice of new flows.
pub(super) const MAX_FLOWS: usize = 4096;

/// The flows that have sent data lately, each with a choice of its own.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    choices: BTreeMap<FlowId, FlowChoice>,
    summary: Summary,
    /// The time before which idle flows are not looked for again.
    next_search: Time,
}

/// Properties of all flows together, which are needed more often than they change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    /// The paths that flows are on; a path that its flows have left may remain until the next
    /// update.
    pub(super) used: PathSet,
    /// The paths with heartbeats at the short interval.
    pub(super) fast: PathSet,
    /// The end of the guard time that ends first; [`Time::MAX`] without one.
    pub(super) next_end: Time,
}

impl Summary {
    const EMPTY: Self = Self {
        used: PathSet::EMPTY,
        fast: PathSet::EMPTY,
        next_end: Time::MAX,
    };

    fn with(self, choice: Choice) -> Self {
        let end = choice.guard_time.map_or(Time::MAX, |guard| guard.end);
        Self {
            used: self.used.with(choice.current),
            fast: self.fast.or(choice.fast_paths()),
            next_end: self.next_end.min(end),
        }
    }
}

/// The interval between two searches for idle flows.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct FlowChoice {
    choice: Choice,
    last_packet: Time,
}

impl Default for Flows {
    fn default() -> Self {
        Self {
            choices: BTreeMap::new(),
            summary: Summary::EMPTY,
            next_search: Time::ZERO,
        }
    }
}

impl FlowChoice {
    /// Whether the flow has sent nothing for so long that it counts as ended.
    fn is_idle(&self, now: Time) -> bool {
        now >= self.last_packet + IDLE
    }
}

impl Flows {
    /// The path of a flow that sends a packet; a new one, or one that was idle, begins on `first`.
    /// A new one has a choice of its own if there is room.
    pub(super) fn path(&mut self, now: Time, flow: FlowId, first: PathId) -> PathId {
        if let Some(known) = self.choices.get_mut(&flow) {
            let before = known.choice;
            if known.is_idle(now) {
                known.choice = Choice::on(first);
            }
            known.last_packet = now;
            let after = known.choice;
            if before != after {
                self.update_summary_of(before, after);
            }
            return after.current;
        }
        if self.choices.len() >= MAX_FLOWS {
            self.forget_idle(now);
        }
        if self.choices.len() < MAX_FLOWS {
            let choice = Choice::on(first);
            let known = FlowChoice {
                choice,
                last_packet: now,
            };
            self.choices.insert(flow, known);
            self.summary = self.summary.with(choice);
        }
        first
    }

    /// Forgets the flows that have sent nothing for a while; looks for them once a second.
    pub(super) fn forget_idle(&mut self, now: Time) {
        if now < self.next_search {
            return;
        }
        self.next_search = now + SEARCH_INTERVAL;
        self.choices.retain(|_, flow| !flow.is_idle(now));
        self.update_summary();
    }

    /// The flows with their paths.
    pub(super) fn paths(&self) -> Vec<FlowPath> {
        let path = |(flow, of): (&FlowId, &FlowChoice)| FlowPath {
            flow: *flow,
            path: of.choice.current,
            last_packet: of.last_packet,
        };
        self.choices.iter().map(path).collect()
    }

    /// Adds flows that were on these paths under another policy.
    pub(super) fn resume(&mut self, flows: Vec<FlowPath>) {
        let choices = flows.into_iter().take(MAX_FLOWS).map(|known| {
            let choice = FlowChoice {
                choice: Choice::on(known.path),
                last_packet: known.last_packet,
            };
            (known.flow, choice)
        });
        self.choices.extend(choices);
        self.update_summary();
    }

    /// Forgets all flows.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The choices.
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice> {
        self.choices.values().map(|flow| flow.choice)
    }

    /// The choices of flows that are not idle, to be changed; [`Self::update_summary`] must follow.
    pub(super) fn choices_mut(&mut self, now: Time) -> impl Iterator<Item = &mut Choice> {
        let flows = self.choices.values_mut();
        let active = flows.filter(move |flow| !flow.is_idle(now));
        active.map(|flow| &mut flow.choice)
    }

    /// The choice of a flow, to be changed; [`Self::update_summary`] must follow.
    pub(super) fn choice_mut(&mut self, flow: FlowId) -> Option<&mut Choice> {
        self.choices.get_mut(&flow).map(|flow| &mut flow.choice)
    }

    /// Ends the guard times that are due, and returns their flows with the choices before.
    pub(super) fn end_guard_times(&mut self, now: Time) -> Vec<(FlowId, Choice)> {
        if self.summary.next_end > now {
            return Vec::new();
        }
        let ended = self.choices.iter_mut().filter_map(|(flow, of)| {
            let before = of.choice;
            of.choice.end_guard_time(now).then_some((*flow, before))
        });
        ended.collect()
    }

    /// The properties of all flows together.
    pub(super) const fn summary(&self) -> Summary {
        self.summary
    }

    /// Updates [`Self::summary`] after one choice has changed; without a pass over all, if no guard
    /// time has ended: a path that fails may have thousands of flows, and they leave it one by one.
    pub(super) fn update_summary_of(&mut self, before: Choice, after: Choice) {
        if before.guard_time.is_some() {
            self.update_summary();
        } else {
            self.summary = self.summary.with(after);
        }
    }

    /// Updates [`Self::summary`] after choices have changed.
    pub(super) fn update_summary(&mut self) {
        self.summary = self.choices().fold(Summary::EMPTY, Summary::with);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_was_idle_begins_as_a_new_one() {
        let [first, second] = [0, 1].map(PathId);
        let at = |secs| Time::ZERO + Duration::from_secs(secs);
        let mut flows = Flows::default();
        assert_eq!(flows.path(at(0), FlowId(1), first), first);
        assert_eq!(flows.path(at(9), FlowId(1), second), first);
        assert_eq!(flows.path(at(19), FlowId(1), second), second);
        assert_eq!(flows.path(at(20), FlowId(1), first), second);
    }
}
