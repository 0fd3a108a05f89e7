//! The trend of the round-trip time: moving average convergence divergence (delay-centric paper, II.C).
//!
//! Two smoothed times, one of which forgets faster than the other: where the fast one is above, the time is rising.

use crate::time::Duration;

/// The gain of the short-term average, in thousandths (delay-centric paper, II.C).
const SHORT: u64 = 667;
/// The gain of the long-term average, in thousandths (delay-centric paper, II.C).
const LONG: u64 = 154;
const WHOLE: u64 = 1000;

/// A short-term and a long-term smoothed round-trip time, in integer nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macd {
    short: Duration,
    long: Duration,
}

impl Macd {
    /// The first measurement.
    #[must_use]
    pub fn new(rtt: Duration) -> Self {
        Self {
            short: rtt,
            long: rtt,
        }
    }

    /// Takes another measurement.
    pub fn update(&mut self, rtt: Duration) {
        self.short = mixed(self.short, rtt, SHORT);
        self.long = mixed(self.long, rtt, LONG);
    }

    /// The short-term average.
    #[must_use]
    pub fn short(self) -> Duration {
        self.short
    }

    /// The long-term average.
    #[must_use]
    pub fn long(self) -> Duration {
        self.long
    }

    /// By how much the short-term average is above the long-term one, in nanoseconds; negative where the round-trip
    /// time falls.
    #[must_use]
    pub fn trend(self) -> i128 {
        i128::from(self.short.0) - i128::from(self.long.0)
    }
}

fn mixed(old: Duration, new: Duration, gain: u64) -> Duration {
    old.scale(WHOLE - gain, WHOLE) + new.scale(gain, WHOLE)
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
        assert!(macd.trend().abs() < 10, "{macd:?}");
    }

    proptest! {
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
