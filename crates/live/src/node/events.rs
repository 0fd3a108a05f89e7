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
    /// Why nothing is written any more.
    failed: Option<io::Error>,
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

    /// Writes an event. Where that fails, the stream ends there, since one with a gap would be a lie; the node goes on.
    pub(super) fn write(&mut self, at: Time, event: Event) {
        self.attempt(|file| {
            serde_json::to_writer(&mut *file, &Stamped { at, event })?;
            file.write_all(b"\n")
        });
    }

    /// Writes what is still in memory.
    pub(super) fn flush(&mut self) {
        self.attempt(Write::flush);
    }

    /// Writes what is still in memory; fails where the stream had to end before.
    pub(super) fn finish(&mut self) -> io::Result<()> {
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
            tracing::error!("{named}; the event stream ends here, and the node goes on");
            self.failed = Some(named);
        }
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
    use polypath_core::frame::PathId;
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
    fn a_full_disk_ends_the_stream_and_is_told_at_the_end() {
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
        let said = file.finish().unwrap_err().to_string();
        assert!(said.contains("--events /dev/full"), "{said}");
    }
}
