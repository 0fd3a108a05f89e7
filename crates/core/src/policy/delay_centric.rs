//! Delay-centric path selection: all data on the path with the lowest round-trip time
//! (delay-centric paper).
//!
//! # Model
//!
//! One path carries the data; each ACK updates its smoothed round-trip time. *Heartbeats* of its
//! own, which the peer answers, measure the others, at a random interval drawn after each. Every
//! answer triggers a comparison by the selection rule: smoothed times with a hysteresis (II.B), or
//! averages and trends (II.C). If another path is better, data moves to it immediately, or after a
//! *guard time*, in which that path has heartbeats at a short interval. At the end of the guard
//! time the rule is evaluated again, and data moves to the path that it then prefers, or stays.
//!
//! A guard time of kind [`GuardKind::Hold`] follows the switch instead of preceding it: data moves
//! immediately, and the rule is not evaluated before the guard time ends. Until then all paths
//! without data have heartbeats at the short interval.
//!
//! The choice is that of all data, or each flow has one of its own, as each source does in the
//! paper ([`Scope`]): all share the measurements, and each draws its own guard times. A new flow
//! begins on the path that is chosen for all data.
//!
//! Decisions that the paper leaves open:
//!
//! * After a guard time the whole rule applies, with hysteresis, threshold and trends.
//! * The first heartbeat is sent one interval after the first packet. At a switch the old and the
//!   new path exchange their heartbeat schedules, so that two paths share one schedule.
//! * An interval begins when a heartbeat is sent, or when it is answered ([`Heartbeats::wait`]):
//!   then a path has at most one heartbeat in flight for which the timeout has not passed, and
//!   keeps its schedule at a switch.
//! * *Stale estimates attract no data.* A path is *silent* if nothing has been answered for the
//!   timeout, counted from the first packet or heartbeat after its last answer. Its estimate is
//!   then discarded, so no estimate is older than an interval plus the timeout. Data leaves a
//!   silent path immediately, without a guard time, for the best path that is not silent, or, if
//!   none has been measured, for one that may answer. Heartbeats continue, so the first answer
//!   restores it.
//! * Data leaves a path that is not live immediately, too. Its estimates are discarded when it
//!   stops and when it returns; the first answer after the return makes it a candidate again.
//! * The data path has heartbeats, too, while it carries no data. Where data is not acknowledged,
//!   as in the overlay, it always has them, and only they start the timeout. There the answers to
//!   the heartbeats of [`crate::liveness`], which a path with data has every 25 ms, take the place
//!   of the ACKs of data: they measure the path that carries data, and no other.
//! * A packet that is too long for the current path takes the best path that is wide enough; data
//!   does not follow it. So does a packet for which the current path is not live, while no other
//!   has answered the policy.
//! * Where data is not acknowledged, heartbeats end after 10 s without data, and the estimates
//!   are discarded. With the next packet, measurement begins again.

mod by_flow;
mod choice;
mod config;
mod flows;
mod heartbeats;
mod path;
mod random;
mod rule;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

use smallvec::{SmallVec, smallvec};

use choice::{Choice, Decision};
pub use config::{
    DelayCentricConfig, DelayCentricError, GrowthConfig, Guard, GuardKind, Heartbeats,
    MIN_INTERVAL, PredictiveConfig, ReactiveConfig, Scope, TrendRule,
};
use flows::Flows;
use path::{Estimates, MonitoredPath};

use super::{
    Action, CopiedPackets, Feedback, FlowPath, GuardTime, MeasuredRtt, PathPolicy, PathSet, Paths,
    Plan, PolicyContext, PolicyProperties,
};
use crate::frame::{Epoch, PathId};
use crate::machine::Deadline;
use crate::packet::PacketMeta;
use crate::rng::Stream;
use crate::time::{Duration, Time};

/// The time without data after which a path that only heartbeats measure has none.
const IDLE: Duration = Duration::from_secs(10);

/// Delay-centric path selection on the sending side.
#[derive(Clone, Debug)]
pub struct DelayCentric {
    config: DelayCentricConfig,
    /// Two paths stand here and not behind a pointer: a simulation may have ten thousand senders.
    paths: SmallVec<[MonitoredPath; 2]>,
    /// The live paths.
    alive: PathSet,
    /// The choice of all data, or of new flows.
    choice: Choice,
    /// The flows, if each has a choice of its own.
    flows: Option<Box<Flows>>,
    epoch: Epoch,
    last_packet: Time,
    /// The time of the last draw of moves.
    last_draw: Time,
    /// Whether acknowledgments measure the current path while it carries data.
    acknowledges: bool,
    stream: Stream,
}

impl DelayCentric {
    /// The properties of the reactive policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "delay-centric",
        copies: CopiedPackets::None,
        probes: false,
        switches: true,
        respects_costs: false,
        respects_classes: false,
    };

    /// The properties of the predictive policy.
    pub(super) const PREDICTIVE_PROPERTIES: PolicyProperties = PolicyProperties {
        name: "predictive-delay-centric",
        ..Self::PROPERTIES
    };

    /// The properties of the policy that regards the growth of delays.
    pub(super) const GROWTH_PROPERTIES: PolicyProperties = PolicyProperties {
        name: "delay-growth",
        ..Self::PROPERTIES
    };

    /// A policy whose data starts on the first path unless the context names another.
    #[must_use]
    pub fn new(config: DelayCentricConfig, context: PolicyContext) -> Self {
        let paths = context.paths.clamp(1, PathSet::CAPACITY);
        Self {
            config,
            paths: smallvec![MonitoredPath::new(context.epoch); usize::from(paths)],
            alive: PathSet::first(paths),
            choice: Choice::on(PathId(context.start_on(0).0.min(paths - 1))),
            flows: (config.scope() == Scope::Flow).then(Box::default),
            epoch: context.epoch,
            last_packet: Time::ZERO,
            last_draw: Time::ZERO,
            acknowledges: context.acknowledges,
            stream: context.stream,
        }
    }

    /// The path that carries data now, or new flows.
    #[must_use]
    pub fn current(&self) -> PathId {
        self.choice.current
    }

    /// The delay by which the rule compares a path; `None` if it is not measured.
    #[must_use]
    pub fn delay(&self, path: PathId) -> Option<Duration> {
        let estimates = self.paths.get(path.index())?.estimates()?;
        Some(self.config.delay(estimates))
    }

    /// Whether a guard time is running.
    #[must_use]
    pub fn is_in_guard_time(&self) -> bool {
        self.choices().any(|choice| choice.guard_time.is_some())
    }

    /// The paths that the choices are on, and possibly others that flows have left lately.
    fn used_paths(&self) -> PathSet {
        let flows = self.flows.as_ref();
        let of_flows = flows.map_or(PathSet::EMPTY, |flows| flows.summary().used);
        of_flows.with(self.choice.current)
    }

    /// The paths with heartbeats at the short interval.
    fn fast_paths(&self) -> PathSet {
        let flows = self.flows.as_ref();
        let of_flows = flows.map_or(PathSet::EMPTY, |flows| flows.summary().fast);
        of_flows.or(self.choice.fast_paths())
    }

    /// The choice of all data, and those of flows.
    fn choices(&self) -> impl Iterator<Item = Choice> {
        let flows = self.flows.iter().flat_map(|flows| flows.choices());
        core::iter::once(self.choice).chain(flows)
    }

    fn timeout(&self) -> Duration {
        self.config.heartbeats().timeout.max(MIN_INTERVAL)
    }

    fn update_alive(&mut self, paths: Paths) {
        let known = u8::try_from(self.paths.len()).unwrap_or(PathSet::CAPACITY);
        let alive = paths.alive.and(PathSet::first(known));
        let before = core::mem::replace(&mut self.alive, alive);
        for changed in [before.without(alive), alive.without(before)] {
            for path in changed {
                self.paths[path.index()].discard_measurements();
            }
        }
    }

    /// The live paths other than `current` that are not silent.
    fn candidates(&self, current: PathId) -> impl Iterator<Item = (PathId, &MonitoredPath)> {
        let others = self.alive.without(PathSet::only(current));
        let others = others
            .into_iter()
            .map(|path| (path, &self.paths[path.index()]));
        others.filter(|(_, path)| !path.is_silent())
    }

    fn measured_candidates(&self, current: PathId) -> impl Iterator<Item = (PathId, &Estimates)> {
        self.candidates(current)
            .filter_map(|(number, path)| Some((number, path.estimates()?)))
    }

    /// The path that the rule prefers to `current`.
    fn preferred(&self, current: PathId) -> Option<PathId> {
        let estimates = self.paths[current.index()].estimates()?;
        self.config
            .better(estimates, self.measured_candidates(current))
    }

    /// Whether a path is silent or not live.
    fn has_failed(&self, path: PathId) -> bool {
        self.paths[path.index()].is_silent() || !self.alive.contains(path)
    }

    /// The best measured candidate in `among` instead of `current`, or any candidate there if none
    /// is measured.
    fn fallback_path(&self, current: PathId, among: PathSet) -> Option<PathId> {
        let best = self
            .measured_candidates(current)
            .filter(|(path, _)| among.contains(*path))
            .min_by_key(|(_, estimates)| self.config.delay(estimates));
        let mut others = self.candidates(current).map(|(path, _)| path);
        let any = || others.find(|path| among.contains(*path));
        best.map(|(path, _)| path).or_else(any)
    }

    /// The path of a packet on `current` for which only `usable` are live and wide enough; empty if
    /// none is.
    fn packet_path(&self, current: PathId, usable: PathSet) -> PathSet {
        let usable = usable.and(self.alive);
        if usable.contains(current) {
            return PathSet::only(current);
        }
        let fallback = self.fallback_path(current, usable).unwrap_or(current);
        // A silent path may still carry the packet; one that is too narrow never does.
        usable.preferred_or_lowest(fallback)
    }

    /// The change of choices on `current`: they leave a path that has failed; otherwise the rule
    /// decides for those without a guard time.
    fn decide_on(&self, current: PathId) -> Option<Decision> {
        if self.has_failed(current) {
            return self.fallback_path(current, self.alive).map(Decision::Leave);
        }
        if self.config.growth().is_some() {
            return None;
        }
        let to = self.preferred(current)?;
        Some(if self.config.guard().is_of(GuardKind::Confirm) {
            Decision::Wait(to)
        } else {
            Decision::Switch(to)
        })
    }

    /// Changes the choices that have to change.
    fn evaluate(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        let decision = self.decide_on(self.choice.current);
        match decision.filter(|decision| decision.applies_to(self.choice)) {
            None => {}
            Some(Decision::Wait(to)) => {
                let current = self.choice.current;
                self.choice.guard_time = Some(self.start_guard_time(now, Some(to), current));
            }
            Some(Decision::Leave(to)) => {
                self.end_guard_time(now);
                self.switch(now, to, act);
            }
            Some(Decision::Switch(to)) => self.switch(now, to, act),
        }
        self.evaluate_flows(now, act);
    }

    fn switch(&mut self, now: Time, to: PathId, act: &mut dyn FnMut(Action)) {
        let from = core::mem::replace(&mut self.choice.current, to);
        if !self.config.heartbeats().wait {
            let (left, entered) = (
                self.paths[from.index()].next_heartbeat,
                self.paths[to.index()].next_heartbeat,
            );
            self.paths[from.index()].next_heartbeat = entered;
            self.paths[to.index()].next_heartbeat = left;
        }
        self.epoch = self.epoch.next();
        if self.config.guard().is_of(GuardKind::Hold) {
            self.choice.guard_time = Some(self.start_guard_time(now, None, to));
        }
        act(Action::Switched { from, to });
    }

    /// Ends the guard times that are due; each choice then moves to the path that the rule prefers.
    fn end_guard_times(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        if self.choice.guard_time.is_some_and(|guard| guard.end <= now) {
            self.end_guard_time(now);
            if let Some(to) = self.preferred(self.choice.current) {
                self.switch(now, to, act);
            }
        }
        let is_due = |flows: &mut Box<Flows>| flows.summary().next_end <= now;
        let Some(mut flows) = self.flows.take_if(is_due) else {
            return;
        };
        let ended = flows.end_guard_times(now);
        for (flow, before) in &ended {
            if let Some(to) = self.preferred(before.current)
                && let Some(choice) = flows.choice_mut(*flow)
            {
                self.apply(now, choice, Decision::Switch(to), act);
            }
        }
        flows.update_summary();
        self.flows = Some(flows);
        for (_, before) in ended {
            self.draw_usual_heartbeats(now, before);
        }
    }

    /// Ends the heartbeats until the next packet.
    fn pause(&mut self) {
        self.choice.guard_time = None;
        if let Some(flows) = &mut self.flows {
            flows.clear();
        }
        for path in &mut self.paths {
            path.pause();
        }
    }
}

impl PathPolicy for DelayCentric {
    fn route(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan {
        self.update_alive(*paths);
        self.last_packet = now;
        self.schedule_first_heartbeats(now);
        // Without an alternative nothing changes before a path answers.
        let current = self.choice.current;
        if self.has_failed(current) && self.fallback_path(current, self.alive).is_some() {
            self.evaluate(now, act);
        }
        let current = self.flow_path(now, meta.flow, act);
        let copies = self.packet_path(current, paths.usable);
        for path in copies {
            self.paths[path.index()].send_data(now, self.acknowledges);
        }
        Plan::copies(copies)
    }

    fn handle_feedback(&mut self, now: Time, feedback: Feedback, act: &mut dyn FnMut(Action)) {
        let (Feedback::Acknowledged { path, .. }
        | Feedback::Health { path, .. }
        | Feedback::HeartbeatReply { path, .. }) = feedback
        else {
            return;
        };
        let least = self.config.heartbeats().least;
        let is_chosen = self.used_paths().contains(path);
        let Some(monitored) = self.paths.get_mut(path.index()) else {
            return;
        };
        let window = self.config.growth().map(|growth| growth.window);
        match feedback {
            Feedback::Acknowledged { rtt, .. } => monitored.handle_answer(now, rtt, window),
            Feedback::Health { latest, .. } if is_chosen && monitored.carries_data(now, least) => {
                monitored.handle_answer(now, latest, window);
            }
            Feedback::HeartbeatReply { id, .. } if monitored.handle_reply(now, id, window) => {}
            Feedback::HeartbeatReply { .. }
            | Feedback::Health { .. }
            | Feedback::Switch { .. }
            | Feedback::Measured { .. } => return,
        }
        self.evaluate(now, act);
        if let Some(growth) = self.config.growth() {
            self.draw_moves(now, growth, act);
        }
        let is_reply = matches!(feedback, Feedback::HeartbeatReply { .. });
        let is_last = !self.paths[path.index()].awaits_reply(now, self.timeout());
        if is_reply && is_last && self.config.heartbeats().wait {
            let next = now + self.draw_interval(path);
            self.paths[path.index()].next_heartbeat = next;
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let timeout = self.timeout();
        let of = |at: Time, why| (at < Time::MAX).then_some(Deadline { at, why });
        // Called after every packet: one pass over the paths.
        let (mut heartbeat, mut silence) = (Time::MAX, Time::MAX);
        for path in &self.paths {
            heartbeat = heartbeat.min(path.next_heartbeat);
            silence = silence.min(path.silence_deadline(timeout).unwrap_or(Time::MAX));
        }
        let guard = self.choice.guard_time.map_or(Time::MAX, |guard| guard.end);
        let of_flows = self
            .flows
            .as_ref()
            .map_or(Time::MAX, |flows| flows.summary().next_end);
        let guard = guard.min(of_flows);
        let others = Deadline::earlier(of(heartbeat, "heartbeat"), of(silence, "silent path"));
        Deadline::earlier(others, of(guard, "end of the guard time"))
    }

    fn handle_timeout(&mut self, now: Time, paths: &Paths, act: &mut dyn FnMut(Action)) {
        self.update_alive(*paths);
        if !self.acknowledges && now >= self.last_packet + IDLE {
            return self.pause();
        }
        let timeout = self.timeout();
        for path in &mut self.paths {
            path.handle_timeout(now, timeout);
        }
        let mut used = self.used_paths().into_iter();
        if used.any(|path| self.has_failed(path)) {
            self.evaluate(now, act);
        }
        self.end_guard_times(now, act);
        self.send_heartbeats(now, act);
    }

    fn active(&self) -> Option<PathId> {
        Some(self.choice.current)
    }

    fn flows_on(&self, path: PathId) -> Option<usize> {
        let flows = self.flows.as_ref()?.choices();
        Some(flows.filter(|choice| choice.current == path).count())
    }

    fn flow_paths(&self) -> Vec<FlowPath> {
        let flows = self.flows.as_ref();
        flows.map_or_else(Vec::new, |flows| flows.paths())
    }

    fn resume_flows(&mut self, flows: Vec<FlowPath>) {
        if let Some(own) = &mut self.flows {
            // Without it, a timeout before the next packet would end the flows as idle.
            let newest = flows.iter().map(|flow| flow.last_packet).max();
            self.last_packet = self.last_packet.max(newest.unwrap_or_default());
            own.resume(flows);
        }
    }

    fn measured_rtt(&self, path: PathId) -> Option<MeasuredRtt> {
        let Estimates { srtt, macd, .. } = self.paths.get(path.index())?.estimates()?;
        Some(MeasuredRtt {
            smoothed: srtt.value(),
            short: macd.short(),
            long: macd.long(),
        })
    }

    /// The one that ends first.
    fn guard_time(&self) -> Option<GuardTime> {
        let guards = self.choices().filter_map(|choice| choice.guard_time);
        guards.min_by_key(|guard| guard.end)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}
