//! All data on the path with the earliest expected arrival, and losses repaired on the others
//! ([`crate::repair`]).
//!
//! Reports of the peer measure the one-way delay of each path, its trend and its losses. A path
//! counts with its expected delay plus [`LOSS_COST`](view::LOSS_COST) for each lost packet. The
//! policy moves data
//!
//! * at once, if the path is no longer usable, or silent: packets on it are missing and nothing
//!   arrives;
//! * if its queue has begun to grow ([`RISING_QUEUE`](crate::repair::RISING_QUEUE)) and has not
//!   emptied for [`RISK`](view::RISK), and another path without such a queue meets the deadline;
//! * if another path has been better by the hysteresis for [`DWELL`], once per [`MIN_INTERVAL`].
//!
//! A path that data left for one of the first two reasons is avoided for a hold, which doubles if
//! that happens again soon. If the queue of the other path grows, too, data returns before the end of
//! the hold, 2 s after the last move, or at once if the other path misses the deadline. So a fade,
//! which ends before it is noticed, moves nothing, random losses move nothing unless one path has
//! fewer, and a congested path is left before it loses packets.
//!
//! **Several paths at once.** Where a path is used beyond its capacity, its rate is limited
//! ([`crate::repair::PathRateController`]). A packet of media then goes where it arrives first, at
//! once. Segments of TCP with data, and what a class treats as bulk, may wait in the endpoint: each
//! goes to the path on which it will arrive first, after those that wait there, so that the
//! segments of all paths arrive about in order. Where they use up the fastest path and keep its
//! queue short, they are spread over slower ones, too ([`spread`]). Where every path has a long
//! queue, marks and drops signal congestion to TCP.
//!
//! **Costs.** A path suffices if it delivers within the deadline, without congestion, and loses
//! less than half of what the budget can repair, or less than
//! [`MAX_UNREPAIRED`](crate::repair::MAX_UNREPAIRED) where a repair would be late. Data is on a
//! path of the lowest cost among those that suffice, and returns to a cheaper one after its hold,
//! whatever that lost before. Media that the paths of this cost cannot carry goes on those of
//! higher costs; TCP, which takes what it gets, does not.
//!
//! Paths without data are measured by heartbeats while data flows. A path that answers again may
//! carry data before the hold of [`crate::liveness`] is over: this policy has holds of its own.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::{
    Action, CopiedPackets, Feedback, PathPolicy, PathSet, Paths, Plan, PolicyContext,
    PolicyProperties,
};
use crate::class::Treatment;
use crate::frame::{Epoch, PathId};
use crate::hold::next_hold;
use crate::machine::Deadline;
use crate::packet::PacketMeta;
use crate::repair::{MAX_UNREPAIRED, PathEstimate, RepairConfig, TARGET_QUEUE};
use crate::tariff::Tariffs;
use crate::time::{Duration, Time};
use bulk::BulkChoice;
use signals::CongestionSignals;
use spread::Spread;
use view::View;

#[cfg(test)]
mod tests;

mod bulk;
mod load;
mod signals;
mod spread;
mod view;

/// Another path has to be better by this, plus an eighth of the delay of the current one.
const HYSTERESIS: Duration = Duration::from_millis(5);
/// The time for which another path has to be better.
const DWELL: Duration = Duration::from_millis(100);
/// The minimum time between two moves to a better path.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The minimum time between two moves from silent or congested paths.
const MIN_ESCAPE_INTERVAL: Duration = Duration::from_millis(100);
/// The same for a move to a path that is avoided, from one that delivers in time.
const MIN_RETURN_INTERVAL: Duration = Duration::from_secs(2);
/// The time for which a path that data left is avoided, at first and at most.
const AVOIDANCE: Duration = Duration::from_secs(2);
const MAX_AVOIDANCE: Duration = Duration::from_secs(60);
/// A path with a longer queue carries more than it can.
const MAX_QUEUE: Duration = TARGET_QUEUE;
/// The interval of heartbeats on paths without data.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);
/// Paths of a higher cost than the active one have a heartbeat in one of this many intervals.
const COSTLY_PROBES: u64 = 5;

/// Sends each packet on the path with the earliest expected arrival.
#[derive(Clone, Debug)]
pub struct InTime {
    deadline: Duration,
    /// The most losses of a path that suffices, in millionths.
    max_loss: u32,
    tariffs: Tariffs,
    active: PathId,
    epoch: Epoch,
    paths: Vec<View>,
    /// Whether there was feedback since the last packet.
    is_new: bool,
    last_move: Option<Time>,
    better: Option<Candidate>,
    busy: bool,
    next_probes: Option<Time>,
    /// The number of times that heartbeats were sent.
    probes: u64,
    signals: CongestionSignals,
    /// The last choice for bulk. It is kept until the next report, since every packet asks.
    bulk_choice: Option<BulkChoice>,
    spread: Spread,
}

/// A path that is better than the active one.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    path: PathId,
    since: Time,
}

impl InTime {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "in-time",
        copies: CopiedPackets::None,
        probes: false,
        switches: true,
        respects_costs: true,
        respects_classes: true,
    };

    /// A policy that starts on the first of the cheapest paths, or where the policy before it was.
    #[must_use]
    pub fn new(config: &RepairConfig, context: &PolicyContext) -> Self {
        let paths = PathSet::first(context.paths);
        let cheapest = context.tariffs.cheapest(paths).into_iter().next();
        Self {
            deadline: config.deadline,
            max_loss: config.redundancy.millionths() / 2,
            tariffs: context.tariffs.clone(),
            active: context.start_on(cheapest.unwrap_or_default().0),
            epoch: context.epoch,
            paths: vec![View::UNKNOWN; usize::from(context.paths)],
            is_new: false,
            last_move: None,
            better: None,
            busy: false,
            next_probes: None,
            probes: 0,
            signals: CongestionSignals::default(),
            bulk_choice: None,
            spread: Spread::START,
        }
    }

    fn view(&self, path: PathId) -> &View {
        self.paths.get(path.index()).unwrap_or(&View::UNKNOWN)
    }

    /// Moves data to the path on which it should be.
    fn choose(&mut self, now: Time, paths: &Paths, act: &mut dyn FnMut(Action)) {
        // A path that is too narrow for this packet, or ahead of its ceiling, keeps its data.
        let is_usable = paths
            .copies
            .or(paths.alive)
            .or(paths.full)
            .contains(self.active);
        if is_usable && !core::mem::take(&mut self.is_new) {
            return;
        }
        let others = self
            .affordable(now, paths.copies)
            .without(PathSet::only(self.active));
        let Some(best) = self.best(now, others) else {
            self.better = None;
            return;
        };
        if !is_usable {
            return self.move_to(now, best, act);
        }
        let (current, target) = (self.view(self.active), self.view(best));
        let is_congested = current.is_congested(now);
        if current.is_silent || is_congested {
            // Two paths that fill in turn, by what is sent on them, would be left several times a
            // second.
            let is_bearable = !current.is_silent && current.meets(self.deadline);
            let interval = if now < target.held_until && is_bearable {
                MIN_RETURN_INTERVAL
            } else {
                MIN_ESCAPE_INTERVAL
            };
            let is_due = self.last_move.is_none_or(|last| now >= last + interval);
            let is_better = !target.is_silent
                && (current.is_silent
                    || (!target.is_congested(now) && target.meets(self.deadline)));
            if is_due && is_better {
                self.hold_active(now);
                return self.move_to(now, best, act);
            }
        }
        self.follow_better(now, best, act);
    }

    /// Moves data to `best` if it has been better for long enough.
    fn follow_better(&mut self, now: Time, best: PathId, act: &mut dyn FnMut(Action)) {
        let (current, target) = (self.view(self.active), self.view(best));
        let margin = current.estimate.map_or(Duration::ZERO, |estimate| {
            HYSTERESIS + estimate.one_way.scale(1, 8)
        });
        let is_faster = target
            .cost()
            .is_some_and(|cost| current.cost().is_some_and(|active| cost + margin < active));
        let is_better = match self.tariffs.cost(best).cmp(&self.tariffs.cost(self.active)) {
            Ordering::Equal => is_faster,
            Ordering::Less => self.suffices(now, best),
            Ordering::Greater => !self.suffices(now, self.active) && self.suffices(now, best),
        };
        let is_better = is_better && now >= target.held_until && !target.is_silent;
        let before = self.better.filter(|before| before.path == best);
        let since = before.map_or(now, |before| before.since);
        self.better = is_better.then_some(Candidate { path: best, since });
        let is_due = self.last_move.is_none_or(|last| now >= last + MIN_INTERVAL);
        if is_better && is_due && now >= since + DWELL {
            if self.tariffs.cost(best) > self.tariffs.cost(self.active) {
                self.hold_active(now);
            }
            self.move_to(now, best, act);
        }
    }

    /// Those of `paths` that suffice and cost the least; all if none suffices.
    fn affordable(&self, now: Time, paths: PathSet) -> PathSet {
        if self.tariffs.cheapest(paths) == paths {
            return paths;
        }
        let suffice: PathSet = paths
            .into_iter()
            .filter(|path| now >= self.view(*path).held_until && self.suffices(now, *path))
            .collect();
        if suffice.is_empty() {
            paths
        } else {
            self.tariffs.cheapest(suffice)
        }
    }

    /// Whether `path` delivers packets in time, or nothing is known of it, and what it loses can be
    /// repaired.
    fn suffices(&self, now: Time, path: PathId) -> bool {
        let view = self.view(path);
        let repair_time = view.estimate.and_then(|estimate| estimate.repair_time);
        let max_loss = if repair_time.is_some_and(|time| time > self.deadline) {
            MAX_UNREPAIRED
        } else {
            self.max_loss
        };
        let max_loss = max_loss.max(view.tolerated);
        let is_good =
            |estimate: PathEstimate| estimate.one_way <= self.deadline && estimate.loss <= max_loss;
        !view.is_silent && !view.is_congested(now) && view.estimate.is_none_or(is_good)
    }

    /// The best of `paths`; one that is held or silent only if all are.
    fn best(&self, now: Time, paths: PathSet) -> Option<PathId> {
        paths.into_iter().min_by_key(|path| {
            let view = self.view(*path);
            let cost = view.cost().unwrap_or(Duration::MAX);
            (
                view.is_silent,
                now < view.held_until,
                view.is_congested(now),
                cost,
            )
        })
    }

    /// Holds the active path, which data leaves.
    fn hold_active(&mut self, now: Time) {
        if let Some(left) = self.paths.get_mut(self.active.index()) {
            let is_again = left.hold > Duration::ZERO && now < left.held_until + left.hold * 2;
            left.hold = next_hold(left.hold, !is_again, [AVOIDANCE, MAX_AVOIDANCE]);
            left.held_until = now + left.hold;
            left.tolerated = u32::MAX;
        }
    }

    /// The active path, or the best of `paths` where it is not one of them.
    fn preferred(&self, now: Time, paths: PathSet) -> Option<PathId> {
        if paths.contains(self.active) {
            return Some(self.active);
        }
        self.best(now, self.affordable(now, paths))
    }

    /// Sends a packet on `preferred`, or on the path with the earliest arrival if that carries more
    /// than it can: on one that costs more if all those that do not are full.
    fn send_now(&mut self, now: Time, size: u32, preferred: PathId, paths: PathSet) -> Plan {
        let is_full = |path| self.view(path).load.is_full(now, MAX_QUEUE);
        let cheap = self.tariffs.up_to(self.tariffs.cost(preferred), paths);
        let (is_full, paths) = if cheap == paths || cheap.into_iter().all(is_full) {
            (is_full(preferred), paths)
        } else {
            (is_full(preferred), cheap)
        };
        let earliest = |path: &PathId| {
            let view = self.view(*path);
            (view.is_silent, view.arrival(now))
        };
        let best = paths.into_iter().min_by_key(earliest);
        let path = best.filter(|_| is_full).unwrap_or(preferred);
        self.send_on(now, size, path)
    }

    fn send_on(&mut self, now: Time, size: u32, path: PathId) -> Plan {
        self.load(path, now, size, false);
        Plan::copies(PathSet::only(path))
    }

    fn load(&mut self, path: PathId, now: Time, size: u32, waits: bool) {
        if let Some(view) = self.paths.get_mut(path.index()) {
            view.load.add(now, size, waits);
        }
        if path == self.active {
            self.spread.add(size);
        }
    }

    fn move_to(&mut self, now: Time, to: PathId, act: &mut dyn FnMut(Action)) {
        let from = core::mem::replace(&mut self.active, to);
        self.epoch = self.epoch.next();
        self.last_move = Some(now);
        self.better = None;
        self.spread = Spread::START;
        act(Action::Switched { from, to });
    }

    /// Sends a heartbeat on each path without data, also on one that is not live: it may return.
    fn probe(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        let cost = self.tariffs.cost(self.active);
        let all = self.probes.is_multiple_of(COSTLY_PROBES);
        self.probes += 1;
        for (path, view) in (0..).map(PathId).zip(&mut self.paths) {
            if path != self.active && (all || self.tariffs.cost(path) <= cost) {
                let id = view.heartbeat;
                view.heartbeat += 1;
                act(Action::Heartbeat { path, id });
            }
        }
        self.next_probes = Some(now + PROBE_INTERVAL);
    }
}

impl PathPolicy for InTime {
    fn route(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan {
        self.busy = true;
        self.choose(now, paths, act);
        if self.next_probes.is_none() {
            self.probe(now, act);
        }
        let may_wait = meta.treatment() == Treatment::Bulk;
        let carriers = if may_wait {
            paths.copies.or(paths.full)
        } else {
            paths.copies
        };
        let Some(preferred) = self.preferred(now, carriers) else {
            return Plan::copies(PathSet::EMPTY);
        };
        match meta.treatment() {
            Treatment::Media => self.send_now(now, meta.size, preferred, carriers),
            Treatment::Bulk => self.queue(now, meta, preferred, carriers),
            Treatment::SinglePath => self.send_on(now, meta.size, preferred),
        }
    }

    fn handle_feedback(&mut self, now: Time, feedback: Feedback, _: &mut dyn FnMut(Action)) {
        let Feedback::Measured {
            path,
            estimate,
            limit,
            is_silent,
        } = feedback
        else {
            return;
        };
        if let Some(view) = self.paths.get_mut(path.index()) {
            view.update(now, estimate, is_silent);
            if let Some(estimate) = estimate.filter(|_| path == self.active) {
                view.tolerated = view.tolerated.min(estimate.loss);
            }
            view.load.set_limit(now, limit);
            self.is_new = true;
            self.bulk_choice = None;
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.next_probes.map(|at| Deadline {
            at,
            why: "heartbeats of paths without data",
        })
    }

    fn handle_timeout(&mut self, now: Time, _: &Paths, act: &mut dyn FnMut(Action)) {
        if self.next_probes.is_none_or(|at| at > now) {
            return;
        }
        if core::mem::take(&mut self.busy) {
            self.probe(now, act);
        } else {
            self.next_probes = None;
        }
    }

    fn active(&self) -> Option<PathId> {
        Some(self.active)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}
