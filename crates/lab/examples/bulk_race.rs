//! Measures the goodput of one bulk transfer over two paths at once: TCP over two nodes, Multipath
//! TCP, and TCP over the first path alone, beside what the simulator predicts: `make bulk-race`, or
//! `cargo run --release -p polypath-lab --example bulk_race -- [--runs N] [--seed S] [--only NAME]
//! [--paths NAME] [--format json]`, as root.

#[path = "common/errors.rs"]
mod errors;
#[path = "common/output.rs"]
mod output;
#[path = "common/retry.rs"]
mod retry;
#[path = "common/scenario.rs"]
mod scenario;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Parser;
use polypath_batch::replica_seeds;
use polypath_core::rng::Seed;
use polypath_core::units::Rate;
use polypath_lab::bulk::{BulkCarrier, BulkLab, BulkRun};
use polypath_lab::{LabError, enter_user_namespace};
use polypath_report::statistics::Estimate;
use polypath_report::table::plain;
use polypath_scenario::{Scenario, Scheme};
use polypath_sim::SimEvent;
use serde::Serialize;

use errors::error_chain;
use output::{Format, print};
use retry::run_in_time;

/// The congestion controls of TCP over two nodes; the bound of a pair is that of the first.
const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
/// The carriers; those of TCP are over the best path alone.
const CARRIERS: [BulkCarrier; 8] = [
    BulkCarrier::InTime("cubic"),
    BulkCarrier::InTime("reno"),
    BulkCarrier::InTime("bbr"),
    BulkCarrier::Mptcp("cubic"),
    BulkCarrier::Mptcp("bbr"),
    BulkCarrier::Tcp("cubic"),
    BulkCarrier::Tcp("reno"),
    BulkCarrier::Tcp("bbr"),
];

/// Two paths, as they differ from `scenarios/aggregate.toml`.
struct Pair {
    name: &'static str,
    sets: &'static [&'static str],
    /// The least goodput of TCP (cubic) over the nodes, in Mbit/s.
    least: f64,
}

/// A transfer is what both paths together carry in 16 s.
const PAIRS: [Pair; 3] = [
    Pair {
        name: "50 + 50 Mbit/s, 10 ms each",
        sets: &[],
        least: 85.0,
    },
    Pair {
        name: "40 + 10 Mbit/s, 20 and 60 ms",
        sets: &[
            "path.one.link.0.rate=40 Mbit/s",
            "path.one.link.0.delay=20 ms",
            "path.two.link.0.rate=10 Mbit/s",
            "path.two.link.0.delay=60 ms",
            "transfer.size=100 MB",
        ],
        least: 43.0,
    },
    Pair {
        name: "75 + 20 Mbit/s, 10 and 30 ms (a quarter of 300 + 80, which is beyond two cores)",
        sets: &[
            "path.one.link.0.rate=75 Mbit/s",
            "path.two.link.0.rate=20 Mbit/s",
            "path.two.link.0.delay=30 ms",
            "transfer.size=190 MB",
        ],
        least: 85.5,
    },
];

/// The bytes of a simulated segment that are headers: IPv4, TCP, and its timestamps (RFC 7323).
const SEGMENT_HEADERS: u64 = 20 + 20 + 12;

/// Races one TCP flow over several paths at once.
#[derive(Debug, Parser)]
#[command(
    name = "bulk_race",
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 a bound is not reached, a run was late, or the measurement failed; \
                  2 wrong command line; 3 this machine lacks a prerequisite."
)]
struct Args {
    /// The number of transfers by each carrier, each with a seed of its own.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// The root seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the carriers whose name contains one of these, for a quick look.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only the pairs of paths whose name contains one of these, for a quick look.
    #[arg(long, value_delimiter = ',')]
    paths: Vec<String>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The results over two paths.
#[derive(Serialize)]
struct PairResult {
    paths: &'static str,
    transfer_bytes: u64,
    /// The sum of the rates of the paths, in bits per second.
    sum_bit_per_s: u64,
    carriers: Vec<CarrierResult>,
    bounds: Vec<Bound>,
}

#[derive(Serialize)]
struct CarrierResult {
    name: String,
    /// The goodput of each run, in bits per second.
    goodput_bit_per_s: Vec<f64>,
    /// Bytes on the wire, of both directions and with all headers, over bytes received, of each
    /// run.
    wire_ratio: Vec<f64>,
    /// The goodput that the simulator predicts, in bits per second.
    predicted_bit_per_s: Option<f64>,
    /// The largest 99th percentile of the lateness of the emulated links, in milliseconds.
    late_ms: f64,
    /// The number of runs in which the emulated links were later than their bound, each time.
    late_runs: usize,
    /// The packets that the kernel dropped before the emulated links.
    dropped: u64,
}

#[derive(Serialize)]
struct Bound {
    text: String,
    holds: bool,
}

#[derive(Debug, thiserror::Error)]
enum RaceError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("no carrier has a name that contains {0}")]
    Only(String),
    #[error("no pair of paths has a name that contains {0}")]
    Paths(String),
    #[error("scenarios/aggregate.toml: {0}")]
    Scenario(String),
    #[error("simulating the same transfers")]
    Simulate(#[from] polypath_sim::RunError),
    #[error("writing the result")]
    Write(#[source] std::io::Error),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            log(&error_chain(&error));
            ExitCode::from(match error {
                RaceError::Only(_) | RaceError::Paths(_) => 2,
                RaceError::Lab(LabError::Preflight(_)) => 3,
                _ => 1,
            })
        }
    }
}

/// Whether all runs count and all bounds hold.
fn run(args: &Args) -> Result<bool, RaceError> {
    let carriers: Vec<BulkCarrier> = CARRIERS
        .into_iter()
        .filter(|carrier| is_among(&carrier.name(), &args.only))
        .collect();
    if carriers.is_empty() {
        return Err(RaceError::Only(args.only.join(" or ")));
    }
    let pairs: Vec<&Pair> = PAIRS
        .iter()
        .filter(|pair| is_among(pair.name, &args.paths))
        .collect();
    if pairs.is_empty() {
        return Err(RaceError::Paths(args.paths.join(" or ")));
    }
    enter_user_namespace().map_err(LabError::from)?;
    let lab = BulkLab::open(&carriers)?;
    let mut results = Vec::new();
    for pair in pairs {
        let result = race(pair, &carriers, &lab, args)?;
        if args.format == Format::Text {
            print(&text(&result, args)).map_err(RaceError::Write)?;
        }
        results.push(result);
    }
    if args.format == Format::Json {
        let all = serde_json::json!({ "version": 1, "seed": args.seed, "pairs": &results });
        print(&format!("{all:#}\n")).map_err(RaceError::Write)?;
    }
    let is_good = |result: &PairResult| {
        result.bounds.iter().all(|bound| bound.holds)
            && result.carriers.iter().all(|carrier| carrier.late_runs == 0)
    };
    Ok(results.iter().all(is_good))
}

/// Whether `name` contains one of `parts`, or there are none.
fn is_among(name: &str, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| name.contains(part))
}

fn race(
    pair: &Pair,
    carriers: &[BulkCarrier],
    lab: &BulkLab,
    args: &Args,
) -> Result<PairResult, RaceError> {
    let scenario = scenario(pair, &[])?;
    let mut results = Vec::new();
    for carrier in carriers {
        let mut runs = Vec::new();
        for (number, seed) in (1..).zip(replica_seeds(args.seed, args.runs)) {
            let name = carrier.name();
            log(&format!(
                "{}: {name}: run {number} of {}",
                pair.name, args.runs
            ));
            let run = || lab.run(&scenario, *carrier, seed);
            runs.push(run_in_time("bulk-race", run, |run| {
                run.conditions.is_late()
            })?);
        }
        results.push(CarrierResult {
            predicted_bit_per_s: predicted(pair, *carrier, args)?,
            ..carrier_result(carrier.name(), &runs)
        });
    }
    let links = scenario.paths.iter().filter_map(|path| path.links.first());
    Ok(PairResult {
        paths: pair.name,
        transfer_bytes: scenario.transfer.size.0,
        sum_bit_per_s: links.filter_map(|link| link.rate).map(|rate| rate.0).sum(),
        bounds: bounds(pair, &results),
        carriers: results,
    })
}

fn scenario(pair: &Pair, more: &[String]) -> Result<Scenario, RaceError> {
    let sets = pair.sets.iter().copied();
    let sets = sets.chain(more.iter().map(String::as_str));
    let text = include_str!("../../../scenarios/aggregate.toml");
    scenario::parse(text, "aggregate.toml", sets).map_err(RaceError::Scenario)
}

fn carrier_result(name: String, runs: &[BulkRun]) -> CarrierResult {
    let late = runs
        .iter()
        .map(|run| run.conditions.lateness.as_secs_f64() * 1e3);
    CarrierResult {
        name,
        goodput_bit_per_s: runs.iter().map(BulkRun::goodput).collect(),
        wire_ratio: runs
            .iter()
            .map(|run| run.wire as f64 / run.received.max(1) as f64)
            .collect(),
        predicted_bit_per_s: None,
        late_ms: late.fold(0.0, f64::max),
        late_runs: runs.iter().filter(|run| run.conditions.is_late()).count(),
        dropped: runs.iter().map(|run| run.dropped).sum(),
    }
}

/// The mean goodput of a carrier in the simulator, if that has its congestion control.
fn predicted(pair: &Pair, carrier: BulkCarrier, args: &Args) -> Result<Option<f64>, RaceError> {
    let variant = carrier.congestion_control();
    let scheme = match carrier {
        BulkCarrier::InTime("cubic" | "reno") => 1,
        BulkCarrier::Tcp("cubic" | "reno") => 0,
        _ => return Ok(None),
    };
    let sets = [
        format!("tcp.variant={variant}"),
        format!("transfer.count={}", args.runs),
        // That of the kernel (RFC 6928).
        "tcp.initial_window=10".to_owned(),
    ];
    let mut scenario = scenario(pair, &sets)?;
    let only: Option<&Scheme> = scenario.schemes.get(scheme);
    scenario.schemes = only.into_iter().copied().collect();
    let payload = scenario.tcp.segment.0.saturating_sub(SEGMENT_HEADERS) as f64;
    let bits = scenario.transfer.size.0 as f64 * 8.0 * payload / scenario.tcp.segment.0 as f64;
    let outcome = polypath_sim::run(&scenario, Seed(args.seed), &mut |_, _, _: &SimEvent| {})?;
    let transfers = outcome.schemes.iter().flat_map(|scheme| &scheme.transfers);
    let goodputs: Vec<f64> = transfers
        .map(|duration| duration.map_or(0.0, |duration| bits / duration.as_secs_f64()))
        .collect();
    Ok(Estimate::of(&goodputs).map(|of| of.mean))
}

/// The bounds on the mean goodput of TCP over nodes: that of the pair for cubic, fixed before its
/// first race, and for all the goodput of the same TCP over the first path alone.
fn bounds(pair: &Pair, results: &[CarrierResult]) -> Vec<Bound> {
    let measured = |carrier: BulkCarrier| {
        let found = results
            .iter()
            .find(|result| result.name == carrier.name())?;
        Some(Estimate::of(&found.goodput_bit_per_s)?.scaled(1e-6))
    };
    let mut bounds = Vec::new();
    for control in CONTROLS {
        let in_time = BulkCarrier::InTime(control);
        let Some(found) = measured(in_time) else {
            continue;
        };
        let is_first = control == CONTROLS[0];
        let alone = measured(BulkCarrier::Tcp(control)).map(|alone| alone.mean);
        let least = [
            ("", Some(pair.least).filter(|_| is_first)),
            (", the first path alone", alone),
        ];
        for (of, least) in least {
            let Some(least) = least else { continue };
            let holds = found.mean >= least;
            let verdict = if holds { "holds" } else { "NOT REACHED" };
            let (name, found) = (in_time.name(), mbit(found));
            let text = format!("{name}: {found} Mbit/s, at least {least:.1}{of}: {verdict}");
            bounds.push(Bound { text, holds });
        }
    }
    bounds
}

fn text(result: &PairResult, args: &Args) -> String {
    let sum = result.sum_bit_per_s as f64;
    let rows = result.carriers.iter().map(|carrier| {
        let goodput = Estimate::of(&carrier.goodput_bit_per_s);
        let of_sum = goodput.map_or(0.0, |of| of.mean / sum * 100.0);
        let ratio = Estimate::of(&carrier.wire_ratio).map_or(0.0, |of| of.mean);
        vec![
            carrier.name.clone(),
            goodput.map_or(String::new(), |of| mbit(of.scaled(1e-6))),
            format!("{of_sum:.1}"),
            carrier
                .predicted_bit_per_s
                .map_or("-".to_owned(), |of| format!("{:.1}", of / 1e6)),
            format!("{ratio:.3}"),
            format!("{:.2}", carrier.late_ms),
        ]
    });
    let header = [
        "carrier",
        "goodput, Mbit/s",
        "of the sum, %",
        "simulated, Mbit/s",
        "wire over payload",
        "links late, ms",
    ];
    let mut text = format!(
        "{}: {:.0} MB of one connection, means of {} with 95 % confidence, seed {}; the sum is {}\n{}\n",
        result.paths,
        result.transfer_bytes as f64 / 1e6,
        args.runs,
        args.seed,
        Rate(result.sum_bit_per_s),
        plain(&header, rows.collect(), 1)
    );
    for carrier in &result.carriers {
        if carrier.late_runs > 0 {
            let _ = writeln!(
                text,
                "{}: the links were late in {} runs: the result is invalid",
                carrier.name, carrier.late_runs
            );
        }
        if carrier.dropped > 0 {
            let _ = writeln!(
                text,
                "{}: the kernel dropped {} packets before the links",
                carrier.name, carrier.dropped
            );
        }
    }
    for bound in &result.bounds {
        let _ = writeln!(text, "{}", bound.text);
    }
    text.push('\n');
    text
}

/// A rate in Mbit/s with its interval.
fn mbit(of: Estimate) -> String {
    match of.ci95 {
        Some(half) => format!("{:.1} +- {half:.1}", of.mean),
        None => format!("{:.1}", of.mean),
    }
}

/// Prints a progress line or an error.
fn log(message: &str) {
    output::log("bulk-race", message);
}
