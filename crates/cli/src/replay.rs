//! `polypath replay`: a recording gone through again.

use std::path::PathBuf;

use polypath_core::time::Time;
use polypath_live::recording::{Header, Reader};
use polypath_session::record::{Difference, Replay};
use serde_json::json;

use crate::failure::{Failure, plain, print_message};
use crate::output::print;
use crate::scenario::Format;

/// Arguments of `polypath replay`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every decision is as it was recorded; 1 one differs; 2 the file is no recording, or \
                  broken."
)]
pub(crate) struct Args {
    /// The recording, as `polypath node --record` wrote it.
    recording: PathBuf,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// No word of a file is longer where it is shown, in characters.
const LONGEST_WORD: usize = 80;

/// What was gone through.
#[derive(Default)]
struct ReplayCounts {
    wakes: u64,
    decisions: u64,
    first: Option<Time>,
    last: Time,
}

/// Where the replay parted from the recording.
struct FirstDifference {
    line: u64,
    difference: Box<Difference>,
}

/// Goes through a recording with an endpoint of this version, up to the first decision that
/// differs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.recording.display();
    let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{path}: {error}"));
    let (header, mut lines) = Reader::open(&args.recording).map_err(|e| wrong(&e))?;
    let mut replay = Replay::new(&header.endpoint).map_err(|e| wrong(&format!("line 1: {e}")))?;
    let mut counts = ReplayCounts::default();
    let mut first_difference = None;
    for line in lines.by_ref() {
        let line = line.map_err(|e| wrong(&e))?;
        if let Err(difference) = replay.check(&line.entry) {
            let line = line.number;
            first_difference = Some(FirstDifference { line, difference });
            break;
        }
        counts.count(line.entry.at, line.entry.outputs.len());
    }
    if lines.is_truncated() {
        print_message(&format!(
            "{path}: the end of the recording is missing, as where the node was killed or its disk was full: what was \
             decided behind line {} is not there",
            counts.wakes + 1
        ));
    }
    let words = match args.format {
        Format::Json => json(
            &header,
            &counts,
            first_difference.as_ref(),
            lines.is_truncated(),
        )
        .to_string(),
        Format::Table => counts.words(&header),
    };
    print(&format!("{words}\n"))?;
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

    fn words(&self, header: &Header) -> String {
        format!(
            "{} wakes and {} decisions over {:.3} s are as {} recorded them",
            self.wakes,
            self.decisions,
            self.span_s(),
            one_line(&header.software)
        )
    }
}

/// A word of a file on a terminal: without what would steer that, and not without end.
fn one_line(word: &str) -> String {
    plain(word)
        .replace('\n', " ")
        .chars()
        .take(LONGEST_WORD)
        .collect()
}

fn json(
    header: &Header,
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
