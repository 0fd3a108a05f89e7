//! `polypath sim`: runs a scenario in virtual time.

use anyhow::Context;
use polypath_batch::{Plan, Point};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::{Simulated, legend};
use polypath_scenario::{Experiment, Scenario};
use polypath_sim::{Observer, SimEvent};

use crate::failure::Failure;
use crate::media;
use crate::network;
use crate::number::whole;
use crate::outcome;
use crate::recording;
use crate::scenario::{self, OutputFolder, ParsedFile, SweptExperiment};
use crate::sweep;
use crate::watch::ProgressThread;

/// Arguments of `polypath sim`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = legend::lines())]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
    #[command(flatten)]
    replication: network::Replication,
    #[command(flatten)]
    recording: recording::Args,
    /// End the run of a network after N simulated seconds, and ignore events that the file
    /// schedules after that.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=u32::MAX))]
    seconds: Option<u32>,
}

/// Runs the scenario and prints the report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut file = args.scenario.file.read(args.seconds)?;
    refuse_recording(args, &file)?;
    refuse_replicas(args, &file.points[0].experiment)?;
    args.recording
        .refuse_overwriting(&args.scenario.file.scenario)?;
    let out = args.scenario.out(file.points[0].experiment.name(), "sim")?;
    let format = args.scenario.format;
    if file.is_sweep() {
        let plan = Plan {
            text: &file.text,
            files: &file.files,
            overrides: file.overrides,
        };
        let name = file.points[0].experiment.name().to_owned();
        let points = file.points.into_iter();
        let point = |SweptExperiment { set, experiment }| Point { set, experiment };
        let points = points.map(point);
        let points = points.collect();
        return sweep::run(&name, points, &plan, args.replication, &out, format);
    }
    match file.points.swap_remove(0).experiment {
        Experiment::Transfers(scenario) => run_transfers(&scenario, &out, args),
        Experiment::Media(scenario) => media::run(&scenario, args.replication.jobs, &out, format),
        Experiment::Network(network) => {
            network::run(&network, args.replication, &args.recording, &out, format)
        }
    }
    .inspect_err(|_| out.discard())
}

/// Refuses the recording of anything but a single run of a network.
fn refuse_recording(args: &Args, file: &ParsedFile) -> Result<(), Failure> {
    let recording = &args.recording;
    let paths = match file.points[0].experiment {
        Experiment::Transfers(_) => Some("a file with transfers over paths"),
        Experiment::Media(_) => Some("a file with a media stream"),
        Experiment::Network(_) => None,
    };
    if let Some(paths) = paths {
        let remedy =
            "describe its paths as `[[link]]`s and its traffic as `[[flow]]`s (docs/simulator.md)";
        return recording.refuse(paths, remedy);
    }
    if file.is_sweep() {
        let remedy = "remove `[sweep]`, and select one combination with --set";
        return recording.refuse("a sweep", remedy);
    }
    if args.replication.replicas > 1 {
        let remedy = "omit --replicas, and select one run with --seed";
        return recording.refuse("more than one replica", remedy);
    }
    Ok(())
}

/// Refuses replicas of transfers, which have rounds, and of media streams, which have runs.
fn refuse_replicas(args: &Args, experiment: &Experiment) -> Result<(), Failure> {
    if args.replication.replicas == 1 {
        return Ok(());
    }
    let message = match experiment {
        Experiment::Transfers(_) => "--replicas is for networks; for transfers set transfer.count",
        Experiment::Media(_) => "--replicas is for networks; for a media stream set media.runs",
        Experiment::Network(_) => return Ok(()),
    };
    Err(Failure::input(message))
}

fn run_transfers(scenario: &Scenario, out: &OutputFolder, args: &Args) -> Result<(), Failure> {
    let transfers = u64::from(scenario.transfer.count) * scenario.schemes.len() as u64;
    let mut watched = Watched {
        observer: Simulated::new(scenario),
        progress: ProgressThread::start(transfers, out.clone())
            .context("starting the progress thread")?,
    };
    let outcome = polypath_sim::run(scenario, Seed(scenario.seed), &mut watched);
    let Watched { observer, progress } = watched;
    let experiment = observer.finish(scenario, &outcome.map_err(Failure::input)?);
    let report = outcome::write(&experiment, out.path());
    // Until the report is written, an interrupt ends the program.
    drop(progress);
    outcome::print(&experiment, report, args.scenario.format)
}

/// The report's observer with the progress and interrupts of its run.
struct Watched {
    observer: Simulated,
    progress: ProgressThread,
}

impl Observer for Watched {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        self.progress.advance_to(at);
        if matches!(event, SimEvent::TransferFinished { .. }) {
            self.progress.finish_transfer();
        }
        self.observer.on_event(scheme, at, event);
    }
}
