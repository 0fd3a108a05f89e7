//! Standard output.

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints to standard output; a reader that has gone away has seen enough.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(anyhow::Error::from(error)
            .context("cannot print the result")
            .into()),
        _ => Ok(()),
    }
}
