//! Runs that take place at the same time, each over a network of its own.

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::durations::DurationHistogram;
use polypath_report::media::LabConditions;
use polypath_scenario::network::{Multihomed, Senders};
use polypath_sim::{DelayPercentiles, DueDatagrams, PathChange, PathChoices, SendersTotals};

use super::running::{RunningSources, SourcesResult};
use super::{SourceOutcome, SourceRun};
use crate::LabError;
use crate::emulation::{Emulation, EmulationResult};
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::Network;

/// The interval at which the threads are checked.
const POLL: Duration = Duration::from_millis(50);
/// From the opening of the networks to the start of the runs, for sockets and threads of each run.
const LEAD: Duration = Duration::from_millis(30);

/// The runs of a group.
pub(super) struct GroupRun<'a> {
    runs: &'a [SourceRun<'a>],
    clock: Clock,
    // Drop order: the programs, then the networks and their namespaces.
    running: Vec<RunningSources>,
    emulation: Emulation,
    endpoints: Vec<Endpoints>,
    /// The time by which the last program started after time zero.
    late: Duration,
}

impl<'a> GroupRun<'a> {
    /// Starts the runs; their common time zero follows soon.
    pub(super) fn start(runs: &'a [SourceRun<'a>]) -> Result<Self, LabError> {
        let open = |run: &SourceRun<'_>| Network::open_between_senders(run.network, Seed(run.seed));
        let opened = runs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let (networks, endpoints): (Vec<Network>, Vec<Endpoints>) = opened.into_iter().unzip();
        let lead = (LEAD * (1 + runs.len() as u64)).as_nanos();
        let clock = Clock::starting_at(Clock::starting_now().origin_ns() + lead);
        let emulation = Emulation::start(networks, clock).map_err(LabError::Emulation)?;
        let start = |(run, endpoints): (&SourceRun<'_>, &Endpoints)| {
            let (senders, traffic) = senders(run)?;
            RunningSources::start(*run, senders, traffic, endpoints, clock)
                .map_err(|source| LabError::of_carrier(&run.network.name, source))
        };
        let running = runs.iter().zip(&endpoints).map(start);
        let running = running.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            late: clock.now().since(Time::ZERO),
            runs,
            clock,
            running,
            emulation,
            endpoints,
        })
    }

    /// Waits for the end of the runs and returns their outcomes.
    pub(super) fn finish(
        mut self,
        interrupt: &Interrupt,
    ) -> Result<(Vec<SourceOutcome>, LabConditions), LabError> {
        while self.await_programs()? {
            interrupt.sleep_until(self.clock, self.clock.now() + POLL)?;
        }
        let finish = |(run, running): (&SourceRun<'_>, RunningSources)| {
            let finished = running.finish();
            finished.map_err(|source| LabError::of_carrier(&run.network.name, source))
        };
        let results = self.runs.iter().zip(self.running).map(finish);
        let results = results.collect::<Result<Vec<_>, _>>()?;
        let emulated = self.emulation.finish().map_err(LabError::Emulation)?;
        let conditions = conditions(&emulated, &results, self.late);
        let mut outcomes = Vec::new();
        for (position, result) in results.into_iter().enumerate() {
            let dropped = self.endpoints[position].dropped()?;
            let refused = dropped + emulated.networks[position].counters().refused;
            outcomes.push(outcome(&self.runs[position], result, refused)?);
        }
        Ok((outcomes, conditions))
    }

    /// Whether sources still run; fails if the emulation or a responder has ended.
    fn await_programs(&mut self) -> Result<bool, LabError> {
        self.emulation.check().map_err(LabError::Emulation)?;
        let mut is_running = false;
        for (run, running) in self.runs.iter().zip(&self.running) {
            let is_over = running.is_over();
            let is_over =
                is_over.map_err(|source| LabError::of_carrier(&run.network.name, source))?;
            is_running |= !is_over;
        }
        Ok(is_running)
    }
}

/// The senders of a run, and their traffic; fails if they are not multihomed sources.
fn senders<'a>(run: &SourceRun<'a>) -> Result<(Senders<'a>, &'a Multihomed), LabError> {
    let senders = run.network.senders();
    let found = senders.and_then(|senders| Some((senders, senders.traffic.multihomed()?)));
    Ok(found.ok_or(polypath_sim::network::BuildError::NoSenders)?)
}

/// The lateness of the networks, of the sources and of the responders, and of the start.
fn conditions(
    emulated: &EmulationResult,
    results: &[SourcesResult],
    late: Duration,
) -> LabConditions {
    let of_links = emulated.conditions();
    let [mut sources, mut responders] =
        [DurationHistogram::default(), DurationHistogram::default()];
    for result in results {
        sources.merge(&result.report.lateness);
        responders.merge(&result.responder.lateness);
    }
    let programs = sources.quantile(0.99).max(responders.quantile(0.99));
    LabConditions {
        // A source that starts late sends a burst.
        lateness: of_links.lateness.max(programs).max(late),
        longest: of_links.longest.max(sources.max()).max(responders.max()),
        ..of_links
    }
}

fn outcome(
    run: &SourceRun<'_>,
    result: SourcesResult,
    refused_by_network: u64,
) -> Result<SourceOutcome, LabError> {
    let (senders, traffic) = senders(run)?;
    let mut begun = vec![0; traffic.ways.len()];
    let mut ended = begun.clone();
    let mut choices = PathChoices::of(run.network, &senders);
    for change in result.changes {
        let (from, to) = (change.from, change.to);
        ended[to.index()] += 1;
        match from {
            Some(from) => ended[from.index()] -= 1,
            None => begun[to.index()] += 1,
        }
        choices.change(change.at, PathChange { from, to });
    }
    choices.advance(Time::ZERO + run.network.run.duration);
    let report = result.report;
    let totals = SendersTotals {
        measured: run.network.run.duration - run.network.run.warm_up,
        sent: report.sent,
        // An ACK that is lost counts as the loss of its datagram.
        due: DueDatagrams {
            sent: report.due,
            arrived: report.due_acknowledged,
        },
        heartbeats: report.heartbeats,
        wire_bytes: None,
        arrived: report.delays.count(),
        mean_delay: report.delays.mean().map(Duration::as_secs_f64),
        delay: percentiles(&report.delays),
    };
    Ok(SourceOutcome {
        senders: choices.outcome_of(totals),
        begun,
        ended,
        refused: refused_by_network + report.refused + result.responder.refused,
    })
}

fn percentiles(delays: &DurationHistogram) -> Option<DelayPercentiles> {
    (delays.count() > 0).then(|| DelayPercentiles {
        p50: delays.quantile(0.5),
        p90: delays.quantile(0.9),
        p95: delays.quantile(0.95),
        p99: delays.quantile(0.99),
    })
}
