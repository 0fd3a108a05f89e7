//! What a run prints: on standard output, or beside it.

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints to standard output; a reader that has gone away has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_on(text).map(|_| ())
}

/// The same; false where the reader has gone away.
pub(crate) fn print_on(text: &str) -> Result<bool, Failure> {
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
pub(crate) fn tell_report(text: &str) {
    // The report is in its folder; where nobody listens there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
