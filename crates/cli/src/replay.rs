//! `polypath replay`: a recording gone through again.

use std::path::PathBuf;

use polypath_core::time::Time;
use polypath_live::recording::{Header, Reader};
use polypath_session::record::{Difference, Replay};
use serde_json::json;

use crate::failure::{Failure, plain, tell};
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
struct Tally {
    wakes: u64,
    decisions: u64,
    first: Option<Time>,
    last: Time,
}

/// Where the replay parted from the recording.
struct Parted {
    line: u64,
    difference: Box<Difference>,
}

/// Goes through a recording with an endpoint of this version, up to the first decision that differs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let path = args.recording.display();
    let wrong = |error: &dyn std::fmt::Display| Failure::input(format!("{path}: {error}"));
    let (header, mut lines) = Reader::open(&args.recording).map_err(|e| wrong(&e))?;
    let mut replay = Replay::new(&header.endpoint).map_err(|e| wrong(&format!("line 1: {e}")))?;
    let mut tally = Tally::default();
    let mut parted = None;
    for line in lines.by_ref() {
        let line = line.map_err(|e| wrong(&e))?;
        if let Err(difference) = replay.check(&line.entry) {
            let line = line.number;
            parted = Some(Parted { line, difference });
            break;
        }
        tally.count(line.entry.at, line.entry.said.len());
    }
    if lines.is_truncated() {
        tell(&format!(
            "{path}: the end of the recording is missing, as where the node was killed or its disk was full: what was \
             decided behind line {} is not there",
            tally.wakes + 1
        ));
    }
    let words = match args.format {
        Format::Json => json(&header, &tally, parted.as_ref(), lines.is_truncated()).to_string(),
        Format::Table => tally.words(&header),
    };
    print(&format!("{words}\n"))?;
    parted.map_or(Ok(()), |Parted { line, difference }| {
        let at = difference.at().as_secs_f64();
        Err(Failure::run(format!(
            "{path}: line {line}, at {at:.9} s: {difference}"
        )))
    })
}

impl Tally {
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
    tally: &Tally,
    parted: Option<&Parted>,
    truncated: bool,
) -> serde_json::Value {
    json!({
        "software": header.software,
        "started": header.started,
        "wakes": tally.wakes,
        "decisions": tally.decisions,
        "span_s": tally.span_s(),
        "truncated": truncated,
        "difference": parted.map(|parted| json!({
            "line": parted.line,
            "difference": *parted.difference,
        })),
    })
}
