//! The lateness of deadlines.

use hdrhistogram::Histogram;
use polypath_core::time::Duration;

/// The maximum lateness that is recorded, one hour in nanoseconds; later ones count as this.
const LIMIT: u64 = 3_600_000_000_000;

/// A distribution of lateness, with three significant digits.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(LIMIT, 3).expect("three digits up to an hour fit");
        Self { histogram }
    }
}

impl Lateness {
    /// Records a deadline that was handled `by` after its time.
    pub fn record(&mut self, by: Duration) {
        self.histogram.saturating_record(by.as_nanos());
    }

    /// The lateness that a share `q` (0 to 1) of the deadlines did not exceed; zero without
    /// deadlines.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        Duration(self.histogram.value_at_quantile(q))
    }

    /// The maximum lateness.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration(self.histogram.max())
    }

    /// The number of deadlines.
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_maximum_are_those_of_the_records() {
        let mut lateness = Lateness::default();
        for us in 1..=1000 {
            lateness.record(Duration::from_micros(us));
        }
        let close = |d: Duration, us: f64| (d.as_secs_f64() * 1e6 / us - 1.0).abs() < 2e-3;
        assert!(close(lateness.quantile(0.5), 500.0));
        assert!(close(lateness.quantile(0.99), 990.0));
        assert!(close(lateness.max(), 1000.0));
    }

    #[test]
    fn merging_adds() {
        let (mut a, mut b) = (Lateness::default(), Lateness::default());
        a.record(Duration::from_micros(1));
        b.record(Duration::from_secs(9));
        a.merge(&b);
        assert_eq!(a.count(), 2);
        assert!(a.max() >= Duration::from_secs(8));
    }
}
