//! The ad hoc packet-spacing protocol (paper, 2.1 and Fig. 4).

use super::adaptive::{AdaptiveConfig, LossVerdict};
use super::controller::{FeedbackReport, RateController, SpacingChange};
use crate::time::{Duration, Time};

/// Doubles the spacing after a loss, up to the round-trip time; otherwise lowers it by a step.
///
/// Fig. 4 writes `ps - 2` without a unit or a minimum. The step is 2 us, the unit of its other
/// numbers, and the minimum is zero.
#[derive(Clone, Debug)]
pub struct AdHoc {
    config: AdaptiveConfig,
    spacing: Duration,
    /// The first packet sent since the spacing was last raised.
    raised_at: u64,
}

impl AdHoc {
    /// A controller that starts at the configured spacing.
    #[must_use]
    pub fn new(config: AdaptiveConfig) -> Self {
        Self {
            config,
            spacing: config.initial,
            raised_at: 0,
        }
    }
}

impl RateController for AdHoc {
    fn spacing(&self, _: Time) -> Duration {
        self.spacing
    }

    fn handle_feedback(&mut self, _: Time, report: &FeedbackReport) -> SpacingChange {
        let before = self.spacing;
        match self.config.verdict(report, self.raised_at) {
            LossVerdict::Irrelevant => {}
            LossVerdict::Clear => self.spacing = self.config.lower(before, report.rtt),
            LossVerdict::Lost(_) => {
                self.spacing = self.config.raise(before, report.rtt);
                self.raised_at = report.next_sequence;
            }
        }
        SpacingChange::between(before, self.spacing)
    }
}
