//! The directory of a lab's files.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use tempfile::TempDir;

use crate::LabError;

/// The prefix of temporary directories' names.
const PREFIX: &str = "polypath-lab-";
/// A younger directory may belong to a lab that has not locked it yet.
const MIN_AGE: Duration = Duration::from_secs(10);

/// The directory of a lab's files.
#[derive(Debug)]
pub(super) enum Workspace {
    /// Accessible to its owner alone, and removed on drop.
    Temporary {
        /// The directory.
        directory: TempDir,
        /// Its lock, which the kernel releases when the process ends, even if it is killed.
        _lock: File,
    },
    /// The user's folder.
    Kept(PathBuf),
}

impl Workspace {
    /// Opens the folder `keep`, which must be empty or absent, or a temporary directory; removes
    /// those that killed labs left behind.
    ///
    /// Fails with [`LabError::Keep`] if `keep` cannot be used, and with [`LabError::Files`] if a
    /// temporary directory cannot be created.
    pub(super) fn open(keep: Option<&Path>) -> Result<Self, LabError> {
        match keep {
            Some(path) => prepare(path).map(Self::Kept).map_err(LabError::Keep),
            None => Self::temporary(&std::env::temp_dir()).map_err(LabError::Files),
        }
    }

    fn temporary(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700));
        let directory = builder.tempdir_in(parent)?;
        let lock = File::open(directory.path())?;
        lock.lock()?;
        // The directory's modification time is the file system's present time.
        remove_abandoned(parent, lock.metadata()?.modified()?)?;
        Ok(Self::Temporary {
            directory,
            _lock: lock,
        })
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary { directory, .. } => directory.path(),
            Self::Kept(path) => path,
        }
    }

    /// The directory of the files that HTTP servers serve.
    pub(super) fn documents(&self) -> PathBuf {
        self.path().join("documents")
    }
}

fn prepare(path: &Path) -> io::Result<PathBuf> {
    let with_path = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    fs::create_dir_all(path).map_err(with_path)?;
    if fs::read_dir(path).map_err(with_path)?.next().is_some() {
        let message = format!("{} is not empty: choose a new folder", path.display());
        return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, message));
    }
    // Otherwise a node's failure to write its files would surface late.
    tempfile::tempfile_in(path).map_err(with_path)?;
    fs::canonicalize(path).map_err(with_path)
}

/// Removes the temporary directories of labs that no longer run.
fn remove_abandoned(parent: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(parent)?.flatten() {
        let is_lab = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_lab && is_abandoned(&entry.path(), now) {
            // Fails if another starting lab was faster, or the directory is another user's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Whether a directory is older than [`MIN_AGE`] and not locked.
fn is_abandoned(directory: &Path, now: SystemTime) -> bool {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NOFOLLOW | O_DIRECTORY);
    let Ok(opened) = options.open(directory) else {
        return false;
    };
    let changed = opened.metadata().and_then(|m| m.modified());
    let age = changed.map(|changed| now.duration_since(changed).unwrap_or_default());
    age.is_ok_and(|age| age > MIN_AGE) && opened.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_directory_is_private_and_removed() {
        let workspace = Workspace::open(None).unwrap();
        let path = workspace.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::create_dir(workspace.documents()).unwrap();
        drop(workspace);
        assert!(!path.exists());
    }

    #[test]
    fn a_user_s_folder_is_kept_and_not_reused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new/lab");
        drop(Workspace::open(Some(&path)).unwrap());
        assert!(path.is_dir());
        match Workspace::open(Some(parent.path())).unwrap_err() {
            LabError::Keep(e) => assert!(e.to_string().contains("choose a new folder"), "{e}"),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn only_abandoned_directories_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("key"), "secret").unwrap();
            path
        };
        let age = |path: &Path| {
            let long_ago = SystemTime::UNIX_EPOCH;
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        };
        let left = make("polypath-lab-left");
        let foreign = make("another-program");
        let new = make("polypath-lab-new");
        let running = Workspace::temporary(parent.path()).unwrap();
        for old in [&left, &foreign, running.path()] {
            age(old);
        }
        let _next = Workspace::temporary(parent.path()).unwrap();
        let exist = [&left, &foreign, &new, running.path()].map(Path::exists);
        assert_eq!(exist, [false, true, true, true]);
    }
}
