//! `make faults`: schedules of faults over two whole nodes.

use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use polypath_faults::{Failure, Options, run, run_many};

/// Runs two whole nodes through schedules of faults over a simulated network, and checks the
/// invariants.
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
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.seed {
        Some(seed) => one(seed),
        None => many(args.first..args.first + args.seeds),
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

fn one(seed: u64) -> Result<String, String> {
    let options = Options {
        verbose: true,
        ..Options::default()
    };
    let outcome = run(seed, options).map_err(|failure| describe(seed, &failure))?;
    Ok(format!(
        "{}\ndigest {:016x}",
        outcome.coverage, outcome.digest
    ))
}

fn many(seeds: Range<u64>) -> Result<String, String> {
    let count = seeds.end - seeds.start;
    let step = (count / 20).max(1);
    let progress = |done: u64| {
        if done.is_multiple_of(step) {
            let _ = writeln!(std::io::stderr(), "faults: {done} of {count} schedules");
        }
    };
    let coverage = run_many(seeds, Options::default(), &progress);
    coverage
        .map(|coverage| coverage.to_string())
        .map_err(|failures| {
            let text = |(seed, failure): &(u64, Failure)| describe(*seed, failure);
            failures.iter().map(text).collect::<Vec<_>>().join("\n")
        })
}

fn describe(seed: u64, failure: &Failure) -> String {
    format!("faults: {failure}\nfaults: reproduce with: make faults SEED={seed}")
}
