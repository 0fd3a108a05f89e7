//! The damped packet-spacing protocol (paper, 2.2).

use alloc::collections::VecDeque;

use super::adaptive::{AdaptiveConfig, Attribution, LossVerdict};
use super::controller::{FeedbackReport, RateController, SpacingChange};
use crate::time::{Duration, Time};

/// The ad hoc protocol, except that a loss due to a deliberate decrease of the spacing reverts that
/// decrease.
///
/// The paper does not define how the sender attributes a loss. Here a decrease caused it if the
/// newest lost packet was sent with a spacing that a decrease had set; that decrease and all later
/// ones are reverted. A loss at a spacing that was raised or restored doubles it.
/// [`Attribution::Latest`] reverts the last decrease unless another change followed.
#[derive(Clone, Debug)]
pub struct Damped {
    config: AdaptiveConfig,
    spacing: Duration,
    /// The first packet sent since the spacing was last raised or reverted.
    raised_at: u64,
    decreases: Decreases,
}

impl Damped {
    /// A controller that starts at the configured spacing.
    #[must_use]
    pub fn new(config: AdaptiveConfig) -> Self {
        Self {
            config,
            spacing: config.initial,
            raised_at: 0,
            decreases: Decreases::default(),
        }
    }

    fn lower(&mut self, report: &FeedbackReport) -> SpacingChange {
        let lowered = self.config.lower(self.spacing, report.rtt);
        let before = core::mem::replace(&mut self.spacing, lowered);
        if lowered < before {
            self.decreases.push(Decrease {
                first: report.next_sequence,
                before,
            });
        }
        SpacingChange::between(before, lowered)
    }

    fn on_loss(&mut self, lost: u64, report: &FeedbackReport) -> SpacingChange {
        let newest_sent = match self.config.attribution {
            Attribution::WhenSent => lost,
            Attribution::Latest => u64::MAX,
        };
        let before = self.spacing;
        let reverted = self.decreases.before(newest_sent);
        self.spacing = match reverted {
            Some(spacing) => spacing.min(report.rtt),
            None => self.config.raise(before, report.rtt),
        };
        self.raised_at = report.next_sequence;
        self.decreases.0.clear();
        match SpacingChange::between(before, self.spacing) {
            SpacingChange::Raised if reverted.is_some() => SpacingChange::Reverted,
            other => other,
        }
    }
}

impl RateController for Damped {
    fn spacing(&self, _: Time) -> Duration {
        self.spacing
    }

    fn handle_feedback(&mut self, _: Time, report: &FeedbackReport) -> SpacingChange {
        let adjustment = match self.config.verdict(report, self.raised_at) {
            LossVerdict::Irrelevant => SpacingChange::Held,
            LossVerdict::Clear => self.lower(report),
            LossVerdict::Lost(lost) => self.on_loss(lost, report),
        };
        self.decreases.forget(report.end);
        adjustment
    }
}

/// The decreases since the last raise that a later report may concern, oldest first.
#[derive(Clone, Debug, Default)]
struct Decreases(VecDeque<Decrease>);

#[derive(Clone, Copy, Debug)]
struct Decrease {
    /// The first packet sent with the lower spacing.
    first: u64,
    /// The spacing of the packets before it.
    before: Duration,
}

impl Decreases {
    /// More than the feedback messages in flight at once, unless queues hold 64 round-trip times.
    const CAPACITY: usize = 64;

    fn push(&mut self, decrease: Decrease) {
        // No packet was sent with the spacing between two decreases at the same packet.
        if self.0.back().is_some_and(|d| d.first == decrease.first) {
            return;
        }
        if self.0.len() == Self::CAPACITY {
            // Merges the two oldest. The larger spacing is the safer one to revert to.
            self.0.remove(1);
        }
        self.0.push_back(decrease);
    }

    /// The spacing before the decrease that was in force when `packet` was sent.
    fn before(&self, packet: u64) -> Option<Duration> {
        let in_force = self.0.iter().rev().find(|d| d.first <= packet);
        in_force.map(|d| d.before)
    }

    /// Discards decreases that were in force only for packets before `end`.
    fn forget(&mut self, end: u64) {
        while self.0.get(1).is_some_and(|next| next.first <= end) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
impl Damped {
    pub(super) fn remembered(&self) -> usize {
        self.decreases.0.len()
    }
}
