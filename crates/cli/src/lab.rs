//! `polypath lab`: a scenario in real time, between real programs.

use std::path::PathBuf;

use anyhow::Context;
use indicatif::ProgressBar;
use polypath_core::rng::Seed;
use polypath_lab::{LabError, LabOptions, Progress};

use crate::failure::Failure;
use crate::outcome;
use crate::progress;
use crate::scenario;

/// Arguments of `polypath lab`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
    /// The media file to transfer, cut to the size of a transfer [default: random bytes].
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// Leave the nodes' configurations, logs and events in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Runs the scenario and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scenario = args.scenario.read()?;
    let out = args.scenario.out(&scenario, "lab")?;
    if let Some(clip) = args.clip.as_ref().filter(|clip| !clip.is_file()) {
        return Err(Failure::input(format!(
            "{}: no file to transfer",
            clip.display()
        )));
    }
    polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
    let options = LabOptions {
        node_binary: std::env::current_exe().context("finding this program's own file")?,
        clip: args.clip.clone(),
        keep: args.keep.clone(),
    };
    let bar = progress::bar(u64::from(scenario.transfer.count), "rounds of transfers");
    progress::draw(&bar);
    let seed = Seed(scenario.seed);
    let experiment = polypath_lab::run(&scenario, seed, &options, &mut |now| show(&bar, now));
    bar.finish_and_clear();
    let experiment = experiment.map_err(|error| match error {
        LabError::Refused(_) | LabError::Device(_) => Failure::Machine(error.into()),
        LabError::Scenario(_) => Failure::Input(error.into()),
        error => Failure::Run(error.into()),
    })?;
    outcome::report(&experiment, &out, args.scenario.format)
}

fn show(bar: &ProgressBar, now: Progress) {
    match now {
        Progress::SettingUp => bar.set_message("setting up"),
        Progress::Transfers { done, .. } => {
            bar.set_message("rounds of transfers");
            bar.set_position(u64::from(done));
        }
        Progress::Collecting => bar.set_message("collecting"),
    }
}
