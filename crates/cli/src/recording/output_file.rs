//! A file for a recorder, from its opening to its first byte.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that can be written, and still holds what it held.
pub(super) struct OutputFile {
    option: &'static str,
    pub(super) path: PathBuf,
    file: File,
    is_new: bool,
}

impl OutputFile {
    pub(super) fn new(option: &'static str, path: &Path) -> Result<Self, Failure> {
        let is_new = !is_output(path) && !path.exists();
        let opened = if is_output(path) {
            let output = io::stdout().as_fd().try_clone_to_owned();
            output.map(File::from)
        } else {
            let mut options = File::options();
            options.write(true).create(true).truncate(false).open(path)
        };
        let file = opened.map_err(|error| Failure::input(unwritable(option, path, &error)))?;
        let path = path.to_owned();
        Ok(Self {
            option,
            path,
            file,
            is_new,
        })
    }

    /// Whether both are one file, by whatever names.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let numbers = |opened: &Self| {
            let metadata = opened.file.metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        };
        self.path == other.path || (numbers(self).is_some() && numbers(self) == numbers(other))
    }

    /// Takes away what opening it has made.
    pub(super) fn discard(&self) {
        if self.is_new {
            // What is gone need not be removed.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Empties it, for something to be written; pipes and devices have no length, and standard
    /// output may go behind what is there.
    pub(super) fn begin(self) -> Result<(PathBuf, BufWriter<File>), Failure> {
        let is_regular = self.file.metadata().is_ok_and(|of| of.is_file());
        let emptied = if is_regular && !is_output(&self.path) {
            self.file.set_len(0)
        } else {
            Ok(())
        };
        emptied
            .map_err(|error| Failure::input(unwritable(self.option, &self.path, &error)))
            .map(|()| (self.path, BufWriter::new(self.file)))
    }
}

/// Whether a path is that of standard output.
pub(super) fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// What messages call a path.
pub(super) fn name_of(path: &Path) -> String {
    if is_output(path) {
        return "standard output".to_owned();
    }
    path.display().to_string()
}

/// What to say of a file that cannot be written.
pub(super) fn unwritable(option: &str, path: &Path, error: &io::Error) -> String {
    let path = name_of(path);
    format!("cannot write to {path}: {error}; name another file with {option}")
}
