//! The growth of a delay: how fast a queue fills.
//!
//! While a queue of rate C is offered the load L, its delay grows by L/C - 1 seconds per second:
//! the growth is the share by which the load exceeds the rate. It is the difference of two
//! exponentially weighted averages over time, divided by the difference of their ages.

use crate::math::exp;
use crate::time::{Duration, Time};

/// The ratio of the time constants of both averages.
const RATIO: f64 = 4.0;

/// The growth of a delay from measurements at any times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The average over a short time, in seconds.
    short: f64,
    /// The average over [`RATIO`] times as long, in seconds.
    long: f64,
    /// The time of the last measurement.
    last: Time,
    /// The time constant of the short average.
    window: Duration,
}

impl Growth {
    /// Starts with the first measurement.
    #[must_use]
    pub fn new(now: Time, delay: Duration) -> Self {
        let delay = delay.as_secs_f64();
        Self {
            short: delay,
            long: delay,
            last: now,
            window: Duration(1),
        }
    }

    /// Adds a measurement; the short average has the time constant `window`, or the time since the
    /// last measurement if that is longer.
    pub fn update(&mut self, now: Time, delay: Duration, window: Duration) {
        let gap = now.since(self.last);
        self.window = window.max(gap).max(Duration(1));
        let age = gap.as_secs_f64() / self.window.as_secs_f64();
        let delay = delay.as_secs_f64();
        self.short += (1.0 - exp(-age)) * (delay - self.short);
        self.long += (1.0 - exp(-age / RATIO)) * (delay - self.long);
        self.last = now;
    }

    /// The growth in seconds per second; negative while the delay falls.
    #[must_use]
    pub fn rate(self) -> f64 {
        let apart = (RATIO - 1.0) * self.window.as_secs_f64();
        (self.short - self.long) / apart
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const WINDOW: Duration = Duration::from_millis(100);

    /// Measures a delay that grows by `growth` s/s every `interval` for `steps` steps.
    fn measured(growth: f64, interval: Duration, steps: u64) -> f64 {
        let mut estimate = Growth::new(Time::ZERO, Duration::from_secs(10));
        for step in 1..=steps {
            let since = interval * step;
            let delay = Duration::from_secs_f64(10.0 + growth * since.as_secs_f64());
            estimate.update(Time::ZERO + since, delay, WINDOW);
        }
        estimate.rate()
    }

    #[test]
    fn a_constant_growth_is_found_whatever_the_interval() {
        for growth in [0.32, 0.02, -0.34] {
            for interval in [1, 6, 20, 1000] {
                let found = measured(growth, MS * interval, 20_000 / interval);
                // The ages of averages of samples differ from those of a line.
                assert!((found / growth - 1.0).abs() < 0.2, "{found} for {growth}");
            }
        }
    }

    #[test]
    fn a_third_of_a_new_growth_is_found_within_three_windows() {
        let found = measured(0.4, MS * 5, 60);
        assert!((0.13..0.4).contains(&found), "{found}");
    }

    proptest! {
        #[test]
        fn a_constant_delay_has_no_growth(delay in 0_u64..10_000, gaps in prop::collection::vec(0_u64..5000, 1..50)) {
            let mut now = Time::ZERO;
            let mut growth = Growth::new(now, MS * delay);
            for gap in gaps {
                now += MS * gap;
                growth.update(now, MS * delay, WINDOW);
                prop_assert!(growth.rate().abs() < 1e-9);
            }
        }
    }
}
