//! `polypath sim` of a network: one run or several replicas on several threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use polypath_batch::{parallel_map, replica_seeds, run_counted};
use polypath_report::network::{FILES, NetworkFigures, NetworkRecord, json, render, write};
use polypath_scenario::Network;
use polypath_sim::NetworkOutcome;

use crate::failure::Failure;
use crate::number::whole;
use crate::output::{print, print_to_stderr};
use crate::progress;
use crate::recording::{self, IncompleteFiles, Recorders};
use crate::scenario::{Format, OutputFolder};
use crate::stale_outputs;
use crate::watch::Interrupts;

/// The number of replicas and of concurrent simulations.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Replication {
    /// Run a network N times, each with a seed of its own derived from the root seed.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1..=100_000_u32))]
    pub(crate) replicas: u32,
    /// The number of concurrent simulations (replicas, runs of a media stream and points of a
    /// sweep), which does not affect the results [default: the number of cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1024_u16))]
    pub(crate) jobs: Option<u16>,
}

/// Runs the replicas and prints the report; errors of recording and writing are returned after
/// that.
pub(crate) fn run(
    network: &Network,
    replication: Replication,
    recording: &recording::Args,
    out: &OutputFolder,
    format: Format,
) -> Result<(), Failure> {
    let seeds = replica_seeds(network.seed, replication.replicas);
    let interrupts = Interrupts::register().context("installing signal handlers")?;
    let recorders = recording.open(network, seeds[0], &interrupts)?;
    let simulation = Simulation {
        network,
        seeds: &seeds,
        jobs: replication.jobs,
    };
    let Simulated {
        outcomes,
        mut incomplete,
    } = simulation.run(recorders, &interrupts, out);
    let outcomes = match outcomes {
        Ok(outcomes) => outcomes,
        Err(failure) => return Failure::combine(incomplete.into_result(), Err(failure)),
    };
    let replicas: Vec<(u64, NetworkOutcome)> = seeds.iter().copied().zip(outcomes).collect();
    let record = NetworkRecord {
        network,
        replicas: &replicas,
    };
    let Report { text, written } = report(record, out, format, &mut incomplete)?;
    if recording.uses_stdout() {
        print_to_stderr(&text);
    } else {
        print(&text)?;
    }
    Failure::combine(incomplete.into_result(), written)
}

/// The replicas to simulate.
struct Simulation<'a> {
    network: &'a Network,
    /// The seed of each replica.
    seeds: &'a [u64],
    /// The number of threads; `None` for the number of cores.
    jobs: Option<u16>,
}

/// The outcomes of all replicas, and the recordings that could not be written to the end.
struct Simulated {
    outcomes: Result<Vec<NetworkOutcome>, Failure>,
    incomplete: IncompleteFiles,
}

impl Simulation<'_> {
    fn run(self, recorders: Recorders, interrupts: &Interrupts, out: &OutputFolder) -> Simulated {
        let (network, seeds) = (self.network, self.seeds);
        let parts = AtomicU64::new(0);
        let in_progress = recorders.in_progress();
        // Only a single run is recorded, so the lock is never contended.
        let recorders = Mutex::new(recorders);
        let work = |number: usize| {
            if seeds.len() > 1 {
                return run_counted(network, seeds[number], &parts, &mut ()).map_err(Failure::run);
            }
            let mut recorders = recorders.lock().unwrap_or_else(PoisonError::into_inner);
            run_counted(network, seeds[number], &parts, &mut *recorders).map_err(Failure::run)
        };
        let mut bar = progress::Indicator::of_runs(seeds.len() as u64);
        let outcomes = parallel_map(seeds.len(), self.jobs, &work, &mut || {
            if !in_progress.load(Ordering::Relaxed) {
                interrupts.exit_and_discard(&bar, out);
            }
            bar.advance_runs(parts.load(Ordering::Relaxed));
        });
        bar.finish();
        let recorders = recorders.into_inner();
        let incomplete = recorders.unwrap_or_else(PoisonError::into_inner).finish();
        // The run may have ended while the recorders completed their files at an interrupt.
        interrupts.exit_and_discard(&bar, out);
        Simulated {
            outcomes,
            incomplete,
        }
    }
}

/// The text of a report, and the result of writing its files.
struct Report {
    text: String,
    written: Result<(), Failure>,
}

/// Writes the report; on a full disk `incomplete` recordings make room for it.
fn report(
    record: NetworkRecord<'_>,
    out: &OutputFolder,
    format: Format,
    incomplete: &mut IncompleteFiles,
) -> Result<Report, Failure> {
    let figures = NetworkFigures::of(record);
    let mut text = match format {
        Format::Table => render(record, &figures),
        Format::Json => json(record, &figures).context("writing the report")?,
    };
    let path = out.path();
    let written = incomplete
        .make_room(|| write(path, record, &figures))
        .with_context(|| format!("cannot write the report to {}", path.display()));
    if written.is_ok() {
        stale_outputs::report_stale(path, &FILES);
        if format == Format::Table {
            let report = path.join("report.html");
            text = format!("{text}\nreport: {}\n", report.display());
        }
    }
    Ok(Report {
        text,
        written: written.map_err(Failure::from),
    })
}
