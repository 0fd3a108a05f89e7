//! The smoothed round-trip time, its variation, and the resulting timeout (RFC 6298, 2).

use super::Srtt;
use crate::time::Duration;

/// SRTT and RTTVAR, with gains of 1/8 and 1/4, in integer nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    srtt: Srtt,
    variation: Duration,
}

impl RoundTrip {
    /// Starts with the first measurement; the initial variation is half of it.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        Self {
            srtt: Srtt::new(rtt),
            variation: rtt.scale(1, 2),
        }
    }

    /// Starts with the first measurement of a time whose origin is arbitrary, so that its half means
    /// nothing; the initial variation is zero.
    #[must_use]
    pub fn steady(time: Duration) -> Self {
        Self {
            srtt: Srtt::new(time),
            variation: Duration::ZERO,
        }
    }

    /// Adds a measurement.
    pub fn update(&mut self, rtt: Duration) {
        let error = Duration(self.srtt.value().0.abs_diff(rtt.0));
        self.variation = self.variation.scale(3, 4) + error.scale(1, 4);
        self.srtt.update(rtt);
    }

    /// The smoothed round-trip time, SRTT.
    #[must_use]
    pub fn smoothed(self) -> Duration {
        self.srtt.value()
    }

    /// The variation, RTTVAR.
    #[must_use]
    pub fn variation(self) -> Duration {
        self.variation
    }

    /// The timeout: SRTT plus the larger of four times RTTVAR and `margin`.
    #[must_use]
    pub fn timeout(self, margin: Duration) -> Duration {
        self.srtt.value() + (self.variation * 4).max(margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut round_trip = RoundTrip::new(MS * 80);
        assert_eq!(round_trip.timeout(Duration::ZERO), MS * 240);
        round_trip.update(MS * 120);
        assert_eq!(round_trip.smoothed(), MS * 85);
        assert_eq!(round_trip.variation(), MS * 40);
        assert_eq!(round_trip.timeout(Duration::ZERO), MS * (85 + 4 * 40));
    }

    #[test]
    fn a_steady_path_keeps_the_minimum_margin() {
        let mut round_trip = RoundTrip::new(MS * 80);
        for _ in 0..100 {
            round_trip.update(MS * 80);
        }
        assert_eq!(round_trip.timeout(MS * 25), MS * 105);
    }
}
