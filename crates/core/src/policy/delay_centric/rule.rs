//! Which path is better than the current one.

use super::config::{DelayCentricConfig, TrendRule};
use super::path::Estimates;
use crate::frame::PathId;
use crate::time::Duration;

impl DelayCentricConfig {
    /// The time by which paths compare.
    pub(super) fn delay(self, of: &Estimates) -> Duration {
        match self {
            Self::DelayCentric { .. } => of.srtt.value(),
            Self::PredictiveDelayCentric { .. } => of.macd.short(),
        }
    }

    /// Whether the rule says to leave `current` for `other`.
    fn prefers(self, other: &Estimates, current: &Estimates) -> bool {
        match self {
            Self::DelayCentric { hysteresis, .. } => {
                other.srtt.value() + hysteresis < current.srtt.value()
            }
            Self::PredictiveDelayCentric {
                threshold, trend, ..
            } => {
                let is_rising = match trend {
                    TrendRule::Original => current.macd.trend() > 0,
                    TrendRule::Modified => current.macd.trend() > other.macd.trend(),
                };
                let short = current.macd.short();
                other.macd.short() < short && is_rising && short > threshold
            }
        }
    }

    /// The best of those that the rule prefers to `current`; of equal ones the first.
    pub(super) fn better<'a>(
        self,
        current: &Estimates,
        others: impl Iterator<Item = (PathId, &'a Estimates)>,
    ) -> Option<PathId> {
        let preferred = others.filter(|(_, other)| self.prefers(other, current));
        let best = preferred.min_by_key(|(_, other)| self.delay(other));
        best.map(|(path, _)| path)
    }
}
