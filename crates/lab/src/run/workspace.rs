//! Where a lab's files stand while it runs.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::libc::{O_DIRECTORY, O_NOFOLLOW};
use tempfile::TempDir;

use crate::LabError;

/// How the names of temporary directories begin.
const PREFIX: &str = "polypath-lab-";
/// A directory that is younger may belong to a lab that has not locked it yet.
const SETTLED: Duration = Duration::from_secs(10);

/// The directory of a lab's files.
#[derive(Debug)]
pub(super) enum Workspace {
    /// Readable by its owner alone, and removed with this.
    Temporary {
        /// The directory.
        directory: TempDir,
        /// Its lock, which the kernel gives up when the process ends, however it ends.
        _lock: File,
    },
    /// The user's own.
    Kept(PathBuf),
}

impl Workspace {
    /// The directory `keep`, which is empty or not there yet, or a temporary one; those that labs left
    /// behind that were killed are removed.
    ///
    /// Fails with [`LabError::Keep`] where `keep` cannot be used, with [`LabError::Files`] where no
    /// temporary directory can be made.
    pub(super) fn open(keep: Option<&Path>) -> Result<Self, LabError> {
        match keep {
            Some(path) => claim(path).map(Self::Kept).map_err(LabError::Keep),
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
        // A new directory bears the present time.
        remove_leftovers(parent, lock.metadata()?.modified()?)?;
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

fn claim(path: &Path) -> io::Result<PathBuf> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    fs::create_dir_all(path).map_err(named)?;
    if fs::read_dir(path).map_err(named)?.next().is_some() {
        let used = format!("{} is not empty: name a new folder", path.display());
        return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, used));
    }
    // A node that cannot write its files would be noticed late.
    tempfile::tempfile_in(path).map_err(named)?;
    fs::canonicalize(path).map_err(named)
}

/// Removes the temporary directories of labs that no longer run.
fn remove_leftovers(parent: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(parent)?.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && is_abandoned(&entry.path(), now) {
            // Another lab that starts now may be faster, and it may be another user's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Whether nobody has locked a directory that is old enough for it.
fn is_abandoned(directory: &Path, now: SystemTime) -> bool {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NOFOLLOW | O_DIRECTORY);
    let Ok(opened) = options.open(directory) else {
        return false;
    };
    let changed = opened.metadata().and_then(|m| m.modified());
    let age = changed.map(|changed| now.duration_since(changed).unwrap_or_default());
    age.is_ok_and(|age| age > SETTLED) && opened.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_one_is_private_and_goes_away() {
        let workspace = Workspace::open(None).unwrap();
        let path = workspace.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::create_dir(workspace.documents()).unwrap();
        drop(workspace);
        assert!(!path.exists());
    }

    #[test]
    fn one_of_the_user_stays_and_is_not_used_twice() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new/lab");
        drop(Workspace::open(Some(&path)).unwrap());
        assert!(path.is_dir());
        match Workspace::open(Some(parent.path())).unwrap_err() {
            LabError::Keep(e) => assert!(e.to_string().contains("name a new folder"), "{e}"),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_labs_left_is_removed_and_what_they_use_stays() {
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
        let foreign = make("somebody-elses");
        let new = make("polypath-lab-new");
        let running = Workspace::temporary(parent.path()).unwrap();
        for old in [&left, &foreign, running.path()] {
            age(old);
        }
        let _next = Workspace::temporary(parent.path()).unwrap();
        let stands = [&left, &foreign, &new, running.path()].map(Path::exists);
        assert_eq!(stands, [false, true, true, true]);
    }
}
