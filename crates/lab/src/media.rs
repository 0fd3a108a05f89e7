//! A media stream between real programs over emulated links.
//!
//! Every carrier, a policy between two nodes or another transport, has a network of its own, and
//! carries the stream at the same time as the others. All networks of a run have the same seed, so
//! that an outage or a fade meets all carriers at the same time, as in the simulator.
//!
//! *Time.* The networks' time zero is that of the nodes and of the stream. The thread of the
//! networks has a real-time priority, and nodes and streams a lower one, if the system allows it.
//!
//! *Lateness.* A run counts only if the networks were not late. If they were, the carriers are run
//! in groups, half as many at a time, from then on ([`MediaConditions`]).

mod carrier;
mod ends;
mod programs;
mod stream;
mod transport;
mod wire;

use polypath_core::liveness::LivenessSetting;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_scenario::MediaScenario;
use polypath_sim::{MEDIA_DRAIN, MediaOutcome, media_start};

use crate::LabError;
use crate::emulation::{Emulation, EmulationResult};
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::{Network, Snapshot};
use crate::preflight::preflight;
pub use carrier::MediaCarrier;
use carrier::RunningCarrier;
pub use transport::Transport;

/// The time before the first packet in which the carriers start, at least.
pub const START_UP: Duration = Duration::from_secs(5);
/// The interval at which the carriers are asked whether they use all paths.
const POLL: Duration = Duration::from_millis(50);
/// The real-time priority of the nodes and of the stream, below that of the networks.
const PRIORITY: u8 = 5;
/// The bound on the 99th percentile of the networks' lateness with a real-time priority, and
/// without.
const LATENESS_BOUND: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(5)];

/// The outcomes of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaLabRuns {
    /// The outcomes of each carrier, in the order of the seeds.
    pub outcomes: Vec<Vec<MediaOutcome>>,
    /// The conditions of the run of each seed.
    pub conditions: Vec<MediaConditions>,
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaConditions {
    /// The lateness of the networks: the 99th percentile, of packets or of wakes, whichever is
    /// larger; the largest of the groups.
    pub lateness: Duration,
    /// Its bound, beyond which the run does not count; the smallest of the groups.
    pub bound: Duration,
    /// The number of groups in which the carriers were run; with one, all carriers met the same load
    /// of the machine.
    pub groups: u32,
}

impl MediaConditions {
    /// Whether the run counts.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lateness <= self.bound
    }

    fn of_group(emulated: &EmulationResult) -> Self {
        Self {
            lateness: emulated.lateness.quantile(0.99),
            bound: LATENESS_BOUND[usize::from(!emulated.realtime)],
            groups: 1,
        }
    }

    /// The conditions of this run, of which `self` and `other` are groups.
    fn with(self, other: Self) -> Self {
        Self {
            lateness: self.lateness.max(other.lateness),
            bound: self.bound.min(other.bound),
            groups: self.groups + other.groups,
        }
    }
}

/// Runs the stream of a scenario by all carriers, once for each seed.
///
/// The stream begins [`START_UP`] after time zero or later.
///
/// # Errors
/// If the lab is not available, the scenario makes no network, a carrier fails or does not use all
/// paths in time, and with [`LabError::Interrupted`] on a signal to stop. Leaves nothing behind.
pub fn run_media(
    scenario: &MediaScenario,
    carriers: &[MediaCarrier],
    seeds: &[u64],
    mut on_progress: impl FnMut(usize),
) -> Result<MediaLabRuns, LabError> {
    preflight()?;
    for carrier in carriers {
        if let MediaCarrier::Transport(transport) = carrier {
            transport.preflight()?;
        }
    }
    let interrupt = Interrupt::watch().map_err(LabError::Signals)?;
    let scenario = with_start_up(scenario);
    let mut runs = MediaLabRuns {
        outcomes: vec![Vec::new(); carriers.len()],
        conditions: Vec::new(),
    };
    let mut group = carriers.len();
    for (done, seed) in seeds.iter().enumerate() {
        on_progress(done);
        let run = |carriers: &[MediaCarrier]| {
            GroupRun::start(&scenario, carriers, Seed(*seed))?.finish(&interrupt)
        };
        let (outcomes, conditions) = run_in_groups(carriers, &mut group, run)?;
        for (of_carrier, outcome) in runs.outcomes.iter_mut().zip(outcomes) {
            of_carrier.push(outcome);
        }
        runs.conditions.extend(conditions);
    }
    on_progress(seeds.len());
    Ok(runs)
}

/// The scenario as the lab runs it, and as a simulation of the same runs must: with a warm-up in which
/// the carriers can start.
#[must_use]
pub fn with_start_up(scenario: &MediaScenario) -> MediaScenario {
    let mut scenario = scenario.clone();
    scenario.media.warm_up = scenario.media.warm_up.max(START_UP);
    scenario
}

/// Runs the carriers in groups of `size`, which is halved as long as the networks of a group are
/// late; returns their outcomes, and the conditions if there is a carrier.
fn run_in_groups<T>(
    carriers: &[MediaCarrier],
    size: &mut usize,
    run: impl Fn(&[MediaCarrier]) -> Result<(Vec<T>, MediaConditions), LabError>,
) -> Result<(Vec<T>, Option<MediaConditions>), LabError> {
    let mut outcomes = Vec::new();
    let mut conditions: Option<MediaConditions> = None;
    while outcomes.len() < carriers.len() {
        let rest = &carriers[outcomes.len()..];
        let carried = rest.len().min(*size);
        let (group, of_group) = run(&rest[..carried])?;
        if !of_group.is_valid() && carried > 1 {
            *size = carried.div_ceil(2);
            continue;
        }
        outcomes.extend(group);
        conditions = Some(conditions.map_or(of_group, |all| all.with(of_group)));
    }
    Ok((outcomes, conditions))
}

/// One run of a group of carriers.
struct GroupRun<'a> {
    scenario: &'a MediaScenario,
    start: Time,
    clock: Clock,
    // Drop order: streams and transports, then the networks and their namespaces.
    carriers: Vec<RunningCarrier>,
    emulation: Emulation,
    endpoints: Vec<Endpoints>,
}

impl<'a> GroupRun<'a> {
    fn start(
        scenario: &'a MediaScenario,
        carriers: &[MediaCarrier],
        seed: Seed,
    ) -> Result<Self, LabError> {
        let opened = carriers.iter().map(|_| Network::open(scenario, seed));
        let opened = opened.collect::<Result<Vec<_>, _>>()?;
        let (networks, endpoints): (Vec<Network>, Vec<Endpoints>) = opened.into_iter().unzip();
        let clock = Clock::starting_now();
        let emulation = Emulation::start(networks, clock).map_err(LabError::Emulation)?;
        let start = media_start(scenario, seed);
        let start_carrier = |(carrier, endpoints): (&MediaCarrier, &Endpoints)| {
            let running = RunningCarrier::start(scenario, carrier, endpoints, clock, start);
            running.map_err(|source| LabError::of_carrier(&carrier.name(), source))
        };
        let carriers = carriers.iter().zip(&endpoints).map(start_carrier);
        let carriers = carriers.collect::<Result<Vec<_>, _>>()?;
        if clock.now() >= start {
            return Err(LabError::StartUp(scenario.media.warm_up));
        }
        Ok(Self {
            scenario,
            start,
            clock,
            carriers,
            emulation,
            endpoints,
        })
    }

    /// Waits for the end of the stream and collects the outcomes.
    fn finish(
        mut self,
        interrupt: &Interrupt,
    ) -> Result<(Vec<MediaOutcome>, MediaConditions), LabError> {
        let media = &self.scenario.media;
        self.await_settled(interrupt)?;
        interrupt.sleep_until(self.clock, self.start)?;
        self.emulation
            .start_counting()
            .map_err(LabError::Emulation)?;
        let before = self.snapshot()?;
        let end = self.start + media.duration + media.longest_deadline();
        interrupt.sleep_until(self.clock, end)?;
        let after = self.snapshot()?;
        self.emulation
            .stop_counting()
            .map_err(LabError::Emulation)?;
        interrupt.sleep_until(self.clock, end + MEDIA_DRAIN)?;
        let mut outcomes = Vec::new();
        for (carrier, totals) in self.carriers.into_iter().zip(before.iter().zip(&after)) {
            let name = carrier.name.clone();
            let failed = |source| LabError::of_carrier(&name, source);
            let mut finished = carrier.finish().map_err(failed)?;
            finished.deliveries.retain(|of| of.at <= end + MEDIA_DRAIN);
            let wire = wire::of(finished.nodes.as_ref(), self.start..end, totals)?;
            outcomes.push(MediaOutcome::new(
                media,
                self.start,
                &finished.deliveries,
                wire,
            ));
        }
        let emulated = self.emulation.finish().map_err(LabError::Emulation)?;
        drop(self.endpoints);
        Ok((outcomes, MediaConditions::of_group(&emulated)))
    }

    /// Waits until every carrier uses all paths, until the stream begins at the latest; some path
    /// must be in use then.
    fn await_settled(&mut self, interrupt: &Interrupt) -> Result<(), LabError> {
        if matches!(self.scenario.liveness, LivenessSetting::Off(_)) {
            return Ok(());
        }
        while self.unsettled(self.scenario.paths.len())?.is_some() {
            self.emulation.check().map_err(LabError::Emulation)?;
            let now = self.clock.now();
            if now >= self.start {
                return self.unsettled(1)?.map_or(Ok(()), Err);
            }
            interrupt.sleep_until(self.clock, now + POLL)?;
        }
        Ok(())
    }

    /// The error of a carrier that cannot use `wanted` paths, if there is one.
    fn unsettled(&mut self, wanted: usize) -> Result<Option<LabError>, LabError> {
        for (carrier, endpoints) in self.carriers.iter_mut().zip(&self.endpoints) {
            let reason = carrier.unsettled(wanted, endpoints);
            let failed = |source| LabError::of_carrier(&carrier.name, source);
            if let Some(reason) = reason.map_err(failed)? {
                return Ok(Some(failed(std::io::Error::other(reason))));
            }
        }
        Ok(None)
    }

    fn snapshot(&mut self) -> Result<Vec<Snapshot>, LabError> {
        self.emulation.snapshot().map_err(LabError::Emulation)
    }
}

#[cfg(test)]
mod tests;
