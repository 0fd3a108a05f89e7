//! `make faults`: schedules of faults over two whole nodes, or over both ends of a stream.

use std::fmt::Display;
use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use polypath_faults::mutants::Mutant;
use polypath_faults::streams::{StreamMutant, StreamOptions, run_stream};
use polypath_faults::{Failure, Options, Outcome, run, run_many, run_many_streams};

/// Runs two whole nodes, or both ends of a stream, through schedules of faults over a simulated
/// network, and checks the invariants.
#[derive(Debug, Parser)]
#[command(
    name = "faults",
    max_term_width = 100,
    after_help = "Exit codes: 0 all invariants hold; 1 one does not, or the output could not be written; 2 \
                  the command line is invalid."
)]
struct Args {
    /// The number of schedules.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000_000_000))]
    first: u64,
    /// Runs only this schedule, and prints every event.
    #[arg(long, conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// Runs both ends of streams over TCP connections instead of nodes.
    #[arg(long)]
    streams: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match (args.seed, args.streams) {
        (Some(seed), false) => one(seed, false, run(seed, VERBOSE)),
        (Some(seed), true) => one(seed, true, run_stream(seed, VERBOSE_STREAM)),
        (None, is_streams) => many(args.first..args.first + args.seeds, is_streams),
    };
    match result {
        Ok(text) => {
            let written = writeln!(std::io::stdout(), "{text}");
            ExitCode::from(u8::from(written.is_err()))
        }
        Err(text) => {
            let _ = writeln!(std::io::stderr(), "{text}");
            ExitCode::FAILURE
        }
    }
}

const VERBOSE: Options = Options {
    mutant: Mutant::None,
    verbose: true,
};
const VERBOSE_STREAM: StreamOptions = StreamOptions {
    mutant: StreamMutant::None,
    verbose: true,
};

fn one<C: Display>(
    seed: u64,
    is_stream: bool,
    ran: Result<Outcome<C>, Failure>,
) -> Result<String, String> {
    let outcome = ran.map_err(|failure| describe(seed, is_stream, &failure))?;
    Ok(format!(
        "{}\ndigest {:016x}",
        outcome.coverage, outcome.digest
    ))
}

fn many(seeds: Range<u64>, is_streams: bool) -> Result<String, String> {
    let count = seeds.end - seeds.start;
    let step = (count / 20).max(1);
    let progress = |done: u64| {
        if done.is_multiple_of(step) {
            let _ = writeln!(std::io::stderr(), "faults: {done} of {count} schedules");
        }
    };
    let text = if is_streams {
        let coverage = run_many_streams(seeds, StreamOptions::default(), &progress);
        coverage.map(|coverage| coverage.to_string())
    } else {
        let coverage = run_many(seeds, Options::default(), &progress);
        coverage.map(|coverage| coverage.to_string())
    };
    text.map_err(|failures| {
        let text = |(seed, failure): &(u64, Failure)| describe(*seed, is_streams, failure);
        failures.iter().map(text).collect::<Vec<_>>().join("\n")
    })
}

fn describe(seed: u64, is_stream: bool, failure: &Failure) -> String {
    let name = if is_stream { "STREAM_SEED" } else { "SEED" };
    format!("faults: {failure}\nfaults: reproduce with: make faults {name}={seed}")
}
