//! `polypath sim`: a scenario in virtual time.

use std::path::Path;

use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::Simulated;
use polypath_scenario::{Experiment, Scenario};
use polypath_sim::{Observer, SimEvent};

use crate::failure::Failure;
use crate::network;
use crate::outcome;
use crate::progress;
use crate::scenario::{self, Read};
use crate::sweep::{self, Plan, Point};

/// Arguments of `polypath sim`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = scenario::columns())]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
    #[command(flatten)]
    replication: network::Replication,
    /// End the run of a network after so many seconds of its time, whatever the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
}

/// Runs the scenario and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let seconds = args.seconds.map(|n| format!("run.duration={n} s").parse());
    let seconds = seconds.transpose().map_err(Failure::input)?;
    let Read {
        text,
        overrides,
        mut points,
    } = args.scenario.read(seconds.as_slice())?;
    let out = args.scenario.out(points[0].1.name(), "sim")?;
    if points.len() > 1 {
        let plan = Plan {
            text: &text,
            overrides,
        };
        let points: Vec<Point> = points.into_iter().filter_map(Point::of).collect();
        return sweep::run(&points, &plan, args.replication, &out, args.scenario.format);
    }
    match points.swap_remove(0).1 {
        Experiment::Transfers(scenario) => run_transfers(&scenario, &out, args),
        Experiment::Network(network) => {
            network::run(&network, args.replication, &out, args.scenario.format)
        }
    }
}

fn run_transfers(scenario: &Scenario, out: &Path, args: &Args) -> Result<(), Failure> {
    if args.replication.replicas > 1 {
        let message = "--replicas is for networks; transfers have transfer.count";
        return Err(Failure::input(message));
    }
    let mut watched = Watched::new(scenario);
    let outcome = polypath_sim::run(scenario, Seed(scenario.seed), &mut watched);
    let outcome = outcome.map_err(Failure::input)?;
    watched.bar.finish();
    let experiment = watched.observer.finish(scenario, &outcome);
    outcome::report(&experiment, out, args.scenario.format)
}

/// The report's observer, with a progress bar over the transfers.
struct Watched {
    observer: Simulated,
    bar: progress::Indicator,
    finished: u64,
}

impl Watched {
    fn new(scenario: &Scenario) -> Self {
        let transfers = u64::from(scenario.transfer.count) * scenario.schemes.len() as u64;
        Self {
            observer: Simulated::new(scenario),
            bar: progress::Indicator::perhaps_short(transfers),
            finished: 0,
        }
    }
}

impl Observer for Watched {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        if matches!(event, SimEvent::TransferFinished { .. }) {
            self.finished += 1;
            self.bar.advance("transfers", self.finished);
        }
        self.observer.on_event(scheme, at, event);
    }
}
