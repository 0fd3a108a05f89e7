//! The smoothed round-trip time (RFC 6298, 2).

use crate::time::Duration;

/// The smoothed round-trip time, with a gain of 1/8, in integer nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Srtt(Duration);

impl Srtt {
    /// Starts with the first measurement.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        Self(rtt)
    }

    /// Adds a measurement.
    pub fn update(&mut self, rtt: Duration) {
        self.0 = self.0.scale(7, 8) + rtt.scale(1, 8);
    }

    /// The smoothed round-trip time.
    #[must_use]
    pub fn value(self) -> Duration {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measurement_has_a_weight_of_one_eighth() {
        let mut srtt = Srtt::new(Duration::from_millis(80));
        srtt.update(Duration::from_millis(160));
        assert_eq!(srtt.value(), Duration::from_millis(90));
        for _ in 0..200 {
            srtt.update(Duration::from_millis(40));
        }
        assert!(srtt.value().0.abs_diff(40_000_000) < 16, "{srtt:?}");
    }
}
