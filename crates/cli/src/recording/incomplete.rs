//! Recordings that could not be written to the end, as on a full disk.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use super::output_file::display_name;
use crate::failure::Failure;

/// The length in bytes below which a file is emptied rather than halved.
const MIN_LEN: u64 = 4096;

/// The recordings of a run that end before it, each with its error.
#[derive(Debug, Default)]
pub(crate) struct IncompleteFiles(Vec<IncompleteFile>);

#[derive(Debug)]
struct IncompleteFile {
    option: &'static str,
    path: PathBuf,
    error: io::Error,
    /// Whether its end was removed to make room for the report.
    shortened: bool,
}

impl IncompleteFiles {
    /// Adds the file if it could not be completed.
    pub(super) fn note(&mut self, option: &'static str, path: PathBuf, completed: io::Result<()>) {
        if let Err(error) = completed {
            self.0.push(IncompleteFile {
                option,
                path,
                error,
                shortened: false,
            });
        }
    }

    /// Calls `write`, which writes the report. While the disk is full, it removes halves of the
    /// files and calls it again: a recording that filled the disk must not cost the report.
    pub(crate) fn make_room(
        &mut self,
        mut write: impl FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            let written = write();
            let is_full = written.as_ref().is_err_and(|error| is_full(error.kind()));
            let shorten = |any, file: &mut IncompleteFile| file.shorten() || any;
            if !is_full || !self.0.iter_mut().fold(false, shorten) {
                return written;
            }
        }
    }

    /// The failure of a run with incomplete recordings.
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let messages: Vec<String> = self.0.iter().map(IncompleteFile::message).collect();
        Err(Failure::run(messages.join("\n")))
    }
}

fn is_full(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

impl IncompleteFile {
    fn message(&self) -> String {
        let (path, error, option) = (display_name(&self.path), &self.error, self.option);
        let shortened = if self.shortened {
            ", and shortened to make room for the report"
        } else {
            ""
        };
        format!("{path} is incomplete{shortened}: {error}; choose another file with {option}")
    }

    /// Removes the second half of a regular file that filled the disk; returns whether there was
    /// one.
    fn shorten(&mut self) -> bool {
        let halve = || {
            let file = File::options().write(true).open(&self.path)?;
            let metadata = file.metadata()?;
            let len = if metadata.len() < MIN_LEN {
                0
            } else {
                metadata.len() / 2
            };
            let can_shorten = metadata.is_file() && metadata.len() > 0;
            if can_shorten {
                file.set_len(len)?;
            }
            Ok::<bool, io::Error>(can_shorten)
        };
        let shortened = is_full(self.error.kind()) && halve().unwrap_or(false);
        self.shortened |= shortened;
        shortened
    }
}
