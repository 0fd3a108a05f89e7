//! Tests that measure time run while those that keep the processors busy do not.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static PROCESSORS: RwLock<()> = RwLock::new(());

/// For a test of many threads or much computing; nothing that measures time runs beside it.
pub(crate) fn busy() -> RwLockReadGuard<'static, ()> {
    PROCESSORS.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test that measures time; no busy one runs beside it.
pub(crate) fn quiet() -> RwLockWriteGuard<'static, ()> {
    PROCESSORS.write().unwrap_or_else(PoisonError::into_inner)
}
