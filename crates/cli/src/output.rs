//! What a run prints: on standard output, or beside it.

use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Prints to standard output; a reader that has gone away has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    try_print(text).map(|_| ())
}

/// The same; false where the reader has gone away.
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

/// Writes to standard error what has no place on standard output, which carries a recording.
pub(crate) fn print_to_stderr(text: &str) {
    // The report is in its folder; where nobody listens there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Refuses options that name a file which is read, or the same file twice: writing would destroy
/// it.
pub(crate) fn check_distinct(
    outputs: &[(&str, &Option<PathBuf>)],
    inputs: &[&Path],
) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut taken: Vec<PathBuf> = inputs.iter().map(|path| real(path)).collect();
    for (option, path) in outputs {
        let Some(path) = path.as_deref().filter(|path| !is_device(path)) else {
            continue;
        };
        let file = real(path);
        if taken.contains(&file) {
            let path = path.display();
            return Err(Failure::input(format!(
                "{option} {path}: this file is read, or written by another option, and would be destroyed; name another"
            )));
        }
        taken.push(file);
    }
    Ok(())
}

/// Whether many may write to it, as to `/dev/null`.
fn is_device(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_would_destroy_a_file_is_refused() {
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
            check_distinct(&outputs, &[&key]).is_ok()
        };
        assert!(check("new", "other"));
        assert!(check("/dev/null", "/dev/null"));
        assert!(!check("a.key", "other"));
        assert!(!check("new", "link"), "whatever it is called");
        assert!(!check("new", "new"));
    }
}
