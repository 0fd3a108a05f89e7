//! `polypath replay`: replays a recording.

use std::path::PathBuf;

use polypath_core::time::Time;
use polypath_live::recording::{Reader, RecordingError, RecordingHeader};
use polypath_session::record::{Difference, Replay};
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
    /// The recording, written by `polypath node --record`.
    recording: PathBuf,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The maximum length of a string from the file in the output, in characters.
const MAX_SHOWN: usize = 80;

/// The number of replayed wakes and decisions, and their time span.
#[derive(Default)]
struct ReplayCounts {
    wakes: u64,
    decisions: u64,
    first: Option<Time>,
    last: Time,
}

/// The first difference between replay and recording.
struct FirstDifference {
    line: u64,
    difference: Box<Difference>,
}

/// Replays a recording with an endpoint of this version, up to the first decision that differs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.recording.display();
    let invalid = |error: &dyn std::fmt::Display| Failure::input(format!("{path}: {error}"));
    let (header, mut lines) = Reader::open(&args.recording).map_err(|error| match error {
        RecordingError::WrongKind(error) => Failure::input(error),
        error => invalid(&error),
    })?;
    let mut replay = Replay::new(&header.endpoint).map_err(|e| invalid(&format!("line 1: {e}")))?;
    let mut counts = ReplayCounts::default();
    let mut first_difference = None;
    for line in lines.by_ref() {
        let line = line.map_err(|e| invalid(&e))?;
        if let Err(difference) = replay.check(&line.entry) {
            let line = line.number;
            first_difference = Some(FirstDifference { line, difference });
            break;
        }
        counts.count(line.entry.at, line.entry.outputs.len());
    }
    if lines.is_truncated() {
        print_message(&format!(
            "{path}: the end of the recording is missing, as if the node was killed or its disk was full; it has no \
             decisions after line {}",
            counts.wakes + 1
        ));
    }
    let text = match args.format {
        Format::Json => json(
            &header,
            &counts,
            first_difference.as_ref(),
            lines.is_truncated(),
        )
        .to_string(),
        Format::Table => counts.summary(&header),
    };
    print(&format!("{text}\n"))?;
    first_difference.map_or(Ok(()), |FirstDifference { line, difference }| {
        let at = difference.at().as_secs_f64();
        Err(Failure::run(format!(
            "{path}: line {line}, at {at:.9} s: {difference}"
        )))
    })
}

impl ReplayCounts {
    fn count(&mut self, at: Time, decisions: usize) {
        self.wakes += 1;
        self.decisions += decisions as u64;
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
    }

    fn span_s(&self) -> f64 {
        self.first
            .map_or(0.0, |first| self.last.since(first).as_secs_f64())
    }

    fn summary(&self, header: &RecordingHeader) -> String {
        format!(
            "{} wakes and {} decisions over {:.3} s match the recording of {}",
            self.wakes,
            self.decisions,
            self.span_s(),
            one_line(&header.software)
        )
    }
}

/// A string from the file for the terminal: one line without control characters, of limited length.
fn one_line(text: &str) -> String {
    without_controls(text)
        .replace('\n', " ")
        .chars()
        .take(MAX_SHOWN)
        .collect()
}

fn json(
    header: &RecordingHeader,
    counts: &ReplayCounts,
    first_difference: Option<&FirstDifference>,
    truncated: bool,
) -> serde_json::Value {
    json!({
        "software": header.software,
        "started": header.started,
        "wakes": counts.wakes,
        "decisions": counts.decisions,
        "span_s": counts.span_s(),
        "truncated": truncated,
        "difference": first_difference.map(|first_difference| json!({
            "line": first_difference.line,
            "difference": *first_difference.difference,
        })),
    })
}
