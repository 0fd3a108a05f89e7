//! Percentiles of one-way delays.

use hdrhistogram::Histogram;
use polypath_core::time::Duration;

/// The range of delays: 1 us to a day.
const LEAST: Duration = Duration::from_micros(1);
const MOST: Duration = Duration::from_secs(24 * 3600);
/// The precision of delays in significant digits.
const DIGITS: u8 = 3;

/// Percentiles of the one-way delays of a group's packets, copies included, each packet with the
/// same weight; within 0.1 % or 1 us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayPercentiles {
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 95th percentile.
    pub p95: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// The delays of each group of flows, if percentiles are measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayHistograms(Vec<Histogram<u64>>);

/// The group of a flow whose delays are not measured.
pub(super) const NO_GROUP: u32 = u32::MAX;

impl DelayHistograms {
    pub(super) fn of(groups: usize) -> Self {
        let empty = Histogram::new_with_bounds(LEAST.as_nanos(), MOST.as_nanos(), DIGITS);
        Self(vec![empty.expect("the bounds are apart"); groups])
    }

    #[inline]
    pub(super) fn record(&mut self, group: u32, delay: Duration) {
        if let Some(histogram) = self.0.get_mut(group as usize) {
            histogram.saturating_record(delay.as_nanos());
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Histogram::reset);
    }

    /// The percentiles of each group; `None` if no packet arrived.
    pub(super) fn percentiles(&self) -> impl Iterator<Item = Option<DelayPercentiles>> {
        self.0.iter().map(|histogram| {
            let at = |quantile: f64| {
                let value = histogram.value_at_quantile(quantile);
                Duration(histogram.median_equivalent(value))
            };
            (!histogram.is_empty()).then(|| DelayPercentiles {
                p50: at(0.5),
                p90: at(0.9),
                p95: at(0.95),
                p99: at(0.99),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_ranks() {
        let mut histograms = DelayHistograms::of(2);
        for ms in 1..=1000 {
            histograms.record(0, Duration::from_millis(ms));
        }
        histograms.record(NO_GROUP, Duration::from_secs(1));
        let found: Vec<_> = histograms.percentiles().collect();
        let Some(of_first) = found[0] else {
            panic!("{found:?}");
        };
        for (percentile, ms) in [
            (of_first.p50, 500.0),
            (of_first.p90, 900.0),
            (of_first.p95, 950.0),
            (of_first.p99, 990.0),
        ] {
            let found = percentile.as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 1e-3, "{found}, not {ms}");
        }
        assert_eq!(found[1], None);
        histograms.clear();
        assert_eq!(histograms.percentiles().next(), Some(None));
    }

    #[test]
    fn short_delays_are_kept_to_a_microsecond_and_ages_to_a_day() {
        let mut histograms = DelayHistograms::of(1);
        for ns in [0, 1, 1_500, 1_500, 1_500] {
            histograms.record(0, Duration(ns));
        }
        histograms.record(0, Duration::from_secs(1_000_000));
        let found = histograms.percentiles().next().flatten().unwrap();
        assert!(found.p50.as_nanos().abs_diff(1_500) <= 512, "{found:?}");
        assert!(
            (found.p99.as_secs_f64() / 86_400.0 - 1.0).abs() < 2e-3,
            "{found:?}"
        );
    }
}
