//! The trend of the round-trip time: moving average convergence divergence (delay-centric paper, II.C).
//!
//! Two smoothed times, one of which forgets faster than the other: where the fast one is above, the time is rising.

use crate::time::Duration;

/// The gain of the short-term average, in thousandths (delay-centric paper, II.C).
const SHORT: u64 = 667;
/// The gain of the long-term average, in thousandths (delay-centric paper, II.C).
const LONG: u64 = 154;
const WHOLE: u64 = 1000;

/// A short-term and a long-term smoothed round-trip time, rounded to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macd {
    short: Average,
    long: Average,
}

/// A time in parts of a nanosecond. An average stops at most [`WHOLE`] / (2 [`LONG`]) = 3 parts from what it follows; in whole
/// nanoseconds the two would stop apart, which is a trend for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Average(i128);

/// Parts of a nanosecond.
const PARTS: i128 = 1 << 16;

impl Macd {
    /// The first measurement.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        let average = Average(i128::from(rtt.0) * PARTS);
        Self {
            short: average,
            long: average,
        }
    }

    /// Takes another measurement.
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

    /// By how much the short-term average is above the long-term one, in nanoseconds; negative where the round-trip
    /// time falls.
    #[must_use]
    pub fn trend(self) -> i128 {
        i128::from(self.short().0) - i128::from(self.long().0)
    }
}

impl Average {
    fn update(&mut self, new: Duration, gain: u64) {
        let above = i128::from(new.0) * PARTS - self.0;
        self.0 += nearest(above * i128::from(gain), i128::from(WHOLE));
    }

    fn rounded(self) -> Duration {
        Duration(u64::try_from(nearest(self.0, PARTS)).unwrap_or_default())
    }
}

/// The whole number nearest to a fraction, the greater of two; the denominator is even and more than 0.
fn nearest(numerator: i128, denominator: i128) -> i128 {
    (numerator + denominator / 2).div_euclid(denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_short_average_follows_first() {
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
        /// A time that is constant has no trend in the end, and what came to it from above or below never the other one.
        #[test]
        fn a_constant_time_does_not_rise_or_fall_for_ever(
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

        /// What rises throughout has a rising trend, what falls a falling one, and both averages stay within what was measured.
        #[test]
        fn the_sign_is_that_of_the_course(first in 1_u64..1000, steps in prop::collection::vec(1_u64..1000, 1..40)) {
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
