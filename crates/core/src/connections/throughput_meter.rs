//! The smoothed total throughput of all connections.

use crate::math::exp;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

use super::parameters::ControlConfig;

/// An exponentially weighted mean of the throughput per interval; alpha is the weight of the
/// previous mean (Tables I to III).
///
/// Table III sets alpha to 0 for no smoothing, so alpha weights the previous mean, as in RFC 793.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputMeter {
    smoothing: f64,
    memory: Option<Duration>,
    since: Time,
    bytes: u64,
    mean: Option<f64>,
}

impl ThroughputMeter {
    /// Starts measuring at `now`, with the smoothing of `config`.
    #[must_use]
    pub fn new(config: &ControlConfig, now: Time) -> Self {
        Self {
            smoothing: config.smoothing.clamp(0.0, 1.0),
            memory: config.memory,
            since: now,
            bytes: 0,
            mean: None,
        }
    }

    /// Counts `size` received bytes.
    pub fn add(&mut self, size: Bytes) {
        self.bytes = self.bytes.saturating_add(size.0);
    }

    /// Ends the interval and returns the mean; the first interval sets it. `None` if the interval
    /// is empty.
    ///
    /// The throughput of an application-limited interval is that of the source, and the connections
    /// could have carried more: the mean is then at least `at_least`.
    pub fn sample(&mut self, now: Time, at_least: Option<Rate>) -> Option<Rate> {
        let interval = now.since(self.since);
        let latest = Rate::average(Bytes(self.bytes), interval)?.as_f64();
        (self.bytes, self.since) = (0, now);
        let before = self.mean.unwrap_or(latest);
        let weight = self.weight(interval);
        let mean = weight * before + (1.0 - weight) * latest;
        let mean = mean.max(at_least.map_or(0.0, Rate::as_f64));
        self.mean = Some(mean);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates; a mean of rates is one"
        )]
        Some(Rate(crate::math::floor(mean + 0.5) as u64))
    }

    /// The weight of the mean before an interval.
    fn weight(&self, interval: Duration) -> f64 {
        let Some(memory) = self.memory else {
            return self.smoothing;
        };
        let most = exp(-interval.as_secs_f64() / memory.as_secs_f64());
        self.smoothing.min(most)
    }
}
