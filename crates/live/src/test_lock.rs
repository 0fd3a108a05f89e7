//! A lock that keeps tests that measure time apart from tests that keep the processors busy.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static PROCESSORS: RwLock<()> = RwLock::new(());

/// Locks the processors for a test of many threads or much computing; it may run together with
/// others of its kind.
pub(crate) fn shared() -> RwLockReadGuard<'static, ()> {
    PROCESSORS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the processors for a test that measures time; no [`shared`] test runs at the same time.
pub(crate) fn exclusive() -> RwLockWriteGuard<'static, ()> {
    PROCESSORS.write().unwrap_or_else(PoisonError::into_inner)
}
