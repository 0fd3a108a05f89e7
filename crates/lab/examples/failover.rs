//! Measures the outages of a flow of 50 packets per second when the path that carries it becomes
//! silent, over two nodes and over kernel MPTCP in the same run: `make failover`, or `cargo run
//! --release -p polypath-lab --example failover -- [--count N] [--seed S] [--rtt MS] [--format
//! json]`, as root.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_lab::enter_user_namespace;
use polypath_lab::failover::{self, FailoverError, Options, Outcome, Progress, render};

/// Repeatedly silences the path that carries a flow, and prints the outages of the flow.
#[derive(Debug, Parser)]
#[command(
    name = "failover",
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 the measurement failed or was interrupted, or the nodes' outages exceed \
                  the bound; 2 wrong command line; 3 this machine lacks a prerequisite."
)]
struct Args {
    /// The number of silences.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// The root seed of pauses and lengths.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The round-trip time of both links in milliseconds.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(0..=1000))]
    rtt: u64,
    /// The upper bound in milliseconds on the 99th percentile of the nodes' outages.
    #[arg(long, default_value_t = 200)]
    bound: u32,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Tables.
    Text,
    /// JSON with a sample for each silence.
    Json,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match measure(&args) {
        Ok(outcome) => print(&args, &outcome),
        Err(error) => {
            log(&error_chain(&error));
            ExitCode::from(if error.is_missing_prerequisite() {
                3
            } else {
                1
            })
        }
    }
}

fn measure(args: &Args) -> Result<Outcome, FailoverError> {
    enter_user_namespace().map_err(polypath_lab::LabError::from)?;
    let options = Options {
        silences: args.count,
        seed: Seed(args.seed),
        rtt: Duration::from_millis(args.rtt),
    };
    let step = (args.count / 20).max(1);
    let show = |progress: Progress| {
        let Progress { done, total, .. } = progress;
        if done % step == 0 || done == total {
            let seconds = progress.remaining.as_nanos() / 1_000_000_000;
            log(&format!("{done} of {total} silences, {seconds} s left"));
        }
    };
    log(&format!("{} silences, seed {}", args.count, args.seed));
    failover::run(&options, show)
}

fn print(args: &Args, outcome: &Outcome) -> ExitCode {
    let text = match args.format {
        Format::Text => render(outcome),
        Format::Json => format!("{:#}\n", serde_json::json!(outcome)),
    };
    let written = write!(std::io::stdout(), "{text}");
    // The first candidate is the pair of nodes.
    let p99 = outcome.candidates[0].outage.p99.value;
    let is_within = p99 < f64::from(args.bound);
    if !is_within {
        let bound = args.bound;
        log(&format!(
            "the 99th percentile of the nodes' outages is {p99:.0} ms, which exceeds the bound of {bound} ms"
        ));
    }
    ExitCode::from(u8::from(written.is_err() || !is_within))
}

fn log(message: &str) {
    let _ = writeln!(std::io::stderr(), "failover: {message}");
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |message, cause| {
        format!("{message}: {cause}")
    })
}
