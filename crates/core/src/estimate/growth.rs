//! The growth of a delay: how fast a queue fills.
//!
//! While a queue of rate C is offered the load L, its delay grows by L/C - 1 seconds per second:
//! the growth is the share by which the load exceeds the rate. It is the difference of two
//! exponentially weighted averages over time, divided by the difference of their ages: exact for a
//! delay that grows evenly, whenever it is measured.

use crate::math::exp;
use crate::time::{Duration, Time};

/// The ratio of the time constants of both averages.
const RATIO: f64 = 4.0;
/// The difference of the ages, in seconds, below which nothing is known of the growth.
const LEAST_AGE: f64 = 1e-6;

/// The growth of a delay from measurements at any times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    short: Average,
    long: Average,
    /// The time of the last measurement.
    last: Time,
}

/// An exponentially weighted average over time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Average {
    /// In seconds.
    delay: f64,
    /// The weighted mean age of the measurements, in seconds.
    age: f64,
}

impl Growth {
    /// Starts with the first measurement.
    #[must_use]
    pub fn new(now: Time, delay: Duration) -> Self {
        let delay = delay.as_secs_f64();
        let average = Average { delay, age: 0.0 };
        Self {
            short: average,
            long: average,
            last: now,
        }
    }

    /// Adds a measurement; the short average has the time constant `window`, or the time since the
    /// last measurement if that is longer.
    pub fn update(&mut self, now: Time, delay: Duration, window: Duration) {
        let gap = now.since(self.last);
        if gap == Duration::ZERO {
            return;
        }
        let (delay, window) = (delay.as_secs_f64(), window.max(gap).as_secs_f64());
        let gap = gap.as_secs_f64();
        self.short.update(gap, delay, window);
        self.long.update(gap, delay, RATIO * window);
        self.last = now;
    }

    /// The growth in seconds per second; negative while the delay falls, 0 before the second
    /// measurement.
    #[must_use]
    pub fn rate(self) -> f64 {
        let apart = self.long.age - self.short.age;
        if apart < LEAST_AGE {
            return 0.0;
        }
        (self.short.delay - self.long.delay) / apart
    }
}

impl Average {
    /// Adds a measurement `gap` seconds after the last.
    fn update(&mut self, gap: f64, delay: f64, window: f64) {
        let kept = exp(-gap / window);
        self.delay = delay + kept * (self.delay - delay);
        self.age = kept * (self.age + gap);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const WINDOW: Duration = Duration::from_millis(100);

    /// The estimate of a delay of 1000 s that grows by `growth` s/s, measured after these gaps.
    fn measured(growth: f64, gaps: impl IntoIterator<Item = Duration>) -> Growth {
        let start = Time::ZERO;
        let mut estimate = Growth::new(start, Duration::from_secs(1000));
        let mut now = start;
        for gap in gaps {
            now += gap;
            let since = now.since(start).as_secs_f64();
            estimate.update(
                now,
                Duration::from_secs_f64(1000.0 + growth * since),
                WINDOW,
            );
        }
        estimate
    }

    #[test]
    fn a_change_of_growth_is_found_within_some_windows() {
        let mut estimate = measured(0.0, core::iter::repeat_n(MS * 5, 400));
        let start = Time::ZERO + MS * 2000;
        let mut rate = |ms: u64| {
            for step in 1..=ms / 5 {
                let delay = Duration::from_secs_f64(1000.0 + 0.4 * 0.005 * step as f64);
                estimate.update(start + MS * 5 * step, delay, WINDOW);
            }
            estimate.rate()
        };
        let found = rate(300);
        assert!((0.13..0.4).contains(&found), "{found}");
    }

    /// A heartbeat finds a higher delay, which ACKs then find unchanged.
    #[test]
    fn a_delay_that_is_constant_after_a_rare_measurement_has_no_growth_soon() {
        let window = MS * 10;
        let mut estimate = Growth::new(Time::ZERO, MS * 20);
        let replied = Time::ZERO + MS * 1000;
        estimate.update(replied, MS * 120, window);
        let first = estimate.rate();
        assert!((first - 0.1).abs() < 1e-9, "100 ms in a second: {first}");
        for step in 1..=60 {
            estimate.update(replied + MS * 6 * step, MS * 120, window);
            assert!(estimate.rate() < 0.11, "{estimate:?}");
        }
        assert!(estimate.rate() < 0.01, "{estimate:?}");
    }

    proptest! {
        #[test]
        fn an_even_growth_is_exact_whenever_it_is_measured(
            growth in -0.5_f64..2.0, gaps in prop::collection::vec(1_u64..3000, 1..50),
        ) {
            let found = measured(growth, gaps.into_iter().map(|gap| MS * gap)).rate();
            prop_assert!((found - growth).abs() < 1e-4, "{} for {}", found, growth);
        }

        #[test]
        fn a_constant_delay_has_no_growth(
            gaps in prop::collection::vec(0_u64..5000, 1..50),
        ) {
            let found = measured(0.0, gaps.into_iter().map(|gap| MS * gap)).rate();
            prop_assert!(found.abs() < 1e-9, "{}", found);
        }
    }
}
