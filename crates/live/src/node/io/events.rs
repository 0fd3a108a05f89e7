//! The event stream of a node: lines of JSON.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::{ENXIO, O_NONBLOCK};
use polypath_core::event::{Event, Stamped, VERSION};
use polypath_core::time::Time;

use crate::node::error::NodeError;
use crate::output_file::{self, Kind, Readers, kind_of};

/// Events have the times, lengths and paths of all packets.
const READERS: Readers = Readers::Group;
/// The option of the command line that names the file.
const OPTION: &str = "--events";

/// The file of the event stream.
#[derive(Debug)]
pub(in crate::node) struct EventFile {
    file: BufWriter<File>,
    path: PathBuf,
    /// The error that ended the stream.
    failed: Option<io::Error>,
}

impl EventFile {
    /// Creates the file and writes its first line, with the version of the stream. An existing
    /// device or FIFO is opened; a FIFO without a reader is an error.
    pub(in crate::node) fn create(path: &Path) -> Result<Self, NodeError> {
        let create = || {
            let mut file = BufWriter::new(open(path)?);
            serde_json::to_writer(&mut file, &serde_json::json!({ "version": VERSION }))?;
            file.write_all(b"\n")?;
            Ok(file)
        };
        let path = path.to_owned();
        match create() {
            Ok(file) => Ok(Self {
                file,
                path,
                failed: None,
            }),
            Err(source) => Err(NodeError::File {
                option: OPTION,
                path,
                source,
            }),
        }
    }

    /// Writes an event. An error ends the stream, since a gap would mislead readers; the node
    /// continues.
    pub(in crate::node) fn write(&mut self, at: Time, event: Event) {
        self.attempt(|file| {
            serde_json::to_writer(&mut *file, &Stamped { at, event })?;
            file.write_all(b"\n")
        });
    }

    /// Writes buffered events to the file.
    pub(in crate::node) fn flush(&mut self) {
        self.attempt(Write::flush);
    }

    /// Writes buffered events to the file; returns the error that ended the stream, if one did.
    pub(in crate::node) fn finish(&mut self) -> io::Result<()> {
        self.flush();
        self.failed.take().map_or(Ok(()), Err)
    }

    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = write(&mut self.file) {
            let path = self.path.display();
            let named = io::Error::new(error.kind(), format!("{OPTION} {path}: {error}"));
            tracing::error!("{named}; the event stream ends here, and the node continues");
            self.failed = Some(named);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    match kind_of(path)? {
        Kind::File => output_file::create(path, READERS),
        Kind::Device => options.open(path),
        Kind::Fifo => {
            // An ordinary open would block until there is a reader.
            let _open_without_blocking = options
                .clone()
                .custom_flags(O_NONBLOCK)
                .open(path)
                .map_err(|error| match error.raw_os_error() {
                    Some(ENXIO) => io::Error::new(error.kind(), "this FIFO has no reader"),
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
    use polypath_core::frame::PathId;
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    #[test]
    fn others_cannot_read_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        EventFile::create(&path).unwrap();
        assert_eq!(mode() & !0o640, 0);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
        EventFile::create(&path).unwrap();
        assert_eq!(mode(), 0o660);
    }

    #[test]
    fn a_fifo_without_a_reader_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let error = EventFile::create(&path).unwrap_err().to_string();
        assert!(
            error.contains("--events") && error.contains("no reader"),
            "{error}"
        );
        let mut reader = OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(&path)
            .unwrap();
        let mut file = EventFile::create(&path).unwrap();
        file.finish().unwrap();
        let mut read = [0; 64];
        let len = reader.read(&mut read).unwrap();
        assert_eq!(
            read[..len],
            format!("{{\"version\":{VERSION}}}\n").into_bytes()[..]
        );
        assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_full_disk_ends_the_stream_and_is_reported_at_the_end() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            // The runner captures what the print macros write.
            let _ = writeln!(io::stderr(), "skipped: there is no /dev/full here");
            return;
        }
        let mut file = EventFile::create(full).unwrap();
        file.flush();
        let (path, len) = (PathId(0), 9);
        file.write(Time(1), Event::Delivered { path, len });
        let error = file.finish().unwrap_err().to_string();
        assert!(error.contains("--events /dev/full"), "{error}");
    }
}
