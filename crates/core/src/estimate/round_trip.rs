//! The smoothed round-trip time with its variation, and the time after which an answer is overdue (RFC 6298, 2).

use super::Srtt;
use crate::time::Duration;

/// SRTT and RTTVAR, with gains of 1/8 and 1/4, in integer nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    srtt: Srtt,
    variation: Duration,
}

impl RoundTrip {
    /// The first measurement; half of it counts as its variation.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        Self {
            srtt: Srtt::new(rtt),
            variation: rtt.scale(1, 2),
        }
    }

    /// Takes another measurement.
    pub fn update(&mut self, rtt: Duration) {
        let error = Duration(self.srtt.value().0.abs_diff(rtt.0));
        self.variation = self.variation.scale(3, 4) + error.scale(1, 4);
        self.srtt.update(rtt);
    }

    /// The smoothed time.
    #[must_use]
    pub fn smoothed(self) -> Duration {
        self.srtt.value()
    }

    /// Its mean deviation, RTTVAR.
    #[must_use]
    pub fn variation(self) -> Duration {
        self.variation
    }

    /// SRTT and four times its variation, which counts as no less than `least`.
    #[must_use]
    pub fn timeout(self, least: Duration) -> Duration {
        self.srtt.value() + (self.variation * 4).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_the_worked_equations() {
        let mut round_trip = RoundTrip::new(MS * 80);
        assert_eq!(round_trip.timeout(Duration::ZERO), MS * 240);
        round_trip.update(MS * 120);
        assert_eq!(round_trip.smoothed(), MS * 85);
        assert_eq!(round_trip.variation(), MS * 40);
        assert_eq!(round_trip.timeout(Duration::ZERO), MS * (85 + 4 * 40));
    }

    #[test]
    fn a_steady_path_keeps_the_least_margin() {
        let mut round_trip = RoundTrip::new(MS * 80);
        for _ in 0..100 {
            round_trip.update(MS * 80);
        }
        assert_eq!(round_trip.timeout(MS * 25), MS * 105);
    }
}
