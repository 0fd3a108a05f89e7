//! The output file of a recorder, opened but not yet truncated.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that is open for writing and still has its old content.
pub(super) struct OutputFile {
    option: &'static str,
    pub(super) path: PathBuf,
    file: File,
    is_new: bool,
}

impl OutputFile {
    pub(super) fn new(option: &'static str, path: &Path) -> Result<Self, Failure> {
        let is_new = !is_stdout(path) && !path.exists();
        let opened = if is_stdout(path) {
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

    /// Whether both are the same file, even under different names.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let id = |output: &Self| {
            let metadata = output.file.metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        };
        self.path == other.path || (id(self).is_some() && id(self) == id(other))
    }

    /// Removes the file if opening has created it.
    pub(super) fn discard(&self) {
        if self.is_new {
            // Fails only if the file is gone.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Truncates a regular file and returns its writer; standard output may be appended to a file.
    pub(super) fn truncate(self) -> Result<(PathBuf, BufWriter<File>), Failure> {
        let is_regular = self.file.metadata().is_ok_and(|of| of.is_file());
        let truncated = if is_regular && !is_stdout(&self.path) {
            self.file.set_len(0)
        } else {
            Ok(())
        };
        truncated
            .map_err(|error| Failure::input(unwritable(self.option, &self.path, &error)))
            .map(|()| (self.path, BufWriter::new(self.file)))
    }
}

/// Whether a path stands for standard output.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a path in messages.
pub(super) fn display_name(path: &Path) -> String {
    if is_stdout(path) {
        return "standard output".to_owned();
    }
    path.display().to_string()
}

/// The message about a file that cannot be written.
pub(super) fn unwritable(option: &str, path: &Path, error: &io::Error) -> String {
    let path = display_name(path);
    format!("cannot write to {path}: {error}; choose another file with {option}")
}
