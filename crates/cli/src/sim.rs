//! `polypath sim`: a scenario in virtual time.

use anyhow::Context;
use polypath_batch::{Plan, Point};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::Simulated;
use polypath_scenario::{Experiment, Scenario};
use polypath_sim::{Observer, SimEvent};

use crate::failure::Failure;
use crate::network;
use crate::outcome;
use crate::recording;
use crate::scenario::{self, OutputFolder, ParsedFile};
use crate::sweep;
use crate::watch::Watch;

/// Arguments of `polypath sim`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = scenario::columns())]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
    #[command(flatten)]
    replication: network::Replication,
    #[command(flatten)]
    recording: recording::Args,
    /// End the run of a network after so many seconds of its time, whatever the file says; what it
    /// sets for later does not come to pass.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
}

/// Runs the scenario and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut read = args.scenario.read(args.seconds)?;
    refuse_recording(args, &read)?;
    refuse_replicas(args, &read.points[0].1)?;
    args.recording.refuse_overwriting(&args.scenario.scenario)?;
    let out = args.scenario.out(read.points[0].1.name(), "sim")?;
    let format = args.scenario.format;
    if read.is_sweep() {
        let plan = Plan {
            text: &read.text,
            files: &read.files,
            overrides: read.overrides,
        };
        let points = read.points.into_iter();
        let points = points.map(|(set, experiment)| Point { set, experiment });
        let points = points.collect();
        return sweep::run(points, &plan, args.replication, &out, format);
    }
    match read.points.swap_remove(0).1 {
        Experiment::Transfers(scenario) => run_transfers(&scenario, &out, args),
        Experiment::Network(network) => {
            network::run(&network, args.replication, &args.recording, &out, format)
        }
    }
    .inspect_err(|_| out.discard())
}

/// Refuses what cannot be recorded.
fn refuse_recording(args: &Args, read: &ParsedFile) -> Result<(), Failure> {
    let recording = &args.recording;
    if matches!(read.points[0].1, Experiment::Transfers(_)) {
        let remedy =
            "write its paths as `[[link]]`s and its traffic as `[[flow]]`s (docs/simulator.md)";
        return recording.refuse("a file with transfers over paths", remedy);
    }
    if read.is_sweep() {
        let remedy = "remove `[sweep]`, and choose one combination with --set";
        return recording.refuse("a sweep", remedy);
    }
    if args.replication.replicas > 1 {
        let remedy = "leave out --replicas, and choose one run with --seed";
        return recording.refuse("more than one replica", remedy);
    }
    Ok(())
}

/// Refuses replicas of what has rounds.
fn refuse_replicas(args: &Args, experiment: &Experiment) -> Result<(), Failure> {
    if matches!(experiment, Experiment::Transfers(_)) && args.replication.replicas > 1 {
        let message = "--replicas is for networks; transfers have transfer.count";
        return Err(Failure::input(message));
    }
    Ok(())
}

fn run_transfers(scenario: &Scenario, out: &OutputFolder, args: &Args) -> Result<(), Failure> {
    let transfers = u64::from(scenario.transfer.count) * scenario.schemes.len() as u64;
    let mut watched = Watched {
        observer: Simulated::new(scenario),
        watch: Watch::start(transfers, out.clone()).context("watching the simulation")?,
    };
    let outcome = polypath_sim::run(scenario, Seed(scenario.seed), &mut watched);
    let Watched { observer, watch } = watched;
    let experiment = observer.finish(scenario, &outcome.map_err(Failure::input)?);
    let report = outcome::write(&experiment, out.path());
    // An interrupt ends the program until all that is to be kept is written.
    drop(watch);
    outcome::print(&experiment, report, args.scenario.format)
}

/// The report's observer, and who watches it.
struct Watched {
    observer: Simulated,
    watch: Watch,
}

impl Observer for Watched {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        self.watch.reach(at);
        if matches!(event, SimEvent::TransferFinished { .. }) {
            self.watch.finish_transfer();
        }
        self.observer.on_event(scheme, at, event);
    }
}
