//! A constant spacing, which the agents of the paper's section 3.2 use.

use super::controller::{FeedbackReport, RateController, SpacingChange};
use crate::time::{Duration, Time};

/// A spacing that no feedback changes.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    spacing: Duration,
}

impl Fixed {
    /// A controller with this spacing.
    #[must_use]
    pub fn new(spacing: Duration) -> Self {
        Self { spacing }
    }
}

impl RateController for Fixed {
    fn spacing(&self, _: Time) -> Duration {
        self.spacing
    }

    fn handle_feedback(&mut self, _: Time, _: &FeedbackReport) -> SpacingChange {
        SpacingChange::Held
    }
}
