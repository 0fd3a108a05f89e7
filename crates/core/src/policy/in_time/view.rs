//! A path as the policy sees it.

use super::load::Load;
use crate::repair::{PathEstimate, RISING_QUEUE};
use crate::time::{Duration, Time};

/// The delay that counts for a lost packet: a path that loses 1 % is as good as one that takes 4 ms
/// longer.
pub(super) const LOSS_COST: Duration = Duration::from_millis(400);
/// The time for which a queue has to remain.
pub(super) const RISK: Duration = Duration::from_millis(30);
/// The delay of a path that is not known yet.
pub(super) const UNKNOWN: Duration = Duration::from_millis(500);

/// A path as the policy sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) estimate: Option<PathEstimate>,
    /// The cost of its losses.
    pub(super) loss_cost: Duration,
    /// The expected delay with the cost of losses, [`UNKNOWN`] before the first estimate. It is
    /// kept, since each packet compares the paths.
    expected: Duration,
    pub(super) is_silent: bool,
    /// The time since which its queue has not emptied.
    pub(super) queued_since: Option<Time>,
    pub(super) hold: Duration,
    pub(super) held_until: Time,
    /// The losses with which it suffices all the same, in millionths: those before data left it
    /// do not keep data away for ever.
    pub(super) tolerated: u32,
    /// The number of its next heartbeat.
    pub(super) heartbeat: u64,
    pub(super) load: Load,
}

impl View {
    /// A path of which nothing is known.
    pub(super) const UNKNOWN: Self = Self {
        estimate: None,
        loss_cost: Duration::ZERO,
        expected: UNKNOWN,
        is_silent: false,
        queued_since: None,
        hold: Duration::ZERO,
        held_until: Time::ZERO,
        tolerated: 0,
        heartbeat: 0,
        load: Load::UNKNOWN,
    };

    /// Its order among paths for one flow: those that deliver come first, then the faster ones.
    pub(super) fn rank(&self) -> (bool, Duration) {
        (self.is_silent, self.expected)
    }

    /// The time after which a packet that waits for `wait` arrives, with the cost of losses.
    pub(super) fn arrival_after(&self, wait: Duration) -> Duration {
        self.expected + wait
    }

    /// The expected delay, with the cost of losses.
    pub(super) fn cost(&self) -> Option<Duration> {
        self.estimate.map(|_| self.expected)
    }

    /// The time after which a packet that is sent now arrives, with the cost of losses.
    pub(super) fn arrival(&self, now: Time) -> Duration {
        let (Some(estimate), Some(queue)) = (self.estimate, self.load.queue(now)) else {
            return self.expected;
        };
        estimate.base + queue + self.loss_cost
    }

    pub(super) fn is_congested(&self, now: Time) -> bool {
        self.queued_since.is_some_and(|since| now >= since + RISK)
    }

    pub(super) fn meets(&self, deadline: Duration) -> bool {
        self.estimate
            .is_some_and(|estimate| estimate.one_way <= deadline)
    }

    pub(super) fn update(&mut self, now: Time, estimate: Option<PathEstimate>, is_silent: bool) {
        self.is_silent = is_silent;
        let Some(estimate) = estimate else { return };
        self.estimate = Some(estimate);
        self.loss_cost = LOSS_COST.scale(u64::from(estimate.loss), 1_000_000);
        self.expected = estimate.one_way + self.loss_cost;
        if estimate.queueing <= RISING_QUEUE {
            self.queued_since = None;
        } else if estimate.is_rising {
            self.queued_since.get_or_insert(now);
        }
    }
}
