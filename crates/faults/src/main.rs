//! `make faults`: schedules of faults over two whole nodes.

use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use polypath_faults::{Failure, Options, run, run_many};

/// Runs two whole nodes over a simulated network through schedules of faults, and checks what must hold.
#[derive(Debug, Parser)]
#[command(
    name = "faults",
    max_term_width = 100,
    after_help = "Exit codes: 0 all held; 1 something did not, or the output could not be written; 2 the \
                  command line is wrong."
)]
struct Args {
    /// How many schedules.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000_000_000))]
    first: u64,
    /// This schedule alone, with all that happens.
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
        Ok(words) => {
            let written = writeln!(std::io::stdout(), "{words}");
            ExitCode::from(u8::from(written.is_err()))
        }
        Err(words) => {
            let _ = writeln!(std::io::stderr(), "{words}");
            ExitCode::FAILURE
        }
    }
}

fn one(seed: u64) -> Result<String, String> {
    let options = Options {
        words: true,
        ..Options::default()
    };
    let outcome = run(seed, options).map_err(|failure| words_of(seed, &failure))?;
    Ok(format!("{}\ndigest {:016x}", outcome.tally, outcome.digest))
}

fn many(seeds: Range<u64>) -> Result<String, String> {
    let count = seeds.end - seeds.start;
    let step = (count / 20).max(1);
    let progress = |done: u64| {
        if done.is_multiple_of(step) {
            let _ = writeln!(std::io::stderr(), "faults: {done} of {count} schedules");
        }
    };
    let tally = run_many(seeds, Options::default(), &progress);
    tally.map(|tally| tally.to_string()).map_err(|failures| {
        let words = |(seed, failure): &(u64, Failure)| words_of(*seed, failure);
        failures.iter().map(words).collect::<Vec<_>>().join("\n")
    })
}

fn words_of(seed: u64, failure: &Failure) -> String {
    format!("faults: {failure}\nfaults: it repeats with: make faults SEED={seed}")
}
