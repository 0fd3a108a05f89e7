//! `polypath replay`: replays a recording.

use std::path::PathBuf;

use polypath_live::recording::{
    FirstDifference, Reader, RecordingError, RecordingHeader, ReplayResult, replay,
};
use serde_json::json;

use crate::failure::{Failure, print_message, without_controls};
use crate::output::print;
use crate::scenario::Format;

/// Arguments of `polypath replay`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every decision is as recorded; 1 a decision differs; 2 the file is not a recording, or \
                  damaged."
)]
pub(crate) struct Args {
    /// The recording, written by `polypath node --record` or `polypath stream get --record`.
    recording: PathBuf,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The maximum length of a string from the file in the output, in characters.
const MAX_SHOWN: usize = 80;

/// Replays a recording with a machine of this version, up to the first decision that differs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.recording.display();
    let invalid = |error: &dyn std::fmt::Display| Failure::input(format!("{path}: {error}"));
    let (header, mut reader) = Reader::open(&args.recording).map_err(|error| match error {
        RecordingError::WrongKind(error) => Failure::input(error),
        error => invalid(&error),
    })?;
    let result = replay(&header, &mut reader).map_err(|error| invalid(&error))?;
    if reader.is_truncated() {
        print_message(&format!(
            "{path}: the end of the recording is missing, as if the program was killed or its disk was full; it has no \
             decisions after line {}",
            result.wakes + 1
        ));
    }
    let text = match args.format {
        Format::Json => json(&header, &result, reader.is_truncated()).to_string(),
        Format::Table => summary(&header, &result),
    };
    print(&format!("{text}\n"))?;
    let Some(FirstDifference { line, at, text, .. }) = result.difference else {
        return Ok(());
    };
    let at = at.as_secs_f64();
    Err(Failure::run(format!(
        "{path}: line {line}, at {at:.9} s: {text}"
    )))
}

/// The time from the first to the last wake in seconds.
fn span_s(result: &ReplayResult) -> f64 {
    let since = |first| result.last.since(first).as_secs_f64();
    result.first.map_or(0.0, since)
}

fn summary(header: &RecordingHeader, result: &ReplayResult) -> String {
    format!(
        "{} wakes and {} decisions over {:.3} s match the recording of {}",
        result.wakes,
        result.decisions,
        span_s(result),
        one_line(&header.software)
    )
}

/// A string from the file for the terminal: one line without control characters, of limited length.
fn one_line(text: &str) -> String {
    without_controls(text)
        .replace('\n', " ")
        .chars()
        .take(MAX_SHOWN)
        .collect()
}

fn json(header: &RecordingHeader, result: &ReplayResult, is_truncated: bool) -> serde_json::Value {
    json!({
        "software": header.software,
        "started": header.started,
        "wakes": result.wakes,
        "decisions": result.decisions,
        "span_s": span_s(result),
        "truncated": is_truncated,
        "difference": result.difference.as_ref().map(|found| json!({
            "line": found.line,
            "difference": found.json,
        })),
    })
}
