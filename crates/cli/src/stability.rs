//! `polypath stability`: does the path choice of many senders oscillate?

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use polypath_batch::{replica_seeds, run_settings};
use polypath_core::policy::DelayCentricConfig;
use polypath_core::time::Duration;
use polypath_report::stability::{StabilityFigures, StabilityRecord, json, render, write};
use polypath_scenario::Network;
use polypath_scenario::network::senders::{PolicyGrid, Scale, SenderTraffic, Setting};
use polypath_sim::SendersOutcome;

use crate::failure::{Failure, print_message};
use crate::number::whole;
use crate::output::print;
use crate::progress;
use crate::scenario::{self, Format, OutputFolder};
use crate::stale_outputs;
use crate::watch::Interrupts;

/// The default range of the number of runs of a setting, and the simulated time of single senders, in
/// seconds, that limits it: a minute or two on two cores.
const REPLICAS: std::ops::RangeInclusive<u32> = 2..=8;
const DEFAULT_WORK: u64 = 1_200_000;
/// The maximum number of settings of a map.
const MAX_SETTINGS: usize = 1000;
/// The mean guard times of a map by default.
const GUARD_TIMES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(500),
    Duration::from_millis(2500),
];
/// The longest value of a grid.
const LONGEST: Duration = Duration::from_secs(3600);
/// The name of the policy of the file in reports.
const OF_FILE: &str = "file";

/// Arguments of `polypath stability`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    #[command(flatten)]
    senders: SendersArgs,
    /// The number of concurrent runs, which does not affect the results [default: the number of
    /// cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1024_u16))]
    jobs: Option<u16>,
    #[command(flatten)]
    map: MapArgs,
}

/// The senders, their policies and their runs.
#[derive(Debug, clap::Args)]
pub(crate) struct SendersArgs {
    #[command(flatten)]
    pub(crate) scenario: scenario::Args,
    /// The number of senders; the rates and queues of links and the rate of Poisson background are
    /// scaled with it, so that utilisation and delays remain [default: the `count` of the flow].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=100_000_u32))]
    senders: Option<u32>,
    /// The utilisation, between 0 and 2: the rates and queues of links are scaled to it [default:
    /// that of the file].
    #[arg(long, value_name = "U", allow_negative_numbers = true, value_parser = utilisation)]
    utilisation: Option<f64>,
    /// End each run after N seconds.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=u32::MAX))]
    seconds: Option<u32>,
    /// Run each setting N times, each with a seed of its own derived from the root seed [default: 8,
    /// or fewer, at least 2, if a setting would run more than 1 200 000 s of single senders].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=10_000_u32))]
    replicas: Option<u32>,
    /// Add the policies to compare with, and recommend one: for `multihomed` flows the six
    /// mechanisms of the paper (pure, guard, predictive, predictive-guard, and the last two with the
    /// original trend rule) and `delay-growth`, for `tunnel` flows the policies of nodes that differ
    /// for datagrams, with their default parameters, predictive also with a guard time of 1 to 4 s,
    /// and from three paths on fragments.
    #[arg(long)]
    baselines: bool,
}

/// The map over the parameters of the policy of the file.
#[derive(Debug, clap::Args)]
struct MapArgs {
    /// Add a map over hysteresis, guard time and heartbeat interval, and recommend a setting.
    #[arg(long)]
    map: bool,
    /// The hystereses of the map, or the thresholds of a predictive policy.
    #[arg(long, value_name = "SPANS", requires = "map", value_delimiter = ',', value_parser = span, default_value = "5ms,10ms,20ms,50ms")]
    hysteresis: Vec<Duration>,
    /// The mean guard times of the map, each drawn within 60 % of it; 0 s for none [default:
    /// 0s,500ms,2500ms; `delay-growth` has none].
    #[arg(long, value_name = "SPANS", requires = "map", value_delimiter = ',', value_parser = span)]
    guard_time: Option<Vec<Duration>>,
    /// The mean heartbeat intervals of the map, each drawn within 50 % of it.
    #[arg(long, value_name = "SPANS", requires = "map", value_delimiter = ',', value_parser = span, default_value = "200ms,1s,5s")]
    heartbeat: Vec<Duration>,
}

/// The rules of the report, for `--help`.
const RULES: &str = "\
A run is unstable if the mean delay of its datagrams exceeds the geometric mean of the delay over the \
idle path and the delay through full queues.

Recommended is, of the settings with the fewest unstable runs, among those whose 99th percentile of the \
delay does not differ significantly from the lowest, the one with the fewest switches. docs/stability.md explains both.";

/// Runs the senders by every setting and prints the report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let network = args.senders.read()?;
    let mut settings = args.senders.settings(&network)?;
    if args.map.map {
        settings.extend(args.map.settings(traffic_of(&network)?)?);
    }
    let scenario = &args.senders.scenario;
    let out = scenario.out(&network.name, "stability")?;
    let seeds = args.senders.seeds(&network);
    let interrupts = Interrupts::register().context("installing signal handlers")?;
    let outcomes = simulate(&network, &settings, &seeds, args.jobs, &mut |bar| {
        interrupts.exit_and_discard(bar, &out);
    });
    let record = StabilityRecord {
        network: &network,
        settings: &settings,
        seeds: &seeds,
        outcomes: &outcomes.inspect_err(|_| out.discard())?,
        lab: None,
    };
    report(record, scenario.format, &out)
}

impl SendersArgs {
    /// Reads the file.
    pub(crate) fn read(&self) -> Result<Network, Failure> {
        let scale = Scale {
            senders: self.senders,
            utilisation: self.utilisation,
        };
        self.scenario.file.read_senders(self.seconds, scale)
    }

    /// The policy of the file, and the baselines.
    pub(crate) fn settings(&self, network: &Network) -> Result<Vec<Setting>, Failure> {
        let traffic = traffic_of(network)?;
        let mut settings = vec![Setting::named(OF_FILE, traffic.policy())];
        if self.baselines {
            settings.extend(Setting::baselines(traffic));
        }
        Ok(settings)
    }

    /// The seeds of the runs.
    pub(crate) fn seeds(&self, network: &Network) -> Vec<u64> {
        let replicas = self.replicas.unwrap_or_else(|| default_replicas(network));
        replica_seeds(network.seed, replicas)
    }
}

fn traffic_of(network: &Network) -> Result<SenderTraffic<'_>, Failure> {
    let senders = network.senders().context("a checked network has senders")?;
    Ok(senders.traffic)
}

/// The number of runs of each setting that fit into [`DEFAULT_WORK`], within [`REPLICAS`].
fn default_replicas(network: &Network) -> u32 {
    let senders = network.senders().map_or(1, |senders| senders.count());
    let seconds = network.run.duration.as_nanos().div_ceil(1_000_000_000);
    let fitting = DEFAULT_WORK / (u64::from(senders) * seconds).max(1);
    u32::try_from(fitting)
        .unwrap_or(u32::MAX)
        .clamp(*REPLICAS.start(), *REPLICAS.end())
}

impl MapArgs {
    fn guard_times(&self, policy: DelayCentricConfig) -> Result<Vec<Duration>, Failure> {
        let has_none = policy.growth().is_some();
        match &self.guard_time {
            Some(_) if has_none => Err(Failure::input(
                "`delay-growth` has no guard time: leave out --guard-time",
            )),
            Some(given) => Ok(given.clone()),
            None if has_none => Ok(vec![Duration::ZERO]),
            None => Ok(GUARD_TIMES.to_vec()),
        }
    }

    fn settings(&self, traffic: SenderTraffic<'_>) -> Result<Vec<Setting>, Failure> {
        let policy = traffic.policy();
        let policy = policy.by_delay().ok_or_else(|| {
            Failure::input(format!(
                "--map varies the interval of heartbeats, which is no parameter of `{}`: use it with \
                 `delay-centric`, `predictive-delay-centric` or `delay-growth`",
                policy.name()
            ))
        })?;
        let grid = PolicyGrid {
            hysteresis: self.hysteresis.clone(),
            guard_time: self.guard_times(policy)?,
            heartbeat: self.heartbeat.clone(),
        };
        let count = grid.points().count();
        if count > MAX_SETTINGS {
            return Err(Failure::input(format!(
                "the map has {count} settings: give --hysteresis, --guard-time and --heartbeat fewer values, at most \
                 {MAX_SETTINGS} combinations"
            )));
        }
        let settings = grid.settings(policy);
        let remedy = match policy.growth() {
            Some(_) => "--heartbeat",
            None => "--guard-time or --heartbeat",
        };
        for setting in &settings {
            if let Err(error) = setting.policy.check(traffic.ways().len()) {
                let name = &setting.name;
                return Err(Failure::input(format!(
                    "the setting \"{name}\" of the map is invalid: {error}; change {remedy}"
                )));
            }
        }
        Ok(settings)
    }
}

/// Simulates the senders by every setting; `check` may end the program, and is called often.
pub(crate) fn simulate(
    network: &Network,
    settings: &[Setting],
    seeds: &[u64],
    jobs: Option<u16>,
    check: &mut dyn FnMut(&progress::Indicator),
) -> Result<Vec<Vec<SendersOutcome>>, Failure> {
    let parts = AtomicU64::new(0);
    let mut bar = progress::Indicator::of_runs((settings.len() * seeds.len()) as u64);
    let outcomes = run_settings(network, settings, seeds, jobs, &parts, &mut || {
        check(&bar);
        bar.advance_runs(parts.load(Ordering::Relaxed));
    });
    bar.finish();
    let outcomes = outcomes.map_err(Failure::run)?;
    print_speed(network, settings.len() * seeds.len(), bar.elapsed());
    Ok(outcomes)
}

/// Prints the simulated time of all senders per second of real time.
fn print_speed(network: &Network, runs: usize, took: std::time::Duration) {
    let senders = network.senders().map_or(0, |senders| senders.count());
    let simulated = f64::from(senders) * network.run.duration.as_secs_f64() * runs as f64;
    let took = took.as_secs_f64();
    print_message(&format!(
        "{runs} runs of {senders} senders took {took:.1} s: {:.0} sender-seconds per second",
        simulated / took.max(1e-3)
    ));
}

/// Writes and prints the report; fails if it could not be written, or no datagram arrived.
pub(crate) fn report(
    record: StabilityRecord<'_>,
    format: Format,
    out: &OutputFolder,
) -> Result<(), Failure> {
    let figures = StabilityFigures::of(record);
    let path = out.path();
    let written = write(path, record, &figures)
        .with_context(|| format!("cannot write the report to {}", path.display()));
    let mut text = match format {
        Format::Table => render(record, &figures),
        Format::Json => json(record, &figures).context("writing the report")?,
    };
    if let Ok(names) = &written {
        stale_outputs::report_stale(path, names);
        if format == Format::Table {
            let page = path.join("report.html");
            text = format!("{text}\nreport: {}\n", page.display());
        }
    }
    print(&text)?;
    written?;
    let mut outcomes = record.outcomes.iter().flatten();
    if outcomes.all(|outcome| outcome.arrived == 0) {
        return Err(Failure::run("no datagram arrived: check the paths"));
    }
    Ok(())
}

/// Parses a utilisation.
fn utilisation(text: &str) -> Result<f64, String> {
    let value = text.trim().parse().ok();
    let value = value.filter(|value| (0.01..=2.0).contains(value));
    value.ok_or_else(|| "use a number from 0.01 to 2, such as 0.9".to_owned())
}

/// Parses a value of the map.
fn span(text: &str) -> Result<Duration, String> {
    let span: Duration = text.parse().map_err(|error| format!("{error}"))?;
    if span > LONGEST {
        return Err(format!("use at most {LONGEST}"));
    }
    Ok(span)
}
