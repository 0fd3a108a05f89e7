//! Measures the outages of a flow of 50 packets per second when the path that carries it becomes
//! silent, over nodes of two policies and over kernel MPTCP in the same run: `make failover`, or
//! `cargo run --release -p polypath-lab --example failover -- [--count N] [--seed S] [--rtt MS]
//! [--format json]`, as root.

#[path = "common/errors.rs"]
mod errors;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use errors::error_chain;
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_lab::enter_user_namespace;
use polypath_lab::failover::{
    self, FailoverError, Measurement, Options, Outcome, Progress, render,
};

/// The bound on the 99th percentile of the outages of `in-time`, above the round-trip time.
const IN_TIME_EXCESS_MS: f64 = 20.0;
/// The bound on its reports on a link, with heartbeats and replies, in bytes per second.
const IN_TIME_BACK: f64 = 9000.0;

/// Repeatedly silences the path that carries a flow, and prints the outages of the flow.
#[derive(Debug, Parser)]
#[command(
    name = "failover",
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 the measurement failed, was interrupted or is invalid, or nodes \
                  exceed a bound; 2 wrong command line; 3 this machine lacks a prerequisite."
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
    /// The upper bound in milliseconds on the 99th percentile of the outages of `single-path`: 200
    /// if absent, for round trips of up to 100 ms. That of `in-time` is the round-trip time and 20
    /// ms.
    #[arg(long)]
    bound: Option<u32>,
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
    let exceeded = exceeded(args, outcome);
    for bound in &exceeded {
        log(bound);
    }
    if let Some(reason) = &outcome.invalid {
        log(&format!("the result is invalid: {reason}"));
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::from(written.is_err() || !exceeded.is_empty()))
}

/// The bounds that nodes exceed.
fn exceeded(args: &Args, outcome: &Outcome) -> Vec<String> {
    let [single_path, in_time, ..] = &outcome.candidates[..] else {
        return vec!["a pair of nodes was not measured".to_owned()];
    };
    let mut exceeded = Vec::new();
    let mut check = |measured: &Measurement, what, value: f64, most: f64| {
        if value > most {
            let name = measured.name;
            exceeded.push(format!("{name}: {what} {value:.0}, more than {most:.0}"));
        }
    };
    let outages = "the 99th percentile of outages in ms is";
    let p99 = |measured: &Measurement| measured.outage.p99.value;
    // Three overdue heartbeats take more than a round trip, so 200 ms hold for short ones alone.
    let most = args.bound.or((args.rtt <= 100).then_some(200));
    if let Some(most) = most {
        check(single_path, outages, p99(single_path), most.into());
    }
    let most = outcome.rtt_ms + IN_TIME_EXCESS_MS;
    check(in_time, outages, p99(in_time), most);
    check(in_time, "messages are lost:", in_time.lost.into(), 0.0);
    let back = in_time.back.into_iter().fold(0.0, f64::max);
    check(in_time, "bytes/s back on a link:", back, IN_TIME_BACK);
    exceeded
}

fn log(message: &str) {
    let _ = writeln!(std::io::stderr(), "failover: {message}");
}
