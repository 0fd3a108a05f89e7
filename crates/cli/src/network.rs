//! `polypath sim` of a network: one run or several replicas, on several threads.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::network::{NetworkFigures, NetworkRecord, render, write};
use polypath_scenario::Network;
use polypath_sim::{NetworkOutcome, RunError, run_network};

use crate::failure::Failure;
use crate::output::print;
use crate::progress;
use crate::scenario::{Folder, Format};
use crate::watch::Interrupts;

/// Parts of one replica that progress is counted in.
pub(crate) const PARTS: u64 = 1000;
/// How often progress is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// How often to run, and on how many threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Replication {
    /// Run a network so many times, each with a seed of its own that follows from the root seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) replicas: u32,
    /// Run so many replicas at once; the results are the same for any number [default: the cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// Runs the replicas and reports.
pub(crate) fn run(
    network: &Network,
    replication: Replication,
    out: &Folder,
    format: Format,
) -> Result<(), Failure> {
    let seeds = seeds(network.seed, replication.replicas);
    let parts = AtomicU64::new(0);
    let work = |number: usize| run_one(network, seeds[number], &parts).map_err(Failure::run);
    let mut bar = progress::Indicator::perhaps_short(seeds.len() as u64 * PARTS);
    let interrupts = Interrupts::register().context("watching for signals")?;
    let outcomes = in_order(seeds.len(), replication.jobs, &work, &mut || {
        interrupts.obey(&bar, out);
        bar.advance("simulating", parts.load(Ordering::Relaxed));
    })?;
    bar.finish();
    let replicas: Vec<(u64, NetworkOutcome)> = seeds.iter().copied().zip(outcomes).collect();
    let record = NetworkRecord {
        network,
        replicas: &replicas,
    };
    let figures = NetworkFigures::of(record);
    let path = out.path();
    let written = write(path, record, &figures)
        .with_context(|| format!("cannot write the report to {}", path.display()))?;
    let folder = written.folder.display();
    print(&match format {
        Format::Table => format!(
            "{}\nreport: {folder}/report.json\n",
            render(record, &figures)
        ),
        Format::Json => written.text,
    })
}

/// The root seed for a single run, or one that follows from it for each replica.
pub(crate) fn seeds(root: u64, replicas: u32) -> Vec<u64> {
    if replicas == 1 {
        return vec![root];
    }
    let child = |number: u32| Seed(root).child(&format!("replica/{number}")).0;
    (0..replicas).map(child).collect()
}

fn jobs(wanted: Option<u16>, replicas: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    wanted.map_or_else(cores, usize::from).min(replicas)
}

/// Does `count` pieces of work on several threads; the results stand in the order of their numbers, whatever
/// the number of threads. The first that fails ends it all. `glance` is called now and then meanwhile.
pub(crate) fn in_order<T: Send>(
    count: usize,
    wanted_jobs: Option<u16>,
    work: &(impl Fn(usize) -> Result<T, Failure> + Sync),
    glance: &mut impl FnMut(),
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let (results, finished) = mpsc::channel();
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut failure = None;
    thread::scope(|scope| {
        for _ in 0..jobs(wanted_jobs, count) {
            let (results, next) = (results.clone(), &next);
            scope.spawn(move || {
                while let Some(number) = take(next, count) {
                    // The receiver lives as long as this scope.
                    let _ = results.send((number, work(number)));
                }
            });
        }
        drop(results);
        loop {
            match finished.recv_timeout(GLANCE) {
                Ok((number, Ok(result))) => done[number] = Some(result),
                Ok((_, Err(error))) => {
                    next.store(count, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            glance();
        }
    });
    failure.map_or_else(|| Ok(done.into_iter().flatten().collect()), Err)
}

/// The number of the next piece of work, if there is one.
fn take(next: &AtomicUsize, end: usize) -> Option<usize> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    (number < end).then_some(number)
}

/// Runs one replica, and adds how far it has come to `parts`.
pub(crate) fn run_one(
    network: &Network,
    seed: u64,
    parts: &AtomicU64,
) -> Result<NetworkOutcome, RunError> {
    let mut told = 0;
    let end = network.run.duration.as_nanos().max(1);
    run_network(network, Seed(seed), &mut |now: Time| {
        let come = u64::try_from(u128::from(now.0) * u128::from(PARTS) / u128::from(end));
        let come = come.unwrap_or(PARTS);
        parts.fetch_add(come - told, Ordering::Relaxed);
        told = come;
    })
}
