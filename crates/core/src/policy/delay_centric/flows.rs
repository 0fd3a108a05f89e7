//! The choices of flows.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::IDLE;
use super::choice::{Choice, Decision};
use crate::frame::PathId;
use crate::packet::FlowId;
use crate::policy::FlowPath;
use crate::time::{Duration, Time};

/// The maximum number of flows with a choice of their own; others follow the choice of new flows.
pub(super) const MAX_FLOWS: usize = 4096;

/// The flows that have sent data lately, each with a choice of its own.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    choices: BTreeMap<FlowId, FlowChoice>,
    /// The end of the guard time that ends first; [`Time::MAX`] without one.
    next_end: Time,
    /// The time before which the idle flows are not looked for again to make room.
    next_search: Time,
}

/// The interval between two searches for idle flows to make room.
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
            next_end: Time::MAX,
            next_search: Time::ZERO,
        }
    }
}

impl Flows {
    /// The path of a flow that sends a packet; a new one begins on `first`, and has a choice of its
    /// own if there is room.
    pub(super) fn path(&mut self, now: Time, flow: FlowId, first: PathId) -> PathId {
        if let Some(known) = self.choices.get_mut(&flow) {
            known.last_packet = now;
            return known.choice.current;
        }
        if self.choices.len() >= MAX_FLOWS && self.next_search <= now {
            self.next_search = now + SEARCH_INTERVAL;
            self.forget_idle(now);
        }
        if self.choices.len() < MAX_FLOWS {
            let choice = Choice::on(first);
            let last_packet = now;
            self.choices.insert(
                flow,
                FlowChoice {
                    choice,
                    last_packet,
                },
            );
        }
        first
    }

    /// Forgets the flows that have sent nothing for a while.
    pub(super) fn forget_idle(&mut self, now: Time) {
        self.choices.retain(|_, flow| now < flow.last_packet + IDLE);
        self.update_next_end();
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
    }

    /// Forgets all flows.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The flows with their choices.
    pub(super) fn all(&self) -> impl Iterator<Item = (FlowId, Choice)> {
        self.choices.iter().map(|(flow, of)| (*flow, of.choice))
    }

    /// The choices.
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice> {
        self.choices.values().map(|flow| flow.choice)
    }

    /// The decision of each flow for which `decide` returns one.
    pub(super) fn decisions(
        &self,
        decide: impl Fn(Choice) -> Option<Decision>,
    ) -> Vec<(FlowId, Decision)> {
        let each = self.choices.iter();
        each.filter_map(|(flow, of)| Some((*flow, decide(of.choice)?)))
            .collect()
    }

    /// The choice of a flow.
    pub(super) fn choice_mut(&mut self, flow: FlowId) -> Option<&mut Choice> {
        self.choices.get_mut(&flow).map(|flow| &mut flow.choice)
    }

    /// Ends the guard times that are due, and returns their flows with the choices before.
    pub(super) fn end_guard_times(&mut self, now: Time) -> Vec<(FlowId, Choice)> {
        if self.next_end > now {
            return Vec::new();
        }
        let ended = self.choices.iter_mut().filter_map(|(flow, of)| {
            let before = of.choice;
            of.choice.end_guard_time(now).then_some((*flow, before))
        });
        ended.collect()
    }

    /// The end of the guard time that ends first; [`Time::MAX`] without one.
    pub(super) const fn next_end(&self) -> Time {
        self.next_end
    }

    /// Updates [`Self::next_end`] after choices have changed.
    pub(super) fn update_next_end(&mut self) {
        let guards = self.choices().filter_map(|choice| choice.guard_time);
        self.next_end = guards.map(|guard| guard.end).min().unwrap_or(Time::MAX);
    }
}
