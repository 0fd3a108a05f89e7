//! `polypath sim` of a network: one run or several replicas, on several threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use polypath_batch::{parallel_map, replica_seeds, run_counted};
use polypath_report::network::{FILES, NetworkFigures, NetworkRecord, json, render, write};
use polypath_scenario::Network;
use polypath_sim::NetworkOutcome;

use crate::failure::Failure;
use crate::output::{print, print_to_stderr};
use crate::progress;
use crate::recording::{self, Recorders};
use crate::scenario::{Format, OutputFolder};
use crate::stale_outputs;
use crate::watch::Interrupts;

/// How often to run, and on how many threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Replication {
    /// Run a network so many times, each with a seed of its own that follows from the root seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) replicas: u32,
    /// Do so many runs at once, replicas and points of a sweep; the results are the same for any
    /// number [default: the cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Runs the replicas and reports; what could not be recorded, or written, fails after the report is
/// printed.
pub(crate) fn run(
    network: &Network,
    replication: Replication,
    recording: &recording::Args,
    out: &OutputFolder,
    format: Format,
) -> Result<(), Failure> {
    let seeds = replica_seeds(network.seed, replication.replicas);
    let interrupts = Interrupts::register().context("watching for signals")?;
    let recorders = recording.open(network, seeds[0], &interrupts)?;
    let simulation = (network, &seeds[..], replication.jobs);
    let (outcomes, recorded) = simulate(simulation, recorders, &interrupts, out);
    let both_failed = |_: &Failure| {
        _ = recorded.as_ref().map_err(Failure::report);
    };
    let outcomes = outcomes.inspect_err(both_failed)?;
    let (text, written) = report(network, &seeds, outcomes, out, format)?;
    if recording.uses_stdout() {
        print_to_stderr(&text);
    } else {
        print(&text)?;
    }
    Failure::combine(recorded, written)
}

/// The outcomes of all replicas, and whether what was to be recorded is.
fn simulate(
    (network, seeds, jobs): (&Network, &[u64], Option<u16>),
    recorders: Recorders,
    interrupts: &Interrupts,
    out: &OutputFolder,
) -> (Result<Vec<NetworkOutcome>, Failure>, Result<(), Failure>) {
    let parts = AtomicU64::new(0);
    let in_progress = recorders.in_progress();
    // One run at the most is recorded: nobody waits for the recorders.
    let recorders = Mutex::new(recorders);
    let work = |number: usize| {
        if seeds.len() > 1 {
            return run_counted(network, seeds[number], &parts, &mut ()).map_err(Failure::run);
        }
        let mut recorders = recorders.lock().unwrap_or_else(PoisonError::into_inner);
        run_counted(network, seeds[number], &parts, &mut *recorders).map_err(Failure::run)
    };
    let mut bar = progress::Indicator::of_runs(seeds.len() as u64);
    let outcomes = parallel_map(seeds.len(), jobs, &work, &mut || {
        if !in_progress.load(Ordering::Relaxed) {
            interrupts.exit_and_discard(&bar, out);
        }
        bar.advance_runs(parts.load(Ordering::Relaxed));
    });
    bar.finish();
    let recorders = recorders.into_inner();
    let recorded = recorders.unwrap_or_else(PoisonError::into_inner).finish();
    // The run may have come to its end while the recorders obeyed.
    interrupts.exit_and_discard(&bar, out);
    (outcomes, recorded)
}

/// Writes the report, and gives what is to be printed, and whether it is written.
fn report(
    network: &Network,
    seeds: &[u64],
    outcomes: Vec<NetworkOutcome>,
    out: &OutputFolder,
    format: Format,
) -> Result<(String, Result<(), Failure>), Failure> {
    let replicas: Vec<(u64, NetworkOutcome)> = seeds.iter().copied().zip(outcomes).collect();
    let record = NetworkRecord {
        network,
        replicas: &replicas,
    };
    let figures = NetworkFigures::of(record);
    let mut text = match format {
        Format::Table => render(record, &figures),
        Format::Json => json(record, &figures).context("writing the report")?,
    };
    let path = out.path();
    let written = write(path, record, &figures)
        .with_context(|| format!("cannot write the report to {}", path.display()));
    if written.is_ok() {
        stale_outputs::report_stale(path, &FILES);
        if format == Format::Table {
            let report = path.join("report.json");
            text = format!("{text}\nreport: {}\n", report.display());
        }
    }
    Ok((text, written.map_err(Failure::from)))
}
