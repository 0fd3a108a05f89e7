//! How far a run has come, for whoever watches many.

use std::sync::atomic::{AtomicU64, Ordering};

/// Parts of one run that progress is counted in.
pub const PARTS: u64 = 1000;

/// Adds the parts of one run to those of all as they are done.
pub(crate) struct Meter<'a> {
    parts: &'a AtomicU64,
    told: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(parts: &'a AtomicU64) -> Self {
        Self { parts, told: 0 }
    }

    /// Notes that `done` of `whole` is done.
    pub(crate) fn reach(&mut self, done: u64, whole: u64) {
        let come = u128::from(done) * u128::from(PARTS) / u128::from(whole.max(1));
        let come = u64::try_from(come).unwrap_or(PARTS);
        self.parts.fetch_add(come - self.told, Ordering::Relaxed);
        self.told = come;
    }
}
