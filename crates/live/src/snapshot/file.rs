//! The file or device to which snapshots are written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;
use serde::Serialize;

use crate::output_file::{Kind, Readers, kind_of, refusal};

/// Snapshots name peers and their traffic.
const READERS: Readers = Readers::Group;
/// Most symbolic links followed, as in the kernel.
const MAX_LINKS: u32 = 40;

/// A file that is replaced atomically, so that readers never see a part of it; or a device, to
/// which documents are appended.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFile {
    path: PathBuf,
    target: Target,
    is_durable: bool,
}

#[derive(Clone, Debug)]
enum Target {
    /// A regular file, which a draft in the same directory replaces.
    Replaced(PathBuf),
    Device,
}

impl SnapshotFile {
    /// The file `path`; the target of a symbolic link is replaced.
    ///
    /// # Errors
    /// No file can be created in its directory, or it is a FIFO, whose reader could block the node.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let target = match kind_of(path)? {
            Kind::File => Target::replacing(path)?,
            Kind::Device => {
                open_device(path)?;
                Target::Device
            }
            Kind::Fifo => return Err(refusal("it is a FIFO, whose reader could block the node")),
        };
        let path = path.to_owned();
        Ok(Self {
            path,
            target,
            is_durable: false,
        })
    }

    /// The same file, but a write waits for the disk: after a power failure the file contains the last
    /// document or the one before.
    #[must_use]
    pub(crate) fn durable(self) -> Self {
        Self {
            is_durable: true,
            ..self
        }
    }

    /// The path of the file.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `snapshot`.
    pub(crate) fn write(&self, snapshot: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(snapshot)?;
        text.push(b'\n');
        match &self.target {
            Target::Replaced(file) => {
                let (draft, mut new) = READERS.create_draft(file)?;
                let mut written = new.write_all(&text);
                if self.is_durable {
                    written = written.and_then(|()| new.sync_all());
                }
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
        let (draft, _) = READERS.create_draft(&file)?;
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
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

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
        assert!(SnapshotFile::new(directory.path()).is_err());
        assert!(SnapshotFile::new(&directory.path().join("none/stats.json")).is_err());
        let file = SnapshotFile::new(&path).unwrap();
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
        let file = SnapshotFile::new(&path).unwrap();
        file.write(&stats()).unwrap();
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode() & !0o640, 0);
        for (existing, narrowed) in [(0o666, 0o660), (0o600, 0o600)] {
            fs::set_permissions(&path, PermissionsExt::from_mode(existing)).unwrap();
            file.write(&stats()).unwrap();
            assert_eq!(mode(), narrowed, "of {existing:o}");
        }
    }

    #[test]
    fn a_document_that_cannot_be_written_leaves_no_draft() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        let file = SnapshotFile::new(&path).unwrap();
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
        let file = SnapshotFile::new(&link).unwrap();
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
        let error = SnapshotFile::new(&fifo).unwrap_err();
        assert!(error.to_string().contains("FIFO"), "{error}");
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
        // Not written to: a bug would replace the machine's own device.
        let null = directory.path().join("null");
        symlink("/dev/null", &null).unwrap();
        let file = SnapshotFile::new(&null).unwrap();
        assert!(matches!(file.target, Target::Device));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
