//! Compares an encrypted tunnel of polypath with one of wireguard-go, and of an older polypath,
//! between two namespaces: `make tunnel-race`, or `cargo run --release -p polypath-lab --example
//! tunnel_race -- --program PROGRAM`, as root.
//!
//! Measured for each tunnel: the goodput of one TCP connection, and the number of 64-byte packets
//! per second that arrive if one sender offers as many as it can. Then the cost of 100 000
//! unauthenticated datagrams per second for polypath's tunnel, compared with as many to another
//! port of the same machine. Exit code 1 if a mean misses its target, or if the program is slower than
//! the older one: the whole 95 % interval of their ratio lies below 1, or there is none, since that
//! takes two rounds.

mod flood;
mod load;
mod polypath;
mod wireguard;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use polypath_lab::namespace::Namespace;
use polypath_lab::preflight;
use polypath_report::statistics::{Estimate, quantile};

use flood::{Flood, Target};
use polypath::NodeSettings;

/// A tunnel between 10.77.0.1 in one namespace and 10.77.0.2 in the other, closed on drop.
trait Tunnel {}

/// Compares an encrypted tunnel of polypath with one of wireguard-go, and of an older polypath.
#[derive(Debug, Parser)]
#[command(
    after_help = "Exit codes: 0 all targets are met; 1 one is missed, or the run failed; 2 the \
                        command line is invalid."
)]
struct Args {
    /// The program that is measured.
    #[arg(long)]
    program: PathBuf,
    /// An older program, which must not be faster.
    #[arg(long)]
    before: Option<PathBuf>,
    /// Rounds of the race; the floods have four times as many.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// The duration of each measurement, in seconds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The policy of the nodes.
    #[arg(long, value_enum, default_value_t = Policy::SinglePath)]
    policy: Policy,
    /// Only one part.
    #[arg(long, value_enum)]
    part: Option<Part>,
}

/// A policy of the nodes; the target for the goodput holds for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    SinglePath,
    InTime,
}

impl Policy {
    /// Its kind in the file of a node.
    const fn kind(self) -> &'static str {
        match self {
            Self::SinglePath => "single-path",
            Self::InTime => "in-time",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Race,
    Flood,
}

/// The tunnels that are compared.
#[derive(Clone, Copy, Debug)]
enum Racer<'a> {
    WireguardGo,
    Polypath(&'a Path),
    PolypathPlain(&'a Path),
    Before(&'a Path),
}

impl Racer<'_> {
    const fn name(self) -> &'static str {
        match self {
            Self::WireguardGo => "wireguard-go",
            Self::Polypath(_) => "polypath",
            Self::PolypathPlain(_) => "polypath, offload = false",
            Self::Before(_) => "polypath before",
        }
    }

    fn start(
        self,
        endpoints: &Endpoints,
        policy: Policy,
    ) -> Result<Box<dyn Tunnel>, Box<dyn Error>> {
        let nodes = |program, offload| {
            polypath::start(endpoints, program, NodeSettings { policy, offload })
        };
        Ok(match self {
            Self::WireguardGo => Box::new(wireguard::start(endpoints)?),
            Self::Polypath(program) | Self::Before(program) => Box::new(nodes(program, true)?),
            Self::PolypathPlain(program) => Box::new(nodes(program, false)?),
        })
    }
}

/// Rounds of floods per round of the race: the cost varies between rounds by more than its mean.
const FLOOD_ROUNDS: u64 = 4;

/// The target for the goodput of a TCP flow, as a multiple of wireguard-go's.
const MIN_SPEEDUP: f64 = 2.0;
/// The position of the older program among the racers.
const BEFORE: usize = 3;
/// The ratio to the older program from which on a program counts as not slower.
const MARGIN: f64 = 0.95;
/// The target for the share of its goodput that a flow keeps while the node is flooded.
const MIN_KEPT_GOODPUT: f64 = 0.9;

/// Two namespaces that a veth pair connects: 10.1.1.1 and 10.1.1.2.
struct Endpoints {
    a: Namespace,
    b: Namespace,
}

impl Endpoints {
    fn new() -> io::Result<Self> {
        let (a, b) = (Namespace::new()?, Namespace::new()?);
        a.join(&b, "p1", ["10.1.1.1/24", "10.1.1.2/24"])?;
        Ok(Self { a, b })
    }
}

/// The results of one racer, one entry per round.
#[derive(Debug, Default)]
struct RacerResults {
    /// Bits of TCP payload per second.
    goodput: Vec<f64>,
    /// Packets of 64 bytes per second.
    packets: Vec<f64>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::parse();
    preflight()?;
    let span = Duration::from_secs(args.seconds);
    let mut meets = true;
    if args.part != Some(Part::Flood) {
        meets &= race(&args, span)?;
    }
    if args.part != Some(Part::Race) {
        let rounds = args.rounds * FLOOD_ROUNDS;
        let floods = (0..rounds).map(|round| run_floods(&args, round, rounds, span));
        meets &= report_floods(&floods.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(if meets {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs each racer in turn, round by round; returns whether polypath meets its targets.
fn race(args: &Args, span: Duration) -> Result<bool, Box<dyn Error>> {
    let mut racers = vec![
        Racer::WireguardGo,
        Racer::Polypath(&args.program),
        Racer::PolypathPlain(&args.program),
    ];
    racers.extend(args.before.as_deref().map(Racer::Before));
    let mut results: Vec<_> = (racers.iter().map(|_| RacerResults::default())).collect();
    for round in 1..=args.rounds {
        // The order rotates: in as many rounds as there are racers, each has every place once.
        let mut order: Vec<_> = racers.iter().zip(&mut results).collect();
        let first = usize::try_from(round)? % order.len();
        order.rotate_left(first);
        for (racer, result) in order {
            let endpoints = Endpoints::new()?;
            let tunnel = racer.start(&endpoints, args.policy)?;
            result.goodput.push(load::tcp(&endpoints, span)?);
            result.packets.push(load::packets(&endpoints, span)?);
            drop(tunnel);
            eprintln!("round {round} of {}: {} done", args.rounds, racer.name());
        }
    }
    Ok(report_race(args.policy, &racers, &results))
}

/// Returns the goodput during a flood of each [`Target`], in bits per second; the order rotates
/// between rounds.
fn run_floods(
    args: &Args,
    round: u64,
    rounds: u64,
    span: Duration,
) -> Result<[f64; Target::ALL.len()], Box<dyn Error>> {
    let endpoints = Endpoints::new()?;
    let _tunnel = Racer::Polypath(&args.program).start(&endpoints, args.policy)?;
    let mut goodput = [0.0; Target::ALL.len()];
    let mut order: Vec<_> = Target::ALL.into_iter().zip(&mut goodput).collect();
    let first = usize::try_from(round)? % order.len();
    order.rotate_left(first);
    for (target, goodput) in order {
        let flood = Flood::start(&endpoints, target)?;
        *goodput = load::tcp(&endpoints, span)?;
        let sent = flood.stop();
        eprintln!(
            "flood, round {} of {rounds}: {} {sent:.0} datagrams/s",
            round + 1,
            target.name()
        );
    }
    Ok(goodput)
}

fn report_race(policy: Policy, racers: &[Racer<'_>], results: &[RacerResults]) -> bool {
    let base = &results[0];
    println!(
        "{:<28}{:>24}{:>15}{:>24}{:>15}",
        "", "one TCP flow, Mbit/s", "ratio", "64 B packets, 1000/s", "ratio"
    );
    for (racer, result) in racers.iter().zip(results) {
        println!(
            "{:<28}{:>24}{:>15}{:>24}{:>15}",
            racer.name(),
            spread(&result.goodput, 1e6),
            ratio(&result.goodput, &base.goodput),
            spread(&result.packets, 1e3),
            ratio(&result.packets, &base.packets),
        );
    }
    println!(
        "policy {}; medians of {} rounds (minimum to maximum); ratios of means to {}",
        policy.kind(),
        base.goodput.len(),
        racers[0].name()
    );
    let meets = policy != Policy::SinglePath
        || judge(
            "a TCP flow through polypath",
            "that of wireguard-go",
            ratio_of(&results[1].goodput, &base.goodput),
            MIN_SPEEDUP,
        );
    let (now, before) = (&results[1], results.get(BEFORE));
    meets & before.is_none_or(|before| report_regression(now, before))
}

/// The comparison of a program with an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Regression {
    /// The whole interval lies below 1.
    Slower,
    /// The interval includes both 1 and [`MARGIN`].
    Undecided,
    NotSlower,
    /// There is no interval.
    NotMeasured,
}

impl Regression {
    fn of(ratio: Option<Estimate>) -> Self {
        let interval = ratio.and_then(|ratio| Some((ratio.mean, ratio.ci95?)));
        let Some((mean, half)) = interval else {
            return Self::NotMeasured;
        };
        match (mean - half, mean + half) {
            (_, upper) if upper < 1.0 => Self::Slower,
            (lower, _) if lower <= MARGIN => Self::Undecided,
            _ => Self::NotSlower,
        }
    }

    const fn verdict(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Undecided => "undecided: the interval includes 1 and 0.95; more rounds decide",
            Self::NotSlower => "not slower",
            Self::NotMeasured => "not measured: an interval takes at least two rounds",
        }
    }

    fn is_acceptable(self) -> bool {
        matches!(self, Self::Undecided | Self::NotSlower)
    }
}

/// Prints the ratios to an older program; returns whether all are acceptable.
fn report_regression(now: &RacerResults, before: &RacerResults) -> bool {
    let quantities = [
        ("a TCP flow", ratio_of(&now.goodput, &before.goodput)),
        ("64 B packets", ratio_of(&now.packets, &before.packets)),
    ];
    let mut meets = true;
    for (quantity, ratio) in quantities {
        let regression = Regression::of(ratio);
        let (ratio, verdict) = (
            ratio.map_or_else(|| "?".to_owned(), format_ratio),
            regression.verdict(),
        );
        println!("target: {quantity}, polypath to polypath before: {ratio} is {verdict}");
        meets &= regression.is_acceptable();
    }
    meets
}

/// Prints and returns whether the mean of a ratio reaches its target; prints whether its whole
/// interval does.
fn judge(what: &str, base: &str, ratio: Option<Estimate>, target: f64) -> bool {
    let Some(ratio) = ratio else {
        println!("target: {what} at least {target} of {base}: not measured");
        return false;
    };
    let is_met = ratio.mean >= target;
    let verdict = match (
        is_met,
        ratio.mean - ratio.ci95.unwrap_or(f64::INFINITY) >= target,
    ) {
        (_, true) => "met by the whole interval",
        (true, false) => "met in the mean",
        (false, false) => "missed",
    };
    println!(
        "target: {what} at least {target} of {base}: {} is {verdict}",
        format_ratio(ratio)
    );
    is_met
}

/// Prints the goodput during each flood; returns whether floods of the node meet the target.
fn report_floods(rounds: &[[f64; Target::ALL.len()]]) -> bool {
    let of = |target: usize| rounds.iter().map(|round| round[target]).collect::<Vec<_>>();
    // The base is a flood of another port, so that the cores' time for sending it does not count.
    let (none, unread) = (of(0), of(1));
    println!(
        "\none TCP flow through polypath, during a flood of {} unauthenticated datagrams/s",
        flood::RATE
    );
    for (n, target) in Target::ALL.into_iter().enumerate() {
        println!(
            "{:<28}{:>26}{:>18}{:>18}",
            target.name(),
            spread(&of(n), 1e6),
            ratio(&of(n), &none),
            ratio(&of(n), &unread)
        );
    }
    println!(
        "Mbit/s, medians of {} rounds (minimum to maximum); ratios of means to no flood, and to a flood of an unread port, \
         with 95 % intervals",
        rounds.len()
    );
    let met = [2, 3].map(|n| {
        let what = format!("a TCP flow during a flood ({})", Target::ALL[n].name());
        judge(
            &what,
            "that during a flood of an unread port",
            ratio_of(&of(n), &unread),
            MIN_KEPT_GOODPUT,
        )
    });
    met == [true; 2]
}

/// Median, minimum and maximum.
fn spread(values: &[f64], unit: f64) -> String {
    let at = |q: f64| quantile(values, q).unwrap_or(f64::NAN) / unit;
    format!("{:.0} ({:.0} to {:.0})", at(0.5), at(0.0), at(1.0))
}

/// The ratio of two quantities measured in the same rounds.
fn ratio_of(values: &[f64], base: &[f64]) -> Option<Estimate> {
    let pairs: Vec<(f64, f64)> = values.iter().copied().zip(base.iter().copied()).collect();
    Estimate::of_ratio(&pairs)
}

fn ratio(values: &[f64], base: &[f64]) -> String {
    ratio_of(values, base).map_or_else(|| "?".to_owned(), format_ratio)
}

/// Formats a ratio with its 95 % interval, if it has one.
fn format_ratio(ratio: Estimate) -> String {
    match ratio.ci95 {
        Some(half) => format!("{:.2} +- {half:.2}", ratio.mean),
        None => format!("{:.2}", ratio.mean),
    }
}
