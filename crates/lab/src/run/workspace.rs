//! Where a lab's files stand while it runs.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The directory of a lab's files.
#[derive(Debug)]
pub(super) enum Workspace {
    /// Readable by its owner alone, and removed with this.
    Temporary(tempfile::TempDir),
    /// The user's own.
    Kept(PathBuf),
}

impl Workspace {
    /// The directory `keep`, which is empty or not there yet, or a temporary one.
    pub(super) fn open(keep: Option<&Path>) -> io::Result<Self> {
        let Some(path) = keep else {
            let mut builder = tempfile::Builder::new();
            builder
                .prefix("polypath-lab-")
                .permissions(Permissions::from_mode(0o700));
            let directory = builder.tempdir()?;
            return Ok(Self::Temporary(directory));
        };
        fs::create_dir_all(path)?;
        if fs::read_dir(path)?.next().is_some() {
            let used = format!("{} is not empty: name a new folder", path.display());
            return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, used));
        }
        Ok(Self::Kept(fs::canonicalize(path)?))
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary(directory) => directory.path(),
            Self::Kept(path) => path,
        }
    }

    /// The directory of the files that HTTP servers serve.
    pub(super) fn documents(&self) -> PathBuf {
        self.path().join("documents")
    }
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
        let error = Workspace::open(Some(parent.path())).unwrap_err();
        assert!(error.to_string().contains("name a new folder"), "{error}");
    }
}
