//! The event stream of a node: lines of JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use polypath_core::event::{Event, Stamped, VERSION};
use polypath_core::time::Time;

use super::NodeError;

/// A file of events.
#[derive(Debug)]
pub(super) struct EventFile(BufWriter<File>);

impl EventFile {
    /// Creates the file and writes the stream's version into its first line.
    pub(super) fn create(path: &Path) -> Result<Self, NodeError> {
        let create = || {
            let mut file = BufWriter::new(File::create(path)?);
            serde_json::to_writer(&mut file, &serde_json::json!({ "version": VERSION }))?;
            file.write_all(b"\n")?;
            Ok(file)
        };
        let file = create().map_err(|source| NodeError::File {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self(file))
    }

    pub(super) fn write(&mut self, at: Time, event: Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, &Stamped { at, event })?;
        self.0.write_all(b"\n")
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
