//! The ad hoc packet-spacing protocol (paper, 2.1 and Fig. 4).

use super::config::AdaptiveConfig;
use super::controller::{Adjustment, RateController, Report, Verdict};
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

    fn feedback(&mut self, _: Time, report: &Report) -> Adjustment {
        let before = self.spacing;
        match self.config.verdict(report, self.raised_at) {
            Verdict::Silent => {}
            Verdict::Clear => self.spacing = self.config.lower(before, report.rtt),
            Verdict::Lost(_) => {
                self.spacing = self.config.raise(before, report.rtt);
                self.raised_at = report.next_sequence;
            }
        }
        Adjustment::between(before, self.spacing)
    }
}
