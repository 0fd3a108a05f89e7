//! The same spacing, whatever is lost: the agents of the paper's section 3.2.

use super::controller::{Adjustment, RateController, Report};
use crate::time::{Duration, Time};

/// A spacing that no feedback changes.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    spacing: Duration,
}

impl Fixed {
    /// Always `spacing`.
    #[must_use]
    pub fn new(spacing: Duration) -> Self {
        Self { spacing }
    }
}

impl RateController for Fixed {
    fn spacing(&self, _: Time) -> Duration {
        self.spacing
    }

    fn feedback(&mut self, _: Time, _: &Report) -> Adjustment {
        Adjustment::Held
    }
}
