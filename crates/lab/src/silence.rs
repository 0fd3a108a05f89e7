//! Silencing of paths: temporary loss of all packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_core::frame::PathId;

/// Silences a path of a [`Network`](crate::network::Network), from any thread.
///
/// A silenced path drops packets in both directions, without any notification, where they enter and
/// where they would leave. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Silence(Arc<AtomicU64>);

impl Silence {
    /// Silences `path` alone.
    pub fn begin(&self, path: PathId) {
        self.0.store(bit(path), Ordering::Relaxed);
    }

    /// Ends the silence.
    pub fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether `path` is silenced.
    #[must_use]
    pub fn covers(&self, path: PathId) -> bool {
        self.0.load(Ordering::Relaxed) & bit(path) != 0
    }
}

const fn bit(path: PathId) -> u64 {
    1 << (path.0 % 64)
}
