//! `polypath lab`: runs a scenario in real time, between real programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use polypath_batch::replica_seeds;
use polypath_core::rng::Seed;
use polypath_lab::media::{MediaCarrier, run_media as run_media_in_lab};
use polypath_lab::{LabError, LabOptions, Progress};
use polypath_report::legend;
use polypath_scenario::{MediaScenario, Scenario};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;

use crate::failure::{Failure, INTERRUPTED};
use crate::media;
use crate::outcome;
use crate::progress;
use crate::scenario::{self, LabExperiment};

/// Arguments of `polypath lab`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = legend::lines())]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
    /// The media file to transfer: its first `transfer.size` bytes, or all of a shorter file; for
    /// files with transfers [default: random bytes].
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// Keep the nodes' configurations, keys, logs and events in this folder; for files with
    /// transfers.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Runs the scenario and prints the report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match args.scenario.file.read_for_lab()? {
        LabExperiment::Transfers(scenario) => run_transfers(&scenario, args),
        LabExperiment::Media(scenario) => run_media(&scenario, args),
    }
}

fn run_media(scenario: &MediaScenario, args: &Args) -> Result<(), Failure> {
    for (option, is_given) in [
        ("--clip", args.clip.is_some()),
        ("--keep", args.keep.is_some()),
    ] {
        if is_given {
            return Err(Failure::input(format!(
                "{option} is for files with transfers, and this one has a media stream: omit it"
            )));
        }
    }
    let out = args.scenario.out(&scenario.name, "lab")?;
    polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
    let finished = exit_on_signals_after_the_lab().context("installing signal handlers")?;
    let mut bar = progress::Indicator::long(u64::from(scenario.media.runs));
    let seeds = replica_seeds(scenario.seed, scenario.media.runs);
    let policies = scenario.media.policies.iter().cloned();
    let carriers: Vec<MediaCarrier> = policies.map(MediaCarrier::Policy).collect();
    let runs = run_media_in_lab(scenario, &carriers, &seeds, |done| {
        bar.advance("runs of all policies", done as u64);
    });
    finished.store(true, Ordering::Relaxed);
    bar.finish();
    let runs = runs.map_err(failure_of).inspect_err(|_| out.discard())?;
    media::report_lab(scenario, &seeds, &runs, &out, args.scenario.format)
}

fn run_transfers(scenario: &Scenario, args: &Args) -> Result<(), Failure> {
    let out = args.scenario.out(&scenario.name, "lab")?;
    if let Some(clip) = &args.clip {
        check_transfer_file(clip).inspect_err(|_| out.discard())?;
    }
    if let Some(keep) = args
        .keep
        .as_ref()
        .filter(|keep| keep.exists() && !keep.is_dir())
    {
        out.discard();
        let message = format!("--keep {}: not a folder", keep.display());
        return Err(Failure::input(message));
    }
    polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
    let options = LabOptions {
        node_binary: std::env::current_exe().context("finding the path of this program")?,
        transfer_file: args.clip.clone(),
        keep: args.keep.clone(),
    };
    let finished = exit_on_signals_after_the_lab().context("installing signal handlers")?;
    let mut bar = progress::Indicator::long(u64::from(scenario.transfer.count));
    let seed = Seed(scenario.seed);
    let experiment = polypath_lab::run(scenario, seed, &options, &mut |now| show(&mut bar, now));
    finished.store(true, Ordering::Relaxed);
    bar.finish();
    let experiment = experiment.map_err(|error| {
        out.discard();
        failure_of(error)
    })?;
    let report = outcome::write(&experiment, out.path());
    outcome::print(&experiment, report, args.scenario.format)
}

/// Checks that the file to transfer is a regular file.
fn check_transfer_file(file: &Path) -> Result<(), Failure> {
    let reason = match fs::metadata(file) {
        Ok(found) if found.is_file() => return Ok(()),
        Ok(found) if found.is_dir() => "it is a folder".to_owned(),
        Ok(_) => "it is a device, a pipe or a socket".to_owned(),
        Err(error) => error.to_string(),
    };
    let file = file.display();
    Err(Failure::input(format!(
        "--clip {file}: cannot transfer it: {reason}"
    )))
}

/// The failure of a lab.
pub(crate) fn failure_of(error: LabError) -> Failure {
    match error {
        LabError::Preflight(_) | LabError::Device(_) => Failure::Machine(error.into()),
        LabError::Scenario(_) | LabError::TransferFile(_) | LabError::Keep(_) => {
            Failure::Input(error.into())
        }
        error => Failure::Run(error.into()),
    }
}

/// Makes signals end the program once the returned flag is set: the lab's signal handlers, which
/// are not removed, suppress the default action.
pub(crate) fn exit_on_signals_after_the_lab() -> std::io::Result<Arc<AtomicBool>> {
    let finished = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        register_conditional_shutdown(signal, INTERRUPTED, finished.clone())?;
    }
    Ok(finished)
}

fn show(bar: &mut progress::Indicator, now: Progress) {
    match now {
        Progress::SettingUp => bar.set_stage("setting up"),
        Progress::Transfers { done, .. } => bar.advance("rounds of transfers", u64::from(done)),
        Progress::Collecting => bar.set_stage("collecting results"),
    }
}
