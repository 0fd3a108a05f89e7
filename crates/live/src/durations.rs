//! Distributions of durations: the lateness of deadlines, or the delay of datagrams.

use hdrhistogram::Histogram;
use polypath_core::time::Duration;

/// The maximum that is recorded, one hour in nanoseconds; longer durations count as this.
const LIMIT: u64 = 3_600_000_000_000;

/// A distribution of durations, with three significant digits, and their exact mean.
#[derive(Clone, Debug)]
pub struct DurationHistogram {
    histogram: Histogram<u64>,
    /// The sum in nanoseconds.
    sum: u128,
}

impl Default for DurationHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(LIMIT, 3).expect("three digits up to an hour fit");
        Self { histogram, sum: 0 }
    }
}

impl DurationHistogram {
    /// Records a duration.
    pub fn record(&mut self, duration: Duration) {
        self.histogram.saturating_record(duration.as_nanos());
        self.sum += u128::from(duration.as_nanos());
    }

    /// The mean; `None` without durations.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(u128::from(self.count()))?;
        u64::try_from(mean).ok().map(Duration)
    }

    /// The duration that a share `q` (0 to 1) of all did not exceed; zero if there are none.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        Duration(self.histogram.value_at_quantile(q))
    }

    /// The maximum.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration(self.histogram.max())
    }

    /// The number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Adds the records of `other`.
    #[expect(clippy::missing_panics_doc, reason = "all have the same bounds")]
    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("histograms of the same bounds add up");
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_mean_and_maximum_are_those_of_the_records() {
        let mut durations = DurationHistogram::default();
        for us in 1..=1000 {
            durations.record(Duration::from_micros(us));
        }
        let close = |d: Duration, us: f64| (d.as_secs_f64() * 1e6 / us - 1.0).abs() < 2e-3;
        assert!(close(durations.quantile(0.5), 500.0));
        assert!(close(durations.quantile(0.99), 990.0));
        assert!(close(durations.max(), 1000.0));
        assert_eq!(durations.mean(), Some(Duration::from_nanos(500_500)));
        assert_eq!(DurationHistogram::default().mean(), None);
    }

    #[test]
    fn merging_adds() {
        let (mut a, mut b) = (DurationHistogram::default(), DurationHistogram::default());
        a.record(Duration::from_micros(1));
        b.record(Duration::from_secs(9));
        a.merge(&b);
        assert_eq!(a.count(), 2);
        assert_eq!(a.mean(), Some(Duration::from_nanos(4_500_000_500)));
        assert!(a.max() >= Duration::from_secs(8));
    }
}
