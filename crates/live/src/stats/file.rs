//! The file or device to which statistics are written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;
use polypath_document::create_draft;
use serde::Serialize;

use crate::output_file::Readers;

/// Statistics name peers and their traffic.
const READERS: Readers = Readers::Group;
/// Most symbolic links followed, as in the kernel.
const MAX_LINKS: u32 = 40;

/// The kind of an output file, symbolic links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, or one that does not exist yet.
    File,
    /// A device, such as `/dev/null` or a terminal.
    Device,
    /// A FIFO.
    Fifo,
}

/// The kind of the file `path`.
///
/// # Errors
/// It is a directory or a socket, or cannot be read.
pub fn kind_of(path: &Path) -> io::Result<Kind> {
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kind::File),
        Err(error) => return Err(error),
    };
    if kind.is_file() {
        Ok(Kind::File)
    } else if kind.is_char_device() {
        Ok(Kind::Device)
    } else if kind.is_fifo() {
        Ok(Kind::Fifo)
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(refusal(
            "it is neither a regular file nor a character device",
        ))
    }
}

/// A file that is replaced atomically, so that readers never see a part of it; or a device, to
/// which documents are appended.
#[derive(Clone, Debug)]
pub struct StatsFile {
    path: PathBuf,
    target: Target,
}

#[derive(Clone, Debug)]
enum Target {
    /// A regular file, which a draft in the same directory replaces.
    Replaced(PathBuf),
    Device,
}

impl StatsFile {
    /// The file `path`; the target of a symbolic link is replaced.
    ///
    /// # Errors
    /// No file can be created in its directory, or it is a FIFO, whose reader could block the node.
    pub fn new(path: &Path) -> io::Result<Self> {
        let target = match kind_of(path)? {
            Kind::File => Target::replacing(path)?,
            Kind::Device => {
                open_device(path)?;
                Target::Device
            }
            Kind::Fifo => return Err(refusal("it is a FIFO, whose reader could block the node")),
        };
        let path = path.to_owned();
        Ok(Self { path, target })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `stats`.
    pub fn write(&self, stats: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(stats)?;
        text.push(b'\n');
        match &self.target {
            Target::Replaced(file) => {
                let (draft, mut new) = create_draft(file, READERS.mode_of(file))?;
                let written = new.write_all(&text);
                let moved = written.and_then(|()| fs::rename(&draft, file));
                if moved.is_err() {
                    // The first error is the cause, as a full disk.
                    let _ = fs::remove_file(&draft);
                }
                moved
            }
            Target::Device => open_device(&self.path)?.write_all(&text),
        }
    }
}

impl Target {
    fn replacing(path: &Path) -> io::Result<Self> {
        let file = follow_links(path)?;
        let (draft, _) = create_draft(&file, READERS.mode_of(&file))?;
        fs::remove_file(&draft)?;
        Ok(Self::Replaced(file))
    }
}

/// The target of `path`, which need not exist: a rename would replace the link itself.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(refusal("too many symbolic links"))
}

/// Opens a device without blocking: a stopped terminal must not stop the node.
fn open_device(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(O_NONBLOCK)
        .open(path)
}

fn refusal(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DriveReport;
    use crate::stats::{PathStats, Stats, VERSION, drive, session};
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use polypath_core::event::DropReason;
    use polypath_core::time::Time;
    use polypath_session::event::Counters;
    use serde_json::Value;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn stats() -> Stats {
        Stats {
            version: VERSION,
            at: Time(5),
            established: true,
            paths: vec![PathStats::default()],
            peer_paths: Some(1),
            dropped: [(DropReason::BehindWindow, 3)].into(),
            session: session(&Counters::default(), None),
            drive: Some(drive(&DriveReport::default())),
            ..Stats::default()
        }
    }

    fn read(path: &Path) -> Value {
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn the_file_is_replaced_atomically() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        assert!(StatsFile::new(directory.path()).is_err());
        assert!(StatsFile::new(&directory.path().join("none/stats.json")).is_err());
        let file = StatsFile::new(&path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        file.write(&stats()).unwrap();
        file.write(&stats()).unwrap();
        let read = read(&path);
        assert_eq!(read["at"], 5);
        assert_eq!(read["session"]["rejected"]["replayed"], 0);
        assert_eq!(read["dropped"]["behind-window"], 3);
        assert!(read["paths"][0]["last_received_s"].is_null());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn others_cannot_read_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        let file = StatsFile::new(&path).unwrap();
        file.write(&stats()).unwrap();
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode() & !0o640, 0);
        for (existing, narrowed) in [(0o666, 0o660), (0o600, 0o600)] {
            fs::set_permissions(&path, PermissionsExt::from_mode(existing)).unwrap();
            file.write(&stats()).unwrap();
            assert_eq!(mode() & !narrowed, 0, "{existing:o} becomes {:o}", mode());
        }
    }

    #[test]
    fn a_document_that_cannot_be_written_leaves_no_draft() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        let file = StatsFile::new(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(file.write(&stats()).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_target_of_a_symbolic_link_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = directory.path().join("link");
        symlink("elsewhere/stats.json", &link).unwrap();
        let file = StatsFile::new(&link).unwrap();
        for _ in 0..2 {
            file.write(&stats()).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(read(&elsewhere.join("stats.json"))["at"], 5);
        }
    }

    #[test]
    fn fifos_and_devices_are_never_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let error = StatsFile::new(&fifo).unwrap_err();
        assert!(error.to_string().contains("FIFO"), "{error}");
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
        // Not written to: a bug would replace the machine's own device.
        let null = directory.path().join("null");
        symlink("/dev/null", &null).unwrap();
        let file = StatsFile::new(&null).unwrap();
        assert!(matches!(file.target, Target::Device));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
