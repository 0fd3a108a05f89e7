//! The rule that selects a better path than the current one.

use super::config::{DelayCentricConfig, GrowthConfig, ReactiveConfig, TrendRule};
use super::path::Estimates;
use crate::frame::PathId;
use crate::time::Duration;

impl DelayCentricConfig {
    /// The delay by which the rule compares paths.
    pub(super) fn delay(&self, of: &Estimates) -> Duration {
        match self {
            Self::DelayCentric(_) | Self::DelayGrowth(_) => of.srtt.value(),
            Self::PredictiveDelayCentric(_) => of.macd.short(),
        }
    }

    /// Whether the rule prefers `other` to `current`.
    fn prefers(&self, other: &Estimates, current: &Estimates) -> bool {
        match self {
            Self::DelayCentric(ReactiveConfig { hysteresis, .. })
            | Self::DelayGrowth(GrowthConfig { hysteresis, .. }) => {
                other.srtt.value() + *hysteresis < current.srtt.value()
            }
            Self::PredictiveDelayCentric(config) => {
                let is_rising = match config.trend {
                    TrendRule::Original => current.macd.trend() > 0,
                    TrendRule::Modified => current.macd.trend() > other.macd.trend(),
                };
                let short = current.macd.short();
                other.macd.short() < short && is_rising && short > config.threshold
            }
        }
    }

    /// The best path that the rule prefers to `current`; of equal ones the first.
    pub(super) fn better<'a>(
        &self,
        current: &Estimates,
        others: impl Iterator<Item = (PathId, &'a Estimates)>,
    ) -> Option<PathId> {
        let preferred = others.filter(|(_, other)| self.prefers(other, current));
        let best = preferred.min_by_key(|(_, other)| self.delay(other));
        best.map(|(path, _)| path)
    }
}
