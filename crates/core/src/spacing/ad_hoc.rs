//! The ad hoc packet-spacing protocol (paper, 2.1 and Fig. 4).

use super::config::AdaptiveConfig;
use super::controller::{FeedbackReport, LossVerdict, RateController, SpacingChange};
use crate::time::{Duration, Time};

/// Doubles the spacing when packets were lost, up to the round-trip time; else lowers it by a step.
///
/// Fig. 4 writes `ps - 2` without a unit and without a floor: the step is 2 us, the unit of its other numbers, and
/// the floor is zero.
#[derive(Clone, Debug)]
pub struct AdHoc {
    config: AdaptiveConfig,
    spacing: Duration,
    /// The first packet sent since the spacing was last raised.
    raised_at: u64,
}

impl AdHoc {
    /// Begins at the configured spacing.
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
            LossVerdict::Silent => {}
            LossVerdict::Clear => self.spacing = self.config.lower(before, report.rtt),
            LossVerdict::Lost(_) => {
                self.spacing = self.config.raise(before, report.rtt);
                self.raised_at = report.next_sequence;
            }
        }
        SpacingChange::between(before, self.spacing)
    }
}
