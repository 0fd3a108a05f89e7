//! A whole experiment: every scheme over its own copy of the network, transfer by transfer.
//!
//! Each scheme has a world of its own, built with the same seed: the background sources draw the
//! same idle times and file sizes in all of them, and only their TCP reacts to what the scheme
//! does. Rounds are in lock-step: a round starts in all schemes at the same time, one gap after the
//! slowest of them has completed the round before. Differences between schemes are therefore paired
//! by round.
//!
//! The simulation starts no thread, reads no clock and has no global; the same scenario and seed
//! give the same events in the same order, everywhere.

mod network;

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_link::Counters;
use polypath_scenario::{Scenario, Scheme};

use crate::error::RunError;
use crate::flow::BackgroundBytes;
use crate::observer::{Observer, SimEvent};
use crate::scheme_run::SchemeRun;
use crate::world::{Direction, LinkName, path_load};

pub use network::{
    FlowOutcome, LinkOutcome, NetworkObserver, NetworkOutcome, StreamSpan, run_network,
};

/// The outcome of an experiment, besides the events for the observer.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Each scheme, in the order of the scenario.
    pub schemes: Vec<SchemeOutcome>,
    /// The start of the first round.
    pub start: Time,
    /// The end of the last round: one gap after its slowest transfer.
    pub end: Time,
}

/// The outcome of one scheme, from the start of the first round to the end of the last.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeOutcome {
    /// The scheme.
    pub scheme: Scheme,
    /// The duration of each transfer from its first SYN to the last byte in order; `None` if it
    /// timed out.
    pub transfers: Vec<Option<Duration>>,
    /// The bytes that background traffic delivered.
    pub background: BackgroundBytes,
    /// The links of the paths, for each direction.
    pub links: Vec<LinkSummary>,
}

/// The totals of one direction of a path's link from the start of the first round to the end of the
/// last.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSummary {
    /// Its name and place, always with a direction.
    pub name: LinkName,
    /// Its rate in bits per second.
    pub rate: Rate,
    /// Its totals.
    pub counters: Counters,
    /// The fraction of the time in which it was transmitting.
    pub load: f64,
}

impl SchemeOutcome {
    /// The mean load of a path in the direction `towards`; see [`path_load`].
    #[must_use]
    pub fn path_load(&self, path: PathId, towards: Direction) -> Option<f64> {
        let links = self.links.iter().map(|l| (&l.name, l.load));
        path_load(links, path, towards)
    }
}

/// Runs every scheme of a scenario; the observer sees each event as it happens.
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    observer: &mut impl Observer,
) -> Result<Outcome, RunError> {
    let mut runs = scenario
        .schemes
        .iter()
        .map(|&scheme| SchemeRun::new(scenario, scheme, seed))
        .collect::<Result<Vec<SchemeRun>, RunError>>()?;
    let start = Time::ZERO + scenario.transfer.warm_up;
    let before = warm_up(&mut runs, start, observer)?;
    let mut transfers = vec![Vec::new(); runs.len()];
    let mut now = start;
    for round in 0..scenario.transfer.count {
        now = run_round(scenario, round, now, &mut runs, &mut transfers, observer)?;
    }
    let schemes = scenario.schemes.iter().zip(runs).zip(before).zip(transfers);
    Ok(Outcome {
        schemes: schemes
            .map(|(((&scheme, run), before), transfers)| SchemeOutcome {
                scheme,
                transfers,
                background: run.background().since(&before.background),
                links: before.summaries(&run, start, now),
            })
            .collect(),
        start,
        end: now,
    })
}

/// Runs every scheme to the start of the first round; returns its totals then.
fn warm_up(
    runs: &mut [SchemeRun],
    start: Time,
    observer: &mut impl Observer,
) -> Result<Vec<Snapshot>, RunError> {
    let run = |(index, run): (usize, &mut SchemeRun)| {
        run.run_until(start, &mut |at, event| observer.on_event(index, at, event));
        run.fits_memory()?;
        Ok(Snapshot::of(run, start))
    };
    runs.iter_mut().enumerate().map(run).collect()
}

/// Runs one transfer in every scheme; returns when the next round starts.
fn run_round(
    scenario: &Scenario,
    round: u32,
    start: Time,
    runs: &mut [SchemeRun],
    transfers: &mut [Vec<Option<Duration>>],
    observer: &mut impl Observer,
) -> Result<Time, RunError> {
    let timeout = scenario.transfer.timeout;
    let mut slowest = start;
    let before: Vec<BackgroundBytes> = runs.iter().map(SchemeRun::background).collect();
    for (index, (run, transfers)) in runs.iter_mut().zip(transfers).enumerate() {
        let report = &mut |at, event: &SimEvent| observer.on_event(index, at, event);
        let finished = run.transfer(round, start, timeout, report);
        transfers.push(finished.map(|at| at.since(start)));
        slowest = slowest.max(finished.unwrap_or(start + timeout));
    }
    let next = slowest + scenario.transfer.gap;
    for (index, (run, before)) in runs.iter_mut().zip(&before).enumerate() {
        let report = &mut |at, event: &SimEvent| observer.on_event(index, at, event);
        run.run_until(next, report);
        run.fits_memory()?;
        let background = run.background().since(before);
        report(next, &SimEvent::RoundOver { round, background });
    }
    Ok(next)
}

/// The totals of a run at a point in time.
struct Snapshot {
    background: BackgroundBytes,
    links: Vec<Counters>,
}

impl Snapshot {
    fn of(run: &SchemeRun, now: Time) -> Self {
        Self {
            background: run.background(),
            links: run.network().links_at(now).map(|l| l.counters).collect(),
        }
    }

    /// The totals of the links between `begin`, when `self` was read, and `now`.
    fn summaries(&self, run: &SchemeRun, begin: Time, now: Time) -> Vec<LinkSummary> {
        let seconds = now.since(begin).as_secs_f64();
        let links = run.network().links_at(now).zip(&self.links);
        links
            .filter(|(link, _)| link.name.towards.is_some())
            .map(|(link, before)| {
                let counters = link.counters.since(before);
                LinkSummary {
                    name: link.name.clone(),
                    rate: link.rate,
                    counters,
                    load: counters.load(link.rate, seconds),
                }
            })
            .collect()
    }
}
