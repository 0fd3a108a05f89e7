//! The trend of the round-trip time: moving average convergence divergence (delay-centric paper,
//! II.C).
//!
//! The round-trip time is rising when its short-term average is above its long-term average.

use crate::time::Duration;

/// The gain of the short-term average, in thousandths (delay-centric paper, II.C).
const SHORT: u64 = 667;
/// The gain of the long-term average, in thousandths (delay-centric paper, II.C).
const LONG: u64 = 154;
const GAIN_UNIT: u64 = 1000;

/// The short-term and long-term averages of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macd {
    short: Average,
    long: Average,
}

/// An average in fractions of a nanosecond. Rounding stops it at most [`GAIN_UNIT`] / (2 [`LONG`])
/// = 3 fractions from a constant input; in whole nanoseconds the two averages would stop apart and
/// show a trend forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Average(i128);

/// Fractions per nanosecond.
const FRACTIONS: i128 = 1 << 16;

impl Macd {
    /// Starts with the first measurement.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        let average = Average(i128::from(rtt.0) * FRACTIONS);
        Self {
            short: average,
            long: average,
        }
    }

    /// Adds a measurement.
    pub fn update(&mut self, rtt: Duration) {
        self.short.update(rtt, SHORT);
        self.long.update(rtt, LONG);
    }

    /// The short-term average.
    #[must_use]
    pub fn short(self) -> Duration {
        self.short.rounded()
    }

    /// The long-term average.
    #[must_use]
    pub fn long(self) -> Duration {
        self.long.rounded()
    }

    /// The short-term minus the long-term average in nanoseconds; negative while the round-trip
    /// time falls.
    #[must_use]
    pub fn trend(self) -> i128 {
        i128::from(self.short().0) - i128::from(self.long().0)
    }
}

impl Average {
    fn update(&mut self, new: Duration, gain: u64) {
        let error = i128::from(new.0) * FRACTIONS - self.0;
        self.0 += nearest(error * i128::from(gain), i128::from(GAIN_UNIT));
    }

    fn rounded(self) -> Duration {
        Duration(u64::try_from(nearest(self.0, FRACTIONS)).unwrap_or_default())
    }
}

/// Divides and rounds to the nearest integer, ties upwards; the denominator is even and positive.
fn nearest(numerator: i128, denominator: i128) -> i128 {
    (numerator + denominator / 2).div_euclid(denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_short_average_reacts_faster() {
        let mut macd = Macd::new(MS * 100);
        assert_eq!(macd.trend(), 0);
        macd.update(MS * 200);
        assert_eq!(macd.short(), Duration::from_micros(166_700));
        assert_eq!(macd.long(), Duration::from_micros(115_400));
        assert_eq!(macd.trend(), 51_300_000);
        for _ in 0..200 {
            macd.update(MS * 50);
        }
        assert_eq!(macd.trend(), 0);
        assert_eq!(macd.long(), MS * 50);
    }

    proptest! {
        /// The trend of a constant time decays to 0 without a change of sign.
        #[test]
        fn a_constant_time_has_no_trend_in_the_end(
            before in 0..10_000_000_000_u64, then in 0..10_000_000_000_u64,
        ) {
            let mut macd = Macd::new(Duration(before));
            for _ in 0..400 {
                macd.update(Duration(then));
                let trend = macd.trend() * if then < before { -1 } else { 1 };
                prop_assert!(trend >= 0, "{macd:?}");
            }
            prop_assert_eq!(macd.trend(), 0);
            prop_assert_eq!(macd.short(), Duration(then));
        }

        /// Increasing times have a positive trend, decreasing ones a negative trend, and averages
        /// stay within the inputs.
        #[test]
        fn the_trend_has_the_sign_of_the_change(first in 1_u64..1000, steps in prop::collection::vec(1_u64..1000, 1..40)) {
            let (mut up, mut top) = (Macd::new(MS * first), first);
            let mut down = Macd::new(MS * 1_000_000);
            for step in steps {
                top += step;
                up.update(MS * top);
                down.update(MS * (1_000_000 - top));
                prop_assert!(up.trend() > 0 && down.trend() < 0);
                prop_assert!(up.long() >= MS * first && up.short() <= MS * top);
            }
        }
    }
}
