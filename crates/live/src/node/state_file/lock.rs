//! The lock of a state file: two nodes with one file would overwrite each other's counts.
//!
//! The state file is replaced by each write, so the lock is on a file beside it, which stays.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::StateError;
use crate::output_file::{Kind, kind_of};

/// Everybody may lock it: it has no content, and another user may run the node the next time.
const MODE: u32 = 0o644;

/// The lock of a state file, held until it is dropped.
#[derive(Debug)]
pub(super) struct StateLock(File);

impl Drop for StateLock {
    /// Closing the file is not enough: between fork and exec, a child of any thread has it open, too,
    /// and the lock belongs to all copies (flock(2)).
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "the lock of the state file ends with the process");
        }
    }
}

/// Locks the state file `path` for this process; `None` where there is nothing to lock.
///
/// # Errors
/// Another process has locked it.
pub(super) fn lock(path: &Path) -> Result<Option<StateLock>, StateError> {
    if kind_of(path).ok() != Some(Kind::File) {
        return Ok(None);
    }
    // Of a symbolic link, the target is replaced.
    let mut name = fs::canonicalize(path)
        .unwrap_or(path.to_owned())
        .into_os_string();
    name.push(".lock");
    let lock = match open(Path::new(&name)) {
        Ok(lock) => lock,
        Err(error) => {
            // Where no file can be created, the state file has the same defect, which is reported.
            tracing::debug!(%error, "the state file is not locked");
            return Ok(None);
        }
    };
    match lock.try_lock() {
        Ok(()) => Ok(Some(StateLock(lock))),
        Err(TryLockError::WouldBlock) => Err(StateError::InUse),
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%error, "the file system of the state file has no locks");
            Ok(None)
        }
    }
}

/// Opens the file `path`, which need not exist.
fn open(path: &Path) -> io::Result<File> {
    let mut new = OpenOptions::new();
    match new.write(true).create_new(true).mode(MODE).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::open(path),
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_a_child_process_has_the_file_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let held = lock(&path).unwrap().unwrap();
        assert!(matches!(lock(&path), Err(StateError::InUse)));
        // As fork(2) copies it.
        let copy = held.0.try_clone().unwrap();
        drop(held);
        assert!(lock(&path).unwrap().is_some());
        drop(copy);
    }
}
