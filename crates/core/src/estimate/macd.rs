//! The trend of the round-trip time: moving average convergence divergence (delay-centric paper,
//! II.C).
//!
//! The round-trip time is rising when its short-term average is above its long-term average.

use crate::time::Duration;

/// The gain of the short-term average, in thousandths (delay-centric paper, II.C).
const SHORT: i64 = 667;
/// The gain of the long-term average, in thousandths (delay-centric paper, II.C).
const LONG: i64 = 154;
const GAIN_UNIT: i64 = 1000;

/// The short-term and long-term averages of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macd {
    /// The first measurement in nanoseconds, from which both averages are counted.
    base: u64,
    short: Average,
    long: Average,
}

/// An average in fractions of a nanosecond above the base. Rounding stops it at most [`GAIN_UNIT`] / (2 [`LONG`])
/// = 3 fractions from a constant input; in whole nanoseconds the two averages would stop apart and
/// show a trend forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Average(i64);

/// Fractions per nanosecond.
const FRACTIONS: i64 = 1 << 16;
/// The maximum distance from the base in nanoseconds, 9.8 h, so that 64 bits hold the fractions
/// of a difference.
const MOST: u64 = 1 << 45;

impl Macd {
    /// Starts with the first measurement.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        Self {
            base: rtt.0,
            short: Average(0),
            long: Average(0),
        }
    }

    /// Adds a measurement. One that differs by more than 9.8 h from the first starts again.
    pub fn update(&mut self, rtt: Duration) {
        if rtt.0.abs_diff(self.base) > MOST {
            *self = Self::new(rtt);
            return;
        }
        let distance = rtt.0.wrapping_sub(self.base).cast_signed();
        self.short.update(distance, SHORT);
        self.long.update(distance, LONG);
    }

    /// The short-term average.
    #[must_use]
    pub fn short(self) -> Duration {
        self.above_base(self.short)
    }

    /// The long-term average.
    #[must_use]
    pub fn long(self) -> Duration {
        self.above_base(self.long)
    }

    /// The short-term minus the long-term average in nanoseconds; negative while the round-trip
    /// time falls.
    #[must_use]
    pub fn trend(self) -> i64 {
        self.short.nanoseconds() - self.long.nanoseconds()
    }

    fn above_base(self, average: Average) -> Duration {
        Duration(self.base.saturating_add_signed(average.nanoseconds()))
    }
}

impl Average {
    fn update(&mut self, new: i64, gain: i64) {
        let error = new * FRACTIONS - self.0;
        // In two parts, so that no product exceeds 64 bits.
        let (units, rest) = (error.div_euclid(GAIN_UNIT), error.rem_euclid(GAIN_UNIT));
        self.0 += units * gain + nearest(rest * gain, GAIN_UNIT);
    }

    fn nanoseconds(self) -> i64 {
        nearest(self.0, FRACTIONS)
    }
}

/// Divides and rounds to the nearest integer, ties upwards; the denominator is even and positive.
const fn nearest(numerator: i64, denominator: i64) -> i64 {
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

    #[test]
    fn a_time_far_from_the_first_starts_again() {
        let far = |hours: u64| Duration::from_secs(hours * 3600);
        let mut macd = Macd::new(far(100));
        for hours in [109, 91] {
            macd.update(far(hours));
            assert_ne!(macd.trend(), 0, "{macd:?}");
        }
        for rtt in [far(110), Duration(u64::MAX), Duration(0)] {
            macd.update(rtt);
            assert_eq!((macd.short(), macd.trend()), (rtt, 0));
        }
    }

    /// The same average in 128 bits, counted from 0.
    struct Reference(i128);

    impl Reference {
        fn update(&mut self, new: Duration, gain: i64) {
            let error = i128::from(new.0) * i128::from(FRACTIONS) - self.0;
            let (change, unit) = (error * i128::from(gain), i128::from(GAIN_UNIT));
            self.0 += (change + unit / 2).div_euclid(unit);
        }

        fn rounded(&self) -> Duration {
            let fractions = i128::from(FRACTIONS);
            let rounded = (self.0 + fractions / 2).div_euclid(fractions);
            Duration(u64::try_from(rounded).unwrap())
        }
    }

    proptest! {
        #[test]
        fn the_base_changes_no_average(
            base in 0..1_u64 << 62,
            distances in prop::collection::vec(-(1_i64 << 45)..=1 << 45, 1..60),
        ) {
            let first = Duration(base);
            let mut macd = Macd::new(first);
            let start = || Reference(i128::from(base) * i128::from(FRACTIONS));
            let (mut short, mut long) = (start(), start());
            for distance in distances {
                let rtt = Duration(base.saturating_add_signed(distance));
                macd.update(rtt);
                short.update(rtt, SHORT);
                long.update(rtt, LONG);
                prop_assert_eq!(macd.short(), short.rounded());
                prop_assert_eq!(macd.long(), long.rounded());
            }
        }

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
