//! The one-way delay of a path, and the time after which a frame counts as missing.
//!
//! The delay is the difference of two clocks. The receiver keeps the same estimate as the sender, from
//! the samples of its reports, and so knows when a report can show a packet as missing.

use crate::estimate::{Macd, RoundTrip};
use crate::time::{Duration, Time};

/// Differences of clocks are stored above this, so that a negative one can be averaged.
const ORIGIN: i64 = 1 << 61;

/// The delay of a path as a difference of clocks, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneWayDelay {
    smoothed: RoundTrip,
    trend: Macd,
    last: i64,
    /// By how much frames arrive later than frames sent after them.
    pub(super) reordering: Duration,
}

impl OneWayDelay {
    /// Starts with the first sample.
    pub(super) fn new(delay: i64) -> Self {
        let above = above_origin(delay);
        Self {
            smoothed: RoundTrip::steady(above),
            trend: Macd::new(above),
            last: delay,
            reordering: Duration::ZERO,
        }
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, delay: i64) {
        let above = above_origin(delay);
        self.smoothed.update(above);
        self.trend.update(above);
        self.last = delay;
    }

    /// The newest sample.
    pub(super) const fn last(&self) -> i64 {
        self.last
    }

    /// The short-term average.
    pub(super) fn average(&self) -> i64 {
        from_origin(self.trend.short())
    }

    /// The short-term average minus the long-term one (delay-centric paper, II.C).
    pub(super) fn trend(&self) -> i64 {
        self.trend.trend()
    }

    /// The time by which frames arrive later than expected.
    pub(super) fn spread(&self) -> Duration {
        (self.smoothed.variation() * 4).max(self.reordering)
    }

    /// The delay from which on a frame counts as missing: later than expected by at least `margin`.
    pub(super) fn missing_after(&self, margin: Duration) -> i64 {
        let delay = self.average().max(self.last);
        let margin = margin.max(self.spread());
        // Of a queue that grows steadily, the trend is the growth of five samples; the newest
        // sample is a round trip old.
        let growth = span(self.trend()) * 2;
        let margin = i64::try_from((margin + growth).0).unwrap_or(i64::MAX);
        delay.saturating_add(margin)
    }
}

/// `later - earlier` in nanoseconds, of different clocks.
pub(super) fn difference(later: Time, earlier: Time) -> i64 {
    later
        .0
        .wrapping_sub(earlier.0)
        .cast_signed()
        .clamp(-ORIGIN / 2, ORIGIN / 2)
}

/// A difference of clocks that can be averaged.
pub(super) fn above_origin(difference: i64) -> Duration {
    Duration(difference.saturating_add(ORIGIN).max(0).unsigned_abs())
}

/// The difference of clocks of [`above_origin`].
pub(super) fn from_origin(above: Duration) -> i64 {
    i64::try_from(above.0)
        .unwrap_or(i64::MAX)
        .saturating_sub(ORIGIN)
}

/// A span that is at least zero.
pub(super) fn span(nanos: i64) -> Duration {
    Duration(nanos.max(0).unsigned_abs())
}
