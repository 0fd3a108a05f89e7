//! `polypath lab`: a scenario in real time, between real programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use polypath_core::rng::Seed;
use polypath_lab::{LabError, LabOptions, Progress};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;

use crate::failure::{Failure, INTERRUPTED};
use crate::outcome;
use crate::progress;
use crate::scenario;

/// Arguments of `polypath lab`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = scenario::columns())]
pub(crate) struct Args {
    #[command(flatten)]
    scenario: scenario::Args,
    /// The media file to transfer, cut to the size of a transfer, or whole where it is shorter
    /// [default: random bytes].
    #[arg(long, value_name = "FILE")]
    clip: Option<PathBuf>,
    /// Leave the nodes' configurations, logs and events in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Runs the scenario and reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scenario = args.scenario.read_transfers()?;
    let out = args.scenario.out(&scenario.name, "lab")?;
    if let Some(clip) = &args.clip {
        check_clip(clip).inspect_err(|_| out.discard())?;
    }
    if let Some(keep) = args
        .keep
        .as_ref()
        .filter(|keep| keep.exists() && !keep.is_dir())
    {
        out.discard();
        let message = format!("--keep {}: it is no folder", keep.display());
        return Err(Failure::input(message));
    }
    polypath_lab::enter_user_namespace().map_err(|refusal| Failure::Machine(refusal.into()))?;
    let options = LabOptions {
        node_binary: std::env::current_exe().context("finding this program's own file")?,
        transfer_file: args.clip.clone(),
        keep: args.keep.clone(),
    };
    let over = end_at_signals_after_the_lab().context("catching signals")?;
    let mut bar = progress::Indicator::long(u64::from(scenario.transfer.count));
    let seed = Seed(scenario.seed);
    let experiment = polypath_lab::run(&scenario, seed, &options, &mut |now| show(&mut bar, now));
    over.store(true, Ordering::Relaxed);
    bar.finish();
    let experiment = experiment.map_err(|error| {
        out.discard();
        failure_of(error)
    })?;
    let report = outcome::write(&experiment, out.path());
    outcome::print(&experiment, report, args.scenario.format)
}

/// Says what a clip is where it is no file.
fn check_clip(clip: &Path) -> Result<(), Failure> {
    let why = match fs::metadata(clip) {
        Ok(found) if found.is_file() => return Ok(()),
        Ok(found) if found.is_dir() => "it is a folder".to_owned(),
        Ok(_) => "it is a device, a pipe or a socket".to_owned(),
        Err(error) => error.to_string(),
    };
    let clip = clip.display();
    Err(Failure::input(format!(
        "--clip {clip}: no file to transfer: {why}"
    )))
}

fn failure_of(error: LabError) -> Failure {
    match error {
        LabError::Preflight(_) | LabError::Device(_) => Failure::Machine(error.into()),
        LabError::Scenario(_) | LabError::TransferFile(_) | LabError::Keep(_) => {
            Failure::Input(error.into())
        }
        error => Failure::Run(error.into()),
    }
}

/// Has the signals by which a lab is stopped end the program from the time on at which the flag is
/// set: the lab catches them while it runs, and does not give them back.
fn end_at_signals_after_the_lab() -> std::io::Result<Arc<AtomicBool>> {
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        register_conditional_shutdown(signal, INTERRUPTED, over.clone())?;
    }
    Ok(over)
}

fn show(bar: &mut progress::Indicator, now: Progress) {
    match now {
        Progress::SettingUp => bar.set_stage("setting up"),
        Progress::Transfers { done, .. } => bar.advance("rounds of transfers", u64::from(done)),
        Progress::Collecting => bar.set_stage("collecting"),
    }
}
