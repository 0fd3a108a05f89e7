//! The values that follow from the estimates of the paths: when a packet is missing, and which need
//! a copy.

use super::{MAX_UNREPAIRED, RISING_QUEUE, Repair, SLACK, UNREPORTED_DIVISOR};
use crate::frame::{PathId, Payload};
use crate::packet::PacketMeta;
use crate::policy::PathSet;
use crate::repair::estimates::PathEstimate;
use crate::repair::rate::TARGET_QUEUE;
use crate::time::{Duration, Time};
use crate::units::Bytes;

/// Values that follow from the estimates of a path and from the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived {
    /// The time after which a transmission that no report covers is missing.
    timeout: Duration,
    /// Whether congestion begins.
    is_congested: bool,
    /// The time by which the repair of a lost packet has almost always arrived; `None` before the
    /// first report.
    repaired: Option<Duration>,
    /// Whether it does not suffice since it loses too much of what a repair would deliver after the
    /// deadline of the policy: its packets then need a copy, whatever that costs.
    loses_too_much: bool,
}

impl<P: Payload> Repair<P> {
    /// Computes what follows from changed estimates, or from another configuration.
    pub(super) fn derive(&mut self) {
        let paths = (0..).map(PathId).take(self.misses.len());
        self.derived = paths.map(|path| self.derived_of(path)).collect();
    }

    fn derived_of(&self, path: PathId) -> Derived {
        let feedback = self.estimates.feedback_time(path);
        let unknown = self.config.deadline.scale(1, UNREPORTED_DIVISOR);
        let is_congested =
            |estimate: PathEstimate| estimate.queueing > RISING_QUEUE && estimate.is_rising;
        let estimate = self.estimates.path(path);
        let repaired = estimate.and_then(|_| self.repaired_after(path));
        let is_late = repaired.is_some_and(|repaired| repaired > self.config.deadline);
        // The average of the last 256 packets or so varies: packets that need copies get them until
        // it is well below the bound.
        let before = self.derived.get(path.index());
        let max_loss = if before.is_some_and(|before| before.loses_too_much) {
            MAX_UNREPAIRED / 2
        } else {
            MAX_UNREPAIRED
        };
        Derived {
            timeout: feedback.map_or(unknown, |time| time + SLACK),
            is_congested: estimate.is_some_and(is_congested),
            repaired,
            loses_too_much: is_late && estimate.is_some_and(|estimate| estimate.loss > max_loss),
        }
    }

    /// The path of a copy of the next packet, whose only transmission would be on `path`: where a
    /// repair would be late, where congestion begins and shortly after a burst of losses.
    ///
    /// It costs more than `path` only if copies that cost no more would be late or would lose too
    /// much, and, where nothing but a late repair requires it, if `path` does not suffice by the
    /// deadline of the policy: a class with a shorter one does not make a path costly. The copy is
    /// charged to the budget.
    #[inline]
    pub fn copy(
        &mut self,
        now: Time,
        path: PathId,
        usable: impl FnOnce() -> PathSet,
        meta: &PacketMeta,
    ) -> PathSet {
        let deadline = meta.deadline_or(self.config.deadline);
        if !meta.is_repaired() || !self.needs_copy(now, path, deadline) {
            return PathSet::EMPTY;
        }
        self.affordable_copy(now, path, usable(), meta)
    }

    #[inline(never)]
    fn affordable_copy(
        &mut self,
        now: Time,
        path: PathId,
        usable: PathSet,
        meta: &PacketMeta,
    ) -> PathSet {
        let deadline = meta.deadline_or(self.config.deadline);
        let size = meta.size + self.encapsulation.data;
        // Cheap checks first: where repairs are late, every packet comes here.
        if self.waiting > 0 || !self.budget.affords_copy(size) {
            return PathSet::EMPTY;
        }
        let others = usable.without(PathSet::only(path));
        let cheap = self.tariffs.up_to(self.tariffs.cost(path), others);
        let derived = self.derived.get(path.index());
        let may_cost_more =
            self.is_at_risk(now, path) || derived.is_some_and(|derived| derived.loses_too_much);
        let is_in_time = |other: &PathId| {
            let arrives = self.estimates.one_way(*other);
            arrives.is_none_or(|one_way| one_way <= deadline)
        };
        let copy = self.copy_path(now, path, cheap).filter(is_in_time);
        let is_good = |other| !self.copies_lose_too_much(path, other);
        let other = if may_cost_more && !copy.is_some_and(is_good) {
            let dear = self.copy_path(now, path, others.without(cheap));
            dear.filter(is_in_time).or(copy)
        } else {
            copy
        };
        let Some(other) = other.filter(|_| self.budget.spend_on_copy(size)) else {
            return PathSet::EMPTY;
        };
        self.statistics.copies += 1;
        self.statistics.copy_bytes += u64::from(size);
        PathSet::only(other)
    }

    /// The path in `others` of a copy of a packet on `path`: the fastest without a queue, where a copy
    /// would delay more packets than it protects. A silent one only if `path` is silent, too.
    fn copy_path(&self, now: Time, path: PathId, mut others: PathSet) -> Option<PathId> {
        loop {
            let other = self.fastest(others)?;
            if self.is_silent(other) && !self.is_silent(path) {
                return None;
            }
            if !self.has_queue(now, other) {
                return Some(other);
            }
            others = others.without(PathSet::only(other));
        }
    }

    /// Whether too many packets with a copy are lost on both paths, if their losses are independent.
    fn copies_lose_too_much(&self, path: PathId, other: PathId) -> bool {
        let loss = |path| {
            self.estimates
                .path(path)
                .map_or(0, |estimate| estimate.loss)
        };
        let both = u64::from(loss(path)) * u64::from(loss(other));
        both > u64::from(MAX_UNREPAIRED) * 1_000_000
    }

    /// Whether a packet on `path` may need a copy: a loss could not be detected and repaired before
    /// the deadline, or is likely.
    fn needs_copy(&self, now: Time, path: PathId, deadline: Duration) -> bool {
        let repaired = self.repair_time(path);
        repaired.is_some_and(|repaired| repaired > deadline) || self.is_at_risk(now, path)
    }

    /// Whether a packet that is sent now finds a longer queue on `path` than wanted.
    fn has_queue(&self, now: Time, path: PathId) -> bool {
        let limit = self.limit(now, path, Bytes(0));
        limit.is_some_and(|limit| limit.queue > TARGET_QUEUE)
    }

    /// Whether there was a burst of losses on `path`, or congestion begins.
    fn is_at_risk(&self, now: Time, path: PathId) -> bool {
        let misses = self.misses.get(path.index());
        let derived = self.derived.get(path.index());
        misses.is_some_and(|misses| now < misses.burst_end)
            || derived.is_some_and(|derived| derived.is_congested)
    }

    /// The time by which the repair of a packet that `path` loses has almost always arrived, as of the
    /// newest report.
    pub(super) fn repair_time(&self, path: PathId) -> Option<Duration> {
        self.derived.get(path.index())?.repaired
    }

    /// Computes the [`repair_time`](Self::repair_time).
    pub(super) fn repaired_after(&self, path: PathId) -> Option<Duration> {
        let paths = (0..).map(PathId).take(self.misses.len());
        let again = paths
            .filter_map(|path| self.estimates.one_way(path))
            .min()?;
        Some(self.estimates.feedback_time(path)? + again)
    }

    /// The time after which a transmission on `path` that no report covers is missing.
    pub(super) fn timeout(&self, path: PathId) -> Duration {
        let derived = self.derived.get(path.index());
        derived.map_or(self.config.deadline, |derived| derived.timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Encapsulation;
    use crate::repair::sender::SILENT;
    use crate::repair::{Repair, RepairConfig};
    use crate::tariff::Tariffs;

    #[derive(Clone, Debug)]
    struct TestPacket;

    impl Payload for TestPacket {
        fn len(&self) -> usize {
            1000
        }
    }

    #[test]
    fn a_copy_goes_on_a_silent_path_only_beside_another() {
        let config = RepairConfig::default();
        let mut repair: Repair<TestPacket> =
            Repair::new(config, 3, Encapsulation::PAPER, Tariffs::default());
        let [first, second, third] = [0, 1, 2].map(PathId);
        let others = |paths: &[PathId]| paths.iter().copied().collect::<PathSet>();
        repair.misses[second.index()].count = SILENT;
        let copy = |repair: &Repair<TestPacket>, paths| repair.copy_path(Time::ZERO, first, paths);
        assert_eq!(copy(&repair, others(&[second, third])), Some(third));
        assert_eq!(copy(&repair, others(&[second])), None);
        repair.misses[first.index()].count = SILENT;
        assert_eq!(copy(&repair, others(&[second])), Some(second));
    }
}
