//! The event stream of a node: lines of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::{ENXIO, O_NONBLOCK};
use polypath_core::event::{Event, Stamped, VERSION};
use polypath_core::time::Time;

use super::NodeError;
use crate::stats::{Kind, kind_of};

/// The option of the command line that names the file.
const OPTION: &str = "--events";

/// A file of events.
#[derive(Debug)]
pub(super) struct EventFile {
    file: BufWriter<File>,
    path: PathBuf,
}

impl EventFile {
    /// Creates the file and writes the stream's version into its first line. A device or a FIFO is
    /// written to as it is; a FIFO that nobody reads is refused.
    pub(super) fn create(path: &Path) -> Result<Self, NodeError> {
        let create = || {
            let mut file = BufWriter::new(open(path)?);
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

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    match kind_of(path)? {
        Kind::File => File::create(path),
        Kind::Device => options.open(path),
        Kind::Fifo => {
            // Without a reader an ordinary open would wait for one, and the node with it.
            let _reader_is_there = options
                .clone()
                .custom_flags(O_NONBLOCK)
                .open(path)
                .map_err(|error| match error.raw_os_error() {
                    Some(ENXIO) => io::Error::new(error.kind(), "nobody reads this FIFO yet"),
                    _ => error,
                })?;
            options.open(path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::io::Read;
    use std::os::unix::fs::FileTypeExt;

    #[test]
    fn a_fifo_is_written_to_if_somebody_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let error = EventFile::create(&path).unwrap_err().to_string();
        assert!(
            error.contains("--events") && error.contains("nobody reads"),
            "{error}"
        );
        let mut reader = OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(&path)
            .unwrap();
        let mut file = EventFile::create(&path).unwrap();
        file.flush().unwrap();
        let mut read = [0; 64];
        let len = reader.read(&mut read).unwrap();
        assert_eq!(
            read[..len],
            format!("{{\"version\":{VERSION}}}\n").into_bytes()[..]
        );
        assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    }
}
