//! The output of the races.

use std::io::{self, Write};

/// The format of a race's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Tables.
    Text,
    /// JSON with each run.
    Json,
}

/// Prints results on standard output at once, since a race takes long.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Prints the progress or an error of a race on standard error.
pub(crate) fn log(race: &str, message: &str) {
    // A failed write to standard error has no one to report it to.
    let _ = writeln!(io::stderr(), "{race}: {message}");
}
