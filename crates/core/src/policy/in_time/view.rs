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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    pub(super) estimate: Option<PathEstimate>,
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

fn loss_cost(estimate: &PathEstimate) -> Duration {
    LOSS_COST.scale(u64::from(estimate.loss), 1_000_000)
}

impl View {
    /// The expected delay, with the cost of losses.
    pub(super) fn cost(&self) -> Option<Duration> {
        let estimate = self.estimate?;
        Some(estimate.one_way + loss_cost(&estimate))
    }

    /// The time after which a packet that is sent now arrives, with the cost of losses.
    pub(super) fn arrival(&self, now: Time) -> Duration {
        let (Some(estimate), Some(queue)) = (self.estimate, self.load.queue(now)) else {
            return self.cost().unwrap_or(UNKNOWN);
        };
        estimate.base + queue + loss_cost(&estimate)
    }

    /// The time after which a packet that waits for its turn arrives, with the cost of losses.
    pub(super) fn queued_arrival(&self, now: Time) -> Duration {
        self.cost().unwrap_or(UNKNOWN) + self.load.wait(now)
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
        self.estimate = estimate.or(self.estimate);
        let Some(estimate) = estimate else { return };
        if estimate.queueing <= RISING_QUEUE {
            self.queued_since = None;
        } else if estimate.is_rising {
            self.queued_since.get_or_insert(now);
        }
    }
}
