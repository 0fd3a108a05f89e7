//! The smoothed total throughput of all connections.

use crate::time::Time;
use crate::units::{Bytes, Rate};

/// An exponentially weighted mean of the throughput per interval; alpha is the weight of the
/// previous mean (Tables I to III).
///
/// Table III sets alpha to 0 for no smoothing, so alpha weights the previous mean, as in RFC 793.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputMeter {
    smoothing: f64,
    since: Time,
    bytes: u64,
    mean: Option<f64>,
}

impl ThroughputMeter {
    /// Starts measuring at `now`, with `smoothing` as alpha, from 0 to 1.
    #[must_use]
    pub fn new(smoothing: f64, now: Time) -> Self {
        Self {
            smoothing: smoothing.clamp(0.0, 1.0),
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
    pub fn sample(&mut self, now: Time) -> Option<Rate> {
        let latest = Rate::average(Bytes(self.bytes), now.since(self.since))?.as_f64();
        (self.bytes, self.since) = (0, now);
        let before = self.mean.unwrap_or(latest);
        let mean = self.smoothing * before + (1.0 - self.smoothing) * latest;
        self.mean = Some(mean);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates; a mean of rates is one"
        )]
        Some(Rate(crate::math::floor(mean + 0.5) as u64))
    }
}
