//! The event stream of a node: lines of JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use polypath_core::event::{Event, Stamped, VERSION};
use polypath_core::time::Time;

use super::NodeError;

/// The option of the command line that names the file.
const OPTION: &str = "--events";

/// A file of events.
#[derive(Debug)]
pub(super) struct EventFile {
    file: BufWriter<File>,
    path: PathBuf,
}

impl EventFile {
    /// Creates the file and writes the stream's version into its first line.
    pub(super) fn create(path: &Path) -> Result<Self, NodeError> {
        let create = || {
            let mut file = BufWriter::new(File::create(path)?);
            serde_json::to_writer(&mut file, &serde_json::json!({ "version": VERSION }))?;
            file.write_all(b"\n")?;
            Ok(file)
        };
        let path = path.to_owned();
        match create() {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(NodeError::File {
                option: OPTION,
                path,
                source,
            }),
        }
    }

    pub(super) fn write(&mut self, at: Time, event: Event) -> io::Result<()> {
        let written = serde_json::to_writer(&mut self.file, &Stamped { at, event });
        let written = written.map_err(io::Error::from);
        let ended = written.and_then(|()| self.file.write_all(b"\n"));
        ended.map_err(|error| self.name(&error))
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        flushed.map_err(|error| self.name(&error))
    }

    /// A record with a gap would be a lie: the failure ends the node, and says where it was.
    fn name(&self, error: &io::Error) -> io::Error {
        let path = self.path.display();
        io::Error::new(error.kind(), format!("{OPTION} {path}: {error}"))
    }
}
