//! Percentiles of one-way delays.

use polypath_core::time::Duration;
use polypath_sim::{DelayPercentiles, NetworkOutcome};

use crate::statistics::Estimate;

/// Percentiles of the one-way delays of a group's packets in seconds: means of those of each
/// replica; a single run has no interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PercentileFigures {
    /// The median.
    pub p50: Option<Estimate>,
    /// The 95th percentile.
    pub p95: Option<Estimate>,
    /// The 99th percentile.
    pub p99: Option<Estimate>,
}

impl PercentileFigures {
    /// The percentiles of the group with this number; `None` if they were not measured.
    pub(super) fn of(replicas: &[&NetworkOutcome], group: usize) -> Option<Self> {
        let measured = replicas
            .iter()
            .filter_map(|run| run.delay_percentiles.get(group));
        let measured: Vec<_> = measured.collect();
        let estimate = |which: fn(&DelayPercentiles) -> Duration| {
            let found = measured.iter().copied().flatten();
            let seconds: Vec<f64> = found.map(|found| which(found).as_secs_f64()).collect();
            Estimate::of(&seconds)
        };
        (!measured.is_empty()).then(|| Self {
            p50: estimate(|delays| delays.p50),
            p95: estimate(|delays| delays.p95),
            p99: estimate(|delays| delays.p99),
        })
    }
}
