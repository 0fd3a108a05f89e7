//! Output of a command to standard output or standard error.

use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Prints to standard output; a closed pipe is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    try_print(text).map(|_| ())
}

/// Like [`print()`]; returns false if the pipe is closed.
pub(crate) fn try_print(text: &str) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(anyhow::Error::from(error)
            .context("cannot print the result")
            .into()),
        result => Ok(result.is_ok()),
    }
}

/// Writes a report to standard error, since standard output carries a recording.
pub(crate) fn print_to_stderr(text: &str) {
    // The report is also in its folder.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Refuses output options that name an input file, a socket or the same file twice, since writing
/// would destroy it.
pub(crate) fn check_distinct(
    outputs: &[(&str, &Option<PathBuf>)],
    inputs: &[&Path],
) -> Result<(), Failure> {
    let mut used: Vec<PathBuf> = inputs.iter().map(|path| real(path)).collect();
    for (option, path) in outputs {
        let Some(path) = path.as_deref().filter(|path| !is_device(path)) else {
            continue;
        };
        let file = real(path);
        if used.contains(&file) {
            let path = path.display();
            return Err(Failure::input(format!(
                "{option} {path}: this file is an input, a socket, or the output of another option, and would be overwritten; \
                 choose another file"
            )));
        }
        used.push(file);
    }
    Ok(())
}

/// The absolute path of a file, which need not exist.
fn real(path: &Path) -> PathBuf {
    let existing = path.canonicalize().ok();
    let new = || {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    existing.or_else(new).unwrap_or_else(|| path.to_owned())
}

/// Whether a path is a character device such as `/dev/null`, which several outputs can share.
fn is_device(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_would_overwrite_a_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| Some(directory.path().join(name));
        let key = path("a.key").unwrap();
        std::fs::write(&key, "secret").unwrap();
        std::os::unix::fs::symlink(&key, path("link").unwrap()).unwrap();
        let check = |events: &str, stats: &str| {
            let at = |name: &str| match name {
                "/dev/null" => Some(PathBuf::from(name)),
                name => path(name),
            };
            let outputs = [("--events", &at(events)), ("--stats", &at(stats))];
            let socket = directory.path().join("./a.sock");
            check_distinct(&outputs, &[&key, &socket]).is_ok()
        };
        assert!(check("new", "other"));
        assert!(check("/dev/null", "/dev/null"));
        assert!(!check("a.key", "other"));
        assert!(!check("new", "link"), "a symbolic link to the key");
        assert!(!check("new", "new"));
        assert!(!check("new", "a.sock"), "a socket that is not open yet");
    }
}
