//! Delay-centric path choice: all data on the path with the lowest round-trip time (delay-centric
//! paper).
//!
//! # The model
//!
//! One path carries the data; each ACK updates its smoothed round-trip time. The others are
//! measured by *heartbeats*, which the other end answers, at a random interval drawn after each.
//! With every answer the paths are compared by the rule: smoothed times with a hysteresis (II.B),
//! or averages and trends (II.C). Where another path is better, data goes there, or a *guard time*
//! begins, in which that path has heartbeats at a short interval; at its end the rule is asked
//! again, and either data goes to the path that it prefers then, or all stays as it was.
//!
//! A guard time of the other kind *holds*: data goes to the better path at once, and the guard time
//! begins with the switch. Until its end, at which the rule is asked again, all paths without data
//! have heartbeats at the short interval.
//!
//! What the paper leaves open:
//!
//! * The whole rule, with hysteresis, threshold and trends, is asked again after a guard time.
//! * The first heartbeat comes one interval after the first packet; with a switch the path that is
//!   left takes over the schedule of the one that is entered, so that two paths have one schedule
//!   between them.
//! * *Nothing stale attracts data.* A path that answers nothing for the time-out, from the first
//!   packet or heartbeat after its last answer on, is *silent*: its estimate is forgotten. No
//!   estimate is older than an interval and the time-out. A silent path that carries data is left
//!   at once, without guard time, for the best that is not silent, or, where none was ever
//!   measured, one that might answer. Heartbeats go on, so that it comes back with its first
//!   answer.
//! * A path that cannot be sent on is left at once, too. With that, and with its return, what is
//!   known of it is forgotten: it attracts data with its first answer after the return.
//! * A path that carries the data has heartbeats, too, while there is none. Where data is not
//!   acknowledged, as in the overlay, it has them always, and only heartbeats measure paths and
//!   start the time-out; the current path then has fewer samples than the candidate in a guard
//!   time.
//! * A packet that is too long for the current path takes the best of those that carry it, and no
//!   other packet follows.

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
use guard_time::GuardTime;
use path::{Estimates, Monitored};

use super::{
    Action, CopiedPackets, Feedback, PathPolicy, PathSet, Paths, Plan, PolicyContext,
    PolicyProperties,
};
use crate::frame::{Epoch, PathId};
use crate::machine::Deadline;
use crate::packet::PacketMeta;
use crate::rng::Stream;
use crate::time::{Duration, Time};

/// Delay-centric path choice on the sending side.
#[derive(Clone, Debug)]
pub struct DelayCentric {
    config: DelayCentricConfig,
    paths: Vec<Monitored>,
    /// Those that can be sent on.
    alive: PathSet,
    current: PathId,
    guard_time: Option<GuardTime>,
    epoch: Epoch,
    /// Whether acknowledgements measure the current path while it carries data.
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
        available_in_nodes: false,
    };

    /// The properties of the predictive policy.
    pub(super) const PREDICTIVE_PROPERTIES: PolicyProperties = PolicyProperties {
        name: "predictive-delay-centric",
        ..Self::PROPERTIES
    };

    /// Data starts on the first path unless the context names another.
    #[must_use]
    pub fn new(config: DelayCentricConfig, context: PolicyContext) -> Self {
        let paths = context.paths.clamp(1, PathSet::CAPACITY);
        Self {
            config,
            paths: vec![Monitored::new(context.epoch); usize::from(paths)],
            alive: PathSet::first(paths),
            current: PathId(context.start_on(0).0.min(paths - 1)),
            guard_time: None,
            epoch: context.epoch,
            acknowledges: context.acknowledges,
            stream: context.stream,
        }
    }

    /// The path that carries data now.
    #[must_use]
    pub fn current(&self) -> PathId {
        self.current
    }

    /// The smoothed round-trip time by which a path is compared, if one is known.
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

    fn take_alive(&mut self, paths: Paths) {
        let known = u8::try_from(self.paths.len()).unwrap_or(PathSet::CAPACITY);
        let alive = paths.alive.and(PathSet::first(known));
        let before = core::mem::replace(&mut self.alive, alive);
        for changed in [before.without(alive), alive.without(before)] {
            for path in changed {
                self.paths[path.index()].forget();
            }
        }
    }

    /// Draws the times of the first heartbeats; nothing once they have begun.
    fn begin(&mut self, now: Time) {
        let heartbeats = self.config.heartbeats();
        for path in &mut self.paths {
            if path.next == Time::MAX {
                path.next = now + heartbeats.draw(&mut self.stream);
            }
        }
    }

    /// Paths besides the current one that can be sent on and are not silent.
    fn others(&self) -> impl Iterator<Item = (PathId, &Monitored)> {
        let others = self.alive.without(PathSet::only(self.current));
        let others = others
            .into_iter()
            .map(|path| (path, &self.paths[path.index()]));
        others.filter(|(_, path)| !path.is_silent())
    }

    fn measured(&self) -> impl Iterator<Item = (PathId, &Estimates)> {
        self.others()
            .filter_map(|(number, path)| Some((number, path.estimates()?)))
    }

    fn preferred(&self) -> Option<PathId> {
        let current = self.paths[self.current.index()].estimates()?;
        self.config.better(current, self.measured())
    }

    /// Whether the current path is of no use, whatever its estimate.
    fn is_lost(&self) -> bool {
        self.paths[self.current.index()].is_silent() || !self.alive.contains(self.current)
    }

    /// Where to go, of the paths `among`, instead of the current path.
    fn fallback_path(&self, among: PathSet) -> Option<PathId> {
        let best = self
            .measured()
            .filter(|(path, _)| among.contains(*path))
            .min_by_key(|(_, estimates)| self.config.delay(estimates));
        let mut others = self.others().map(|(path, _)| path);
        let any = || others.find(|path| among.contains(*path));
        best.map(|(path, _)| path).or_else(any)
    }

    /// The path of a packet that only `usable` carry; none where the current one is gone and there
    /// is no fallback path.
    fn carrier(&self, usable: PathSet) -> PathSet {
        let usable = usable.and(self.alive);
        if usable.contains(self.current) || !self.alive.contains(self.current) {
            return usable.and(PathSet::only(self.current));
        }
        let fallback = self.fallback_path(usable).unwrap_or(self.current);
        // A silent path may carry the packet, and a narrow one does not.
        usable.one(fallback)
    }

    /// Leaves the current path if it is lost, or asks the rule.
    fn decide(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        if self.is_lost() {
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
            self.begin_guard_time(now, Some(to));
        } else {
            self.switch(now, to, act);
        }
    }

    fn begin_guard_time(&mut self, now: Time, to: Option<PathId>) {
        let end = now + self.config.guard().draw(&mut self.stream);
        let wait = GuardTime { to, end };
        self.guard_time = Some(wait);
        let soon = now + fast(self.config.heartbeats());
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            if wait.watches(number, self.current) {
                path.next = path.next.min(soon);
            }
        }
    }

    /// Ends the guard time, if one is running, and its short intervals.
    fn end_guard_time(&mut self, now: Time) {
        let Some(wait) = self.guard_time.take() else {
            return;
        };
        let heartbeats = self.config.heartbeats();
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            if wait.watches(number, self.current) {
                path.next = now + heartbeats.draw(&mut self.stream);
            }
        }
    }

    fn switch(&mut self, now: Time, to: PathId, act: &mut dyn FnMut(Action)) {
        let from = core::mem::replace(&mut self.current, to);
        let (left, entered) = (self.paths[from.index()].next, self.paths[to.index()].next);
        self.paths[from.index()].next = entered;
        self.paths[to.index()].next = left;
        self.epoch = self.epoch.next();
        if self.config.guard().is_of(GuardKind::Hold) {
            self.begin_guard_time(now, None);
        }
        act(Action::Switched { from, to });
    }

    fn send_heartbeats(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        let heartbeats = self.config.heartbeats();
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            if path.next > now {
                continue;
            }
            let in_guard = self
                .guard_time
                .is_some_and(|w| w.watches(number, self.current));
            path.next = if in_guard {
                now + fast(heartbeats)
            } else {
                now + heartbeats.draw(&mut self.stream)
            };
            let is_measured = self.acknowledges
                && number == self.current
                && path.carries_data(now, heartbeats.least);
            if !is_measured && self.alive.contains(number) {
                let id = path.send_heartbeat(now);
                act(Action::Heartbeat { path: number, id });
            }
        }
    }
}

fn fast(heartbeats: Heartbeats) -> Duration {
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
        self.take_alive(*paths);
        self.begin(now);
        if self.is_lost() {
            self.decide(now, act);
        }
        let copies = self.carrier(paths.usable);
        for path in copies {
            self.paths[path.index()].send_data(now, self.acknowledges);
        }
        Plan {
            copies,
            probes: PathSet::EMPTY,
        }
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
            Feedback::Acknowledged { rtt, .. } => monitored.answer(rtt),
            Feedback::HeartbeatReply { id, .. } if monitored.reply(now, id) => {}
            Feedback::HeartbeatReply { .. } | Feedback::Switch { .. } => return,
        }
        self.decide(now, act);
    }

    fn deadline(&self) -> Option<Deadline> {
        let timeout = self.timeout();
        let of = |at, why| Some(Deadline { at, why });
        let heartbeat = self.paths.iter().map(|path| path.next).min();
        let silence = self.paths.iter().filter_map(|p| p.falls_silent(timeout));
        let heartbeat = heartbeat.filter(|at| *at < Time::MAX);
        let heartbeat = heartbeat.and_then(|at| of(at, "heartbeat"));
        let silence = silence.min().and_then(|at| of(at, "silent path"));
        let guard = self
            .guard_time
            .and_then(|wait| of(wait.end, "end of the guard time"));
        Deadline::earlier(Deadline::earlier(heartbeat, silence), guard)
    }

    fn handle_timeout(&mut self, now: Time, paths: &Paths, act: &mut dyn FnMut(Action)) {
        self.take_alive(*paths);
        let timeout = self.timeout();
        for path in &mut self.paths {
            path.expire(now, timeout);
        }
        if self.is_lost() {
            self.decide(now, act);
        }
        if self.guard_time.is_some_and(|wait| wait.end <= now) {
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

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}
