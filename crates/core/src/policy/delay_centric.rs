//! Delay-centric path selection: all data on the path with the lowest round-trip time
//! (delay-centric paper).
//!
//! # Model
//!
//! One path carries the data; each ACK updates its smoothed round-trip time. *Heartbeats* of its
//! own, not those of [`crate::liveness`], which the peer answers, measure the others, at a random
//! interval drawn after each. Every answer triggers a comparison by the selection rule: smoothed
//! times with a hysteresis (II.B), or averages and trends (II.C). If another path is better, data
//! moves to it immediately, or after a *guard time*, in which that path has heartbeats at a short
//! interval. At the end of the guard time the rule is evaluated again, and data moves to the path
//! that it then prefers, or stays.
//!
//! A guard time of kind [`GuardKind::Hold`] follows the switch instead of preceding it: data moves
//! immediately, and the rule is not evaluated before the guard time ends. Until then all paths
//! without data have heartbeats at the short interval.
//!
//! Decisions that the paper leaves open:
//!
//! * After a guard time the whole rule applies, with hysteresis, threshold and trends.
//! * The first heartbeat is sent one interval after the first packet. At a switch the old and the
//!   new path exchange their heartbeat schedules, so that two paths share one schedule.
//! * *Stale estimates attract no data.* A path is *silent* if nothing has been answered for the
//!   timeout, counted from the first packet or heartbeat after its last answer. Its estimate is
//!   then discarded, so no estimate is older than an interval plus the timeout. Data leaves a
//!   silent path immediately, without a guard time, for the best path that is not silent, or, if
//!   none has been measured, for one that may answer. Heartbeats continue, so the first answer
//!   restores it.
//! * Data leaves a path that is not live immediately, too. Its estimates are discarded when it
//!   stops and when it returns; the first answer after the return makes it a candidate again.
//! * The data path has heartbeats, too, while it carries no data. Where data is not acknowledged,
//!   as in the overlay, it always has them, and only heartbeats measure paths and start the
//!   timeout; in a guard time the current path then has fewer samples than the candidate.
//! * A packet that is too long for the current path takes the best path that is wide enough; data
//!   does not follow it. So does a packet for which the current path is not live, while no other
//!   has answered the policy.
//! * Where data is not acknowledged, heartbeats end after 10 s without data, and the estimates
//!   are discarded. With the next packet, measurement begins again.

mod config;
mod guard_time;
mod path;
mod rule;
#[cfg(test)]
mod tests;

use alloc::vec;
use alloc::vec::Vec;

pub use config::{
    DelayCentricConfig, DelayCentricError, Guard, GuardKind, Heartbeats, MIN_INTERVAL,
    PredictiveConfig, ReactiveConfig, TrendRule,
};
use path::{Estimates, MonitoredPath};

use super::{
    Action, CopiedPackets, Feedback, GuardTime, MeasuredRtt, PathPolicy, PathSet, Paths, Plan,
    PolicyContext, PolicyProperties,
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
    paths: Vec<MonitoredPath>,
    /// The live paths.
    alive: PathSet,
    current: PathId,
    guard_time: Option<GuardTime>,
    epoch: Epoch,
    last_packet: Time,
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

    /// A policy whose data starts on the first path unless the context names another.
    #[must_use]
    pub fn new(config: DelayCentricConfig, context: PolicyContext) -> Self {
        let paths = context.paths.clamp(1, PathSet::CAPACITY);
        Self {
            config,
            paths: vec![MonitoredPath::new(context.epoch); usize::from(paths)],
            alive: PathSet::first(paths),
            current: PathId(context.start_on(0).0.min(paths - 1)),
            guard_time: None,
            epoch: context.epoch,
            last_packet: Time::ZERO,
            acknowledges: context.acknowledges,
            stream: context.stream,
        }
    }

    /// The path that carries data now.
    #[must_use]
    pub fn current(&self) -> PathId {
        self.current
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
        self.guard_time.is_some()
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

    /// Draws the times of the first heartbeats unless they are already scheduled.
    fn schedule_first_heartbeats(&mut self, now: Time) {
        let heartbeats = self.config.heartbeats();
        for path in &mut self.paths {
            if path.next_heartbeat == Time::MAX {
                path.next_heartbeat = now + heartbeats.draw(&mut self.stream);
            }
        }
    }

    /// The live paths other than the current one that are not silent.
    fn candidates(&self) -> impl Iterator<Item = (PathId, &MonitoredPath)> {
        let others = self.alive.without(PathSet::only(self.current));
        let others = others
            .into_iter()
            .map(|path| (path, &self.paths[path.index()]));
        others.filter(|(_, path)| !path.is_silent())
    }

    fn measured_candidates(&self) -> impl Iterator<Item = (PathId, &Estimates)> {
        self.candidates()
            .filter_map(|(number, path)| Some((number, path.estimates()?)))
    }

    fn preferred(&self) -> Option<PathId> {
        let current = self.paths[self.current.index()].estimates()?;
        self.config.better(current, self.measured_candidates())
    }

    /// Whether the current path is silent or not live.
    fn has_failed(&self) -> bool {
        self.paths[self.current.index()].is_silent() || !self.alive.contains(self.current)
    }

    /// The best measured candidate in `among`, or any candidate there if none is measured.
    fn fallback_path(&self, among: PathSet) -> Option<PathId> {
        let best = self
            .measured_candidates()
            .filter(|(path, _)| among.contains(*path))
            .min_by_key(|(_, estimates)| self.config.delay(estimates));
        let mut others = self.candidates().map(|(path, _)| path);
        let any = || others.find(|path| among.contains(*path));
        best.map(|(path, _)| path).or_else(any)
    }

    /// The path of a packet for which only `usable` are live and wide enough; empty if none is.
    fn packet_path(&self, usable: PathSet) -> PathSet {
        let usable = usable.and(self.alive);
        if usable.contains(self.current) {
            return PathSet::only(self.current);
        }
        let fallback = self.fallback_path(usable).unwrap_or(self.current);
        // A silent path may still carry the packet; one that is too narrow never does.
        usable.preferred_or_lowest(fallback)
    }

    /// Leaves the current path if it has failed; otherwise evaluates the rule.
    fn evaluate(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        if self.has_failed() {
            if let Some(to) = self.fallback_path(self.alive) {
                self.end_guard_time(now);
                self.switch(now, to, act);
            }
            return;
        }
        if self.guard_time.is_some() {
            return;
        }
        let Some(to) = self.preferred() else {
            return;
        };
        if self.config.guard().is_of(GuardKind::Confirm) {
            self.start_guard_time(now, Some(to));
        } else {
            self.switch(now, to, act);
        }
    }

    fn start_guard_time(&mut self, now: Time, to: Option<PathId>) {
        let end = now + self.config.guard().draw(&mut self.stream);
        let guard_time = GuardTime { to, end };
        self.guard_time = Some(guard_time);
        let soon = now + guard_interval(self.config.heartbeats());
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            if guard_time.has_fast_heartbeats(number, self.current) {
                path.next_heartbeat = path.next_heartbeat.min(soon);
            }
        }
    }

    /// Ends the running guard time, if any, and its short heartbeat intervals.
    fn end_guard_time(&mut self, now: Time) {
        let Some(guard_time) = self.guard_time.take() else {
            return;
        };
        let heartbeats = self.config.heartbeats();
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            if guard_time.has_fast_heartbeats(number, self.current) {
                path.next_heartbeat = now + heartbeats.draw(&mut self.stream);
            }
        }
    }

    fn switch(&mut self, now: Time, to: PathId, act: &mut dyn FnMut(Action)) {
        let from = core::mem::replace(&mut self.current, to);
        let (left, entered) = (
            self.paths[from.index()].next_heartbeat,
            self.paths[to.index()].next_heartbeat,
        );
        self.paths[from.index()].next_heartbeat = entered;
        self.paths[to.index()].next_heartbeat = left;
        self.epoch = self.epoch.next();
        if self.config.guard().is_of(GuardKind::Hold) {
            self.start_guard_time(now, None);
        }
        act(Action::Switched { from, to });
    }

    /// Ends the heartbeats until the next packet.
    fn pause(&mut self) {
        self.guard_time = None;
        for path in &mut self.paths {
            path.pause();
        }
    }

    fn send_heartbeats(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        let heartbeats = self.config.heartbeats();
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            if path.next_heartbeat > now {
                continue;
            }
            let in_guard = self
                .guard_time
                .is_some_and(|guard| guard.has_fast_heartbeats(number, self.current));
            path.next_heartbeat = if in_guard {
                now + guard_interval(heartbeats)
            } else {
                now + heartbeats.draw(&mut self.stream)
            };
            let is_measured_by_data = self.acknowledges
                && number == self.current
                && path.carries_data(now, heartbeats.least);
            if !is_measured_by_data && self.alive.contains(number) {
                let id = path.send_heartbeat(now);
                act(Action::Heartbeat { path: number, id });
            }
        }
    }
}

fn guard_interval(heartbeats: Heartbeats) -> Duration {
    heartbeats.in_guard.max(MIN_INTERVAL)
}

impl PathPolicy for DelayCentric {
    fn route(
        &mut self,
        now: Time,
        _: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan {
        self.update_alive(*paths);
        self.last_packet = now;
        self.schedule_first_heartbeats(now);
        if self.has_failed() {
            self.evaluate(now, act);
        }
        let copies = self.packet_path(paths.usable);
        for path in copies {
            self.paths[path.index()].send_data(now, self.acknowledges);
        }
        Plan::copies(copies)
    }

    fn handle_feedback(&mut self, now: Time, feedback: Feedback, act: &mut dyn FnMut(Action)) {
        let (Feedback::Acknowledged { path, .. } | Feedback::HeartbeatReply { path, .. }) =
            feedback
        else {
            return;
        };
        let Some(monitored) = self.paths.get_mut(path.index()) else {
            return;
        };
        match feedback {
            Feedback::Acknowledged { rtt, .. } => monitored.handle_answer(rtt),
            Feedback::HeartbeatReply { id, .. } if monitored.handle_reply(now, id) => {}
            Feedback::HeartbeatReply { .. }
            | Feedback::Health { .. }
            | Feedback::Switch { .. }
            | Feedback::Measured { .. } => return,
        }
        self.evaluate(now, act);
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
        let guard = self.guard_time.map_or(Time::MAX, |guard| guard.end);
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
        if self.has_failed() {
            self.evaluate(now, act);
        }
        if self.guard_time.is_some_and(|guard| guard.end <= now) {
            self.end_guard_time(now);
            if let Some(to) = self.preferred() {
                self.switch(now, to, act);
            }
        }
        self.send_heartbeats(now, act);
    }

    fn active(&self) -> Option<PathId> {
        Some(self.current)
    }

    fn measured_rtt(&self, path: PathId) -> Option<MeasuredRtt> {
        let Estimates { srtt, macd } = self.paths.get(path.index())?.estimates()?;
        Some(MeasuredRtt {
            smoothed: srtt.value(),
            short: macd.short(),
            long: macd.long(),
        })
    }

    fn guard_time(&self) -> Option<GuardTime> {
        self.guard_time
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}
