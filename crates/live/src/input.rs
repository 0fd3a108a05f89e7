//! Reads input files: those of nodes, relays and scenarios, and the files that they name.
//!
//! Accepts regular files and descriptors that the process inherited (`/dev/stdin`, a shell's
//! `<(...)`). Other files, such as a FIFO or `/dev/zero`, may block or never end, and are refused.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::O_NONBLOCK;

use crate::recording;

/// The maximum length of a text file in bytes.
const MAX_TEXT: u64 = 16 << 20;

/// The text of the file `path`; the error for a recording or for other content names the remedy.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if recording::is_recording(&bytes) {
        let path = path.display();
        return Err(refusal(format!(
            "this is a recording of a node; replay it with `polypath replay {path}`"
        )));
    }
    if bytes.len() as u64 > MAX_TEXT {
        let most = MAX_TEXT >> 20;
        return Err(refusal(format!(
            "it is longer than {most} MiB, the limit for text files"
        )));
    }
    String::from_utf8(bytes).map_err(|_| refusal("it is not UTF-8 text".to_owned()))
}

/// The bytes of the file `path`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the file `path`, a regular file or an inherited descriptor.
pub(crate) fn open(path: &Path) -> io::Result<File> {
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
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        let words = "this is not a regular file; name one, or pass its content on /dev/stdin";
        return Err(refusal(words.to_owned()));
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

fn refusal(words: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn files_and_inherited_pipes_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "a = 1\n").unwrap();
        assert_eq!(read_text(&path).unwrap(), "a = 1\n");
        assert_eq!(read(&path).unwrap(), b"a = 1\n");
        let (reader, mut writer) = io::pipe().unwrap();
        let name = format!("/dev/fd/{}", reader.as_raw_fd());
        let late = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            writer.write_all(b"b = 2\n").unwrap();
        });
        assert_eq!(read_text(name.as_ref()).unwrap(), "b = 2\n");
        late.join().unwrap();
    }

    #[test]
    fn files_that_may_never_end_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for path in [&*fifo, "/dev/zero".as_ref()] {
            for error in [read_text(path).unwrap_err(), read(path).unwrap_err()] {
                assert!(error.to_string().contains("not a regular file"), "{error}");
            }
        }
        let error = read_text(directory.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        // As an inherited descriptor it is read, up to the limit.
        let zero = File::open("/dev/zero").unwrap();
        let name = format!("/dev/fd/{}", zero.as_raw_fd());
        let error = read_text(name.as_ref()).unwrap_err();
        assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
    }

    #[test]
    fn a_recording_of_any_length_is_recognised() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.recording");
        let head = "{\"recording\":1,\"software\":\"polypath\"}\n".to_owned();
        for text in [head.clone(), head.clone() + &" ".repeat(17 << 20)] {
            fs::write(&path, text).unwrap();
            let error = read_text(&path).unwrap_err().to_string();
            assert!(error.contains("polypath replay "), "{error}");
        }
        fs::write(&path, format!("# {head}")).unwrap();
        assert!(read_text(&path).is_ok());
    }
}
