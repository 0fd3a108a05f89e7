//! The throughput of all connections together, smoothed.

use crate::time::Time;
use crate::units::{Bytes, Rate};

/// Measures what arrives in an interval; of the mean so far a share alpha stays (Tables I to III).
///
/// Table III has an alpha of 0, without which there is no smoothing: it is the weight of what was, as in RFC 793.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputMeter {
    smoothing: f64,
    since: Time,
    bytes: u64,
    mean: Option<f64>,
}

impl ThroughputMeter {
    /// From `now` on, with `smoothing`, alpha, from 0 to 1.
    #[must_use]
    pub fn new(smoothing: f64, now: Time) -> Self {
        Self {
            smoothing: smoothing.clamp(0.0, 1.0),
            since: now,
            bytes: 0,
            mean: None,
        }
    }

    /// So much has arrived.
    pub fn add(&mut self, size: Bytes) {
        self.bytes = self.bytes.saturating_add(size.0);
    }

    /// Ends an interval, and says the mean; the first is that of its interval alone. None over no time.
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
