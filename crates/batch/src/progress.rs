//! Progress of a run, in parts of a thousand.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of progress parts in one run.
pub const PARTS: u64 = 1000;

/// Adds the finished parts of one run to a counter that several runs share.
pub(crate) struct Meter<'a> {
    parts: &'a AtomicU64,
    reported: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(parts: &'a AtomicU64) -> Self {
        Self { parts, reported: 0 }
    }

    /// Records that `done` of `total` is finished.
    pub(crate) fn update(&mut self, done: u64, total: u64) {
        let finished = u128::from(done) * u128::from(PARTS) / u128::from(total.max(1));
        let finished = u64::try_from(finished).unwrap_or(PARTS);
        self.parts
            .fetch_add(finished - self.reported, Ordering::Relaxed);
        self.reported = finished;
    }
}
