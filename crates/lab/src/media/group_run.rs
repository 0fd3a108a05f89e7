//! One run of a group of carriers, each over a network of its own.

use polypath_core::liveness::LivenessSetting;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_report::media::{CarrierMeasurement, LabConditions};
use polypath_scenario::{Media, MediaScenario};
use polypath_sim::{MEDIA_DRAIN, MediaOutcome, media_start};

use super::carrier::RunningCarrier;
use super::path_use::{CHECK, PathUse};
use super::{CarrierRun, MediaCarrier, wire};
use crate::LabError;
use crate::emulation::Emulation;
use crate::endpoints::Endpoints;
use crate::interrupt::Interrupt;
use crate::network::{Network, Snapshot};
use crate::node_process::NodeFiles;

/// The interval at which the carriers are checked.
const POLL: Duration = Duration::from_millis(50);

/// One run of a group of carriers.
pub(super) struct GroupRun<'a> {
    scenario: &'a MediaScenario,
    start: Time,
    clock: Clock,
    // Drop order: streams and transports, then the networks and their namespaces.
    carriers: Vec<RunningCarrier>,
    emulation: Emulation,
    endpoints: Vec<Endpoints>,
}

impl<'a> GroupRun<'a> {
    pub(super) fn start(
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

    /// Waits for the end of the stream and collects the results.
    pub(super) fn finish(
        mut self,
        interrupt: &Interrupt,
    ) -> Result<(Vec<CarrierRun>, LabConditions), LabError> {
        let scenario = self.scenario;
        let media = &scenario.media;
        self.await_settled(interrupt)?;
        self.watch_until(self.start, interrupt)?;
        self.emulation
            .start_counting()
            .map_err(LabError::Emulation)?;
        let processor = self.processor_times()?;
        let start = self.snapshot()?;
        let end = self.start + media.duration + media.longest_deadline();
        self.watch_until(self.start + CHECK.min(media.duration), interrupt)?;
        let check = self.snapshot()?;
        self.watch_until(end, interrupt)?;
        let totals = [start, check, self.snapshot()?];
        let processor_at_end = self.processor_times()?;
        self.emulation
            .stop_counting()
            .map_err(LabError::Emulation)?;
        self.watch_until(end + MEDIA_DRAIN, interrupt)?;
        let mut runs = Vec::new();
        let mut longest = Duration::ZERO;
        let carriers = self.carriers.into_iter().zip(&self.endpoints).enumerate();
        for (at, (carrier, endpoints)) in carriers {
            let totals = Totals::of(&totals, at);
            let measurement = CarrierMeasurement {
                processor: processor_at_end[at]
                    .zip(processor[at])
                    .map(|(end, start)| end - start),
                ..totals.measurement(media, carrier.path_use, endpoints)?
            };
            let name = carrier.name.clone();
            let failed = |source| LabError::of_carrier(&name, source);
            let mut finished = carrier.finish().map_err(failed)?;
            longest = longest.max(finished.stream.latest);
            let deliveries = &mut finished.stream.deliveries;
            deliveries.retain(|of| of.at <= end + MEDIA_DRAIN);
            let span = self.start..end;
            let nodes = finished.nodes.as_ref();
            let events = nodes.map(|nodes| nodes.files.each_ref().map(NodeFiles::events));
            let wire = wire::of(events.as_ref(), span, (totals.start, totals.end))?;
            let outcome = MediaOutcome::new(media, self.start, &finished.stream.deliveries, wire);
            runs.push(CarrierRun {
                outcome,
                measurement,
            });
        }
        let emulated = self.emulation.finish().map_err(LabError::Emulation)?;
        for (run, network) in runs.iter_mut().zip(&emulated.networks) {
            run.measurement.refused = network.counters().refused;
        }
        let conditions = emulated.conditions();
        let conditions = LabConditions {
            longest: longest.max(conditions.longest),
            ..conditions
        };
        Ok((runs, conditions))
    }

    /// Sleeps until `time`; fails as soon as the emulation, a program or a node ends.
    fn watch_until(&mut self, time: Time, interrupt: &Interrupt) -> Result<(), LabError> {
        while self.clock.now() < time {
            self.check()?;
            let next = time.min(self.clock.now() + POLL);
            interrupt.sleep_until(self.clock, next)?;
        }
        Ok(())
    }

    /// Fails if the emulation or a carrier has ended, with its error.
    fn check(&mut self) -> Result<(), LabError> {
        self.emulation.check().map_err(LabError::Emulation)?;
        for carrier in &mut self.carriers {
            let checked = carrier.check();
            checked.map_err(|source| LabError::of_carrier(&carrier.name, source))?;
        }
        Ok(())
    }

    /// Waits until every carrier uses all paths, until the stream begins at the latest; some path
    /// must be in use then.
    fn await_settled(&mut self, interrupt: &Interrupt) -> Result<(), LabError> {
        if matches!(self.scenario.liveness, LivenessSetting::Off(_)) {
            return Ok(());
        }
        while self.unsettled(self.scenario.paths.len())?.is_some() {
            self.check()?;
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

    /// The processor time of each carrier since its start.
    fn processor_times(&self) -> Result<Vec<Option<Duration>>, LabError> {
        let time = |carrier: &RunningCarrier| {
            let time = carrier.processor_time();
            time.map_err(|source| LabError::of_carrier(&carrier.name, source))
        };
        self.carriers.iter().map(time).collect()
    }

    fn snapshot(&mut self) -> Result<Vec<Snapshot>, LabError> {
        self.emulation.snapshot().map_err(LabError::Emulation)
    }
}

/// The totals of the network of one carrier at three times.
#[derive(Clone, Copy)]
struct Totals<'a> {
    /// The totals when the stream began.
    start: &'a Snapshot,
    /// The totals when the use of the paths was checked.
    check: &'a Snapshot,
    /// The totals at the longest deadline after the end of the stream.
    end: &'a Snapshot,
}

impl<'a> Totals<'a> {
    /// Those of the network at position `at` in the snapshots of all networks.
    fn of(snapshots: &'a [Vec<Snapshot>; 3], at: usize) -> Self {
        let [start, check, end] = snapshots;
        Self {
            start: &start[at],
            check: &check[at],
            end: &end[at],
        }
    }

    /// The measurements of the carrier, without its processor time and the packets that the kernel
    /// refused.
    fn measurement(
        self,
        media: &Media,
        expected: PathUse,
        endpoints: &Endpoints,
    ) -> Result<CarrierMeasurement, LabError> {
        let checked = self.check.at.since(self.start.at);
        let payload = media.rate.bytes_in(checked).0;
        let used = expected.check((self.start, self.check), payload);
        Ok(CarrierMeasurement {
            processor: None,
            dropped: endpoints.dropped().map_err(LabError::Namespace)?,
            refused: 0,
            dropped_at_start: self.check.boundary.dropped,
            used_at_start: used.collect(),
        })
    }
}
