//! Paths that carry nothing for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_core::frame::PathId;

/// Silences paths of a [`Network`](crate::network::Network) from any thread: while a path is silent, what enters it
/// and what would leave it is lost, in both directions, and nobody is told. Clones silence the same paths.
#[derive(Clone, Debug, Default)]
pub struct Silence(Arc<AtomicU64>);

impl Silence {
    /// From now on `path` alone carries nothing.
    pub fn begin(&self, path: PathId) {
        self.0.store(bit(path), Ordering::Relaxed);
    }

    /// From now on all paths carry again.
    pub fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether `path` carries nothing now.
    #[must_use]
    pub fn covers(&self, path: PathId) -> bool {
        self.0.load(Ordering::Relaxed) & bit(path) != 0
    }
}

const fn bit(path: PathId) -> u64 {
    1 << (path.0 % 64)
}
