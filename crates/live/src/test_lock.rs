//! Locks that keep apart tests that disturb each other when they run in parallel.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static PROCESSORS: RwLock<()> = RwLock::new(());
static DESCRIPTORS: RwLock<()> = RwLock::new(());

/// Locks the processors for a test of many threads or much computing; it may run together with
/// others of its kind.
pub(crate) fn shared() -> RwLockReadGuard<'static, ()> {
    PROCESSORS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the processors for a test that measures time; no [`shared`] test runs at the same time.
pub(crate) fn exclusive() -> RwLockWriteGuard<'static, ()> {
    PROCESSORS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the descriptors of this process for a test that frees a port and needs it again: a new
/// child has a copy of each socket until it runs its program, and the port stays taken meanwhile.
pub(crate) fn without_new_processes() -> RwLockReadGuard<'static, ()> {
    DESCRIPTORS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the descriptors while a test starts a process; no test [`without_new_processes`] runs
/// meanwhile.
pub(crate) fn new_process() -> RwLockWriteGuard<'static, ()> {
    DESCRIPTORS.write().unwrap_or_else(PoisonError::into_inner)
}
