//! Reads input files: those of nodes, relays, scenarios and ledgers, and the files that they name.
//!
//! Accepts regular files and descriptors that the process inherited (`-`, `/dev/stdin`, a shell's
//! `<(...)`). Other files, such as a FIFO or `/dev/zero`, may block or never end, and are refused.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;

use crate::kind::{FileKind, WrongKind, check_kind, kinds_of};

/// The maximum length of a text file in bytes.
const MAX_TEXT: u64 = 16 << 20;
/// The number of bytes by which the kind of a longer file is recognised.
const MAX_START: usize = 64 << 10;

/// The error of a file that cannot be used, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is of another kind.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The file is longer than any text file of the program.
    #[error("{path} is longer than {most} MiB, the limit for text files", path = .0.display(), most = MAX_TEXT >> 20)]
    TooLong(PathBuf),
    /// The file is binary, or has another encoding.
    #[error("{path} is not UTF-8 text: {reason}; save it in this encoding, or name another file", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The position of the first other byte.
        reason: String,
    },
}

/// The content of a file of any kind, read once.
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    /// At most one byte more than a text file may have.
    bytes: Vec<u8>,
}

impl InputFile {
    /// Reads the file `path`, up to the maximum length of a text file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let mut bytes = Vec::new();
        let path = path.to_owned();
        match open(&path).and_then(|file| file.take(MAX_TEXT + 1).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Self { path, bytes }),
            Err(source) => Err(FileError::Read { path, source }),
        }
    }

    /// The kinds that the file may be of; see [`kinds_of`].
    #[must_use]
    pub fn kinds(&self) -> Vec<FileKind> {
        kinds_of(&self.bytes)
    }

    /// The content; `None` if it is longer than a text file may be.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        (self.bytes.len() as u64 <= MAX_TEXT).then_some(&self.bytes)
    }

    /// The text of a file that is of one of the `wanted` kinds, or of no kind of the program.
    ///
    /// # Errors
    /// The file is of another kind, too long, or not text.
    pub fn into_text(self, wanted: &[FileKind]) -> Result<String, FileError> {
        let Self { path, bytes } = self;
        let is_too_long = bytes.len() as u64 > MAX_TEXT;
        let known = if is_too_long {
            &bytes[..MAX_START]
        } else {
            &bytes
        };
        check_kind(&path.display().to_string(), known, wanted)?;
        if is_too_long {
            return Err(FileError::TooLong(path));
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
            let reason = format!("line {line} has the byte {:#04x}", error.as_bytes()[at]);
            FileError::NotText { path, reason }
        })
    }
}

/// The text of the file `path`, which must not be of a kind other than `wanted`.
///
/// # Errors
/// The file cannot be read, or is of another kind, too long, or not text.
pub fn read_text(path: &Path, wanted: &[FileKind]) -> Result<String, FileError> {
    InputFile::read(path)?.into_text(wanted)
}

/// The bytes of the file `path`.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the file `path`, a regular file or an inherited descriptor; `-` is standard input.
///
/// # Errors
/// The file cannot be opened, or is a directory, a FIFO or a device.
pub fn open(path: &Path) -> io::Result<File> {
    if path == "-" {
        return io::stdin().as_fd().try_clone_to_owned().map(File::from);
    }
    if is_inherited(path) {
        return File::open(path);
    }
    // Opening a FIFO blocks until there is a writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        let words = "it is a directory; name a file in it";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, words));
    }
    if !kind.is_file() {
        let words =
            "this is not a regular file; name one, or pass its content on standard input (`-`)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    Ok(file)
}

/// Whether the process inherited it.
fn is_inherited(path: &Path) -> bool {
    let directories = ["/dev/fd", "/proc/self/fd"];
    path == "/dev/stdin"
        || directories
            .iter()
            .any(|directory| path.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    fn text(path: &Path) -> Result<String, String> {
        read_text(path, &[FileKind::Node]).map_err(|error| error.to_string())
    }

    #[test]
    fn files_and_inherited_pipes_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "a = 1\n").unwrap();
        assert_eq!(text(&path).unwrap(), "a = 1\n");
        assert_eq!(read(&path).unwrap(), b"a = 1\n");
        let (reader, mut writer) = io::pipe().unwrap();
        let name = format!("/dev/fd/{}", reader.as_raw_fd());
        let late = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            writer.write_all(b"b = 2\n").unwrap();
        });
        assert_eq!(text(name.as_ref()).unwrap(), "b = 2\n");
        late.join().unwrap();
    }

    #[test]
    fn files_that_may_never_end_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for path in [&*fifo, "/dev/zero".as_ref()] {
            for error in [text(path).unwrap_err(), read(path).unwrap_err().to_string()] {
                assert!(error.contains("not a regular file"), "{error}");
            }
        }
        let error = text(directory.path()).unwrap_err();
        assert!(error.contains("is a directory"), "{error}");
        // As an inherited descriptor it is read, up to the limit.
        let zero = File::open("/dev/zero").unwrap();
        let name = format!("/dev/fd/{}", zero.as_raw_fd());
        let error = text(name.as_ref()).unwrap_err();
        assert!(error.contains("longer than 16 MiB"), "{error}");
    }

    #[test]
    fn a_recording_of_any_length_is_recognised() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.recording");
        let head = "{\"recording\":1,\"software\":\"polypath\"}\n".to_owned();
        for content in [head.clone(), head.clone() + &" ".repeat(17 << 20)] {
            fs::write(&path, content).unwrap();
            let error = text(&path).unwrap_err();
            assert!(error.contains("polypath replay "), "{error}");
        }
        fs::write(&path, format!("# {head}")).unwrap();
        assert!(text(&path).is_ok());
    }

    #[test]
    fn binary_content_is_refused_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.toml");
        fs::write(&path, b"a = 1\nb = \"\xff\"\n").unwrap();
        let error = text(&path).unwrap_err();
        assert!(
            error.contains("a.toml is not UTF-8 text: line 2 has the byte 0xff; save it"),
            "{error}"
        );
    }
}
