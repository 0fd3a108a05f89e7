//! One scheme's own copy of the scenario's network, between real devices.
//!
//! Packets of the real world enter a [`World`] at its ports and share links and queues with the simulated
//! background. The world is woken for each packet that leaves, and besides often enough that none leaves
//! unforeseen ([`World::next_departure`]): its inner events happen at their own times whenever the wake
//! comes, so that the background costs a fraction of the wakes that it has events.

use std::io;

use bytes::Bytes;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::drive::Lateness;
use polypath_scenario::Scenario;
use polypath_sim::world::LinkReport;
use polypath_sim::{PortInput, World, WorldOutput, network};

use crate::LabError;
use crate::emulation::Snapshot;
use crate::endpoints::{Endpoints, PortDevice};
use crate::silence::Silence;

/// How long inner events wait at most, so that a world's backlog stays small.
const MOST_SLACK: Duration = Duration::from_millis(1);

/// A simulated network between the devices of two namespaces.
#[derive(Debug)]
pub struct Network {
    world: World<Bytes>,
    gates: Vec<PortDevice>,
    slack: Duration,
    silence: Silence,
    counters: Counters,
}

/// What happened at the border between the real and the simulated world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered the network.
    pub entered: u64,
    /// Packets that left it.
    pub left: u64,
    /// Packets that were dropped on a simulated link.
    pub dropped: u64,
    /// Packets that left it and that the kernel would not take.
    pub refused: u64,
    /// Packets that a silent path lost where they entered or left.
    pub silenced: u64,
}

impl Network {
    /// The network of `scenario`, at rest, with its devices in two namespaces of its own.
    ///
    /// Fails where the scenario makes no network, and where namespaces or devices are refused.
    pub fn open(scenario: &Scenario, seed: Seed) -> Result<(Self, Endpoints), LabError> {
        let world = network::build(scenario, seed)?;
        let paths = u8::try_from(scenario.paths.len()).unwrap_or(u8::MAX);
        let (endpoints, gates) = Endpoints::open(paths)?;
        let counters = Counters::default();
        let slack = slack(scenario);
        let network = Self {
            world,
            gates,
            slack,
            silence: Silence::default(),
            counters,
        };
        Ok((network, endpoints))
    }

    /// Silences its paths while it runs.
    #[must_use]
    pub fn silence(&self) -> Silence {
        self.silence.clone()
    }

    /// Runs the background alone, in virtual time, until `until`.
    pub fn warm_up(&mut self, until: Time) {
        self.world.run_until(until, &mut |_| {});
    }

    /// The simulated network.
    #[must_use]
    pub fn world(&self) -> &World<Bytes> {
        &self.world
    }

    /// What happened at the border so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The totals at `now`; fails where a device does, and where a queue outgrew memory.
    pub(crate) fn snapshot(&mut self, now: Time) -> io::Result<Snapshot> {
        self.step(now, Wake::Timeout)?;
        if let Some(overflow) = self.world.overflow() {
            return Err(io::Error::other(overflow.clone()));
        }
        let on_path = |link: &LinkReport<'_>| link.name.towards.is_some();
        let links = self.world.links_at(now).filter(on_path);
        Ok(Snapshot {
            at: now,
            background: self.world.background(),
            links: links
                .map(|l| (l.name.clone(), l.rate, l.counters))
                .collect(),
        })
    }

    /// The devices at which packets enter and leave.
    pub(crate) fn gates(&self) -> &[PortDevice] {
        &self.gates
    }

    /// When the network next wants to be woken.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let departure = self.world.next_departure().map(|at| Deadline {
            at,
            why: "a packet leaves the network",
        });
        let inner = self.world.deadline().map(|d| Deadline {
            at: d.at + self.slack,
            ..d
        });
        Deadline::earlier(departure, inner)
    }

    /// Does what is due at `now`, and counts how late each packet left; fails where a device does.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        clock: Clock,
        lateness: &mut Lateness,
    ) -> io::Result<()> {
        let mut result = Ok(());
        loop {
            let left = self.counters.left;
            let (gates, silence, counters) = (&self.gates, &self.silence, &mut self.counters);
            let mut emit = |output| {
                let emitted = emit(gates, silence, counters, output);
                result = std::mem::replace(&mut result, Ok(())).and(emitted);
            };
            // By outputs and not by foreseen departures: after a stall packets have entered the last link
            // and left it, too.
            let Some(at) = self.world.run_until_output(now, &mut emit) else {
                return result;
            };
            let late = clock.now().since(at);
            for _ in left..self.counters.left {
                lateness.record(late);
            }
        }
    }

    /// Takes at most `budget` packets from a device and says how many there were; fails where a device does.
    pub(crate) fn take(
        &mut self,
        gate: usize,
        now: Time,
        budget: usize,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        for taken in 0..budget {
            let PortDevice { port, device } = &self.gates[gate];
            let Some(len) = device.read(buffer)? else {
                return Ok(taken);
            };
            let payload = Bytes::copy_from_slice(&buffer[..len]);
            let port = *port;
            self.counters.entered += 1;
            if self.silence.covers(port.path) {
                self.counters.silenced += 1;
                continue;
            }
            self.step(now, Wake::Input(PortInput { port, payload }))?;
        }
        Ok(budget)
    }

    fn step(&mut self, now: Time, wake: Wake<PortInput<Bytes>>) -> io::Result<()> {
        let (gates, silence, counters) = (&self.gates, &self.silence, &mut self.counters);
        let mut result = Ok(());
        step(&mut self.world, now, wake, &mut |output| {
            let emitted = emit(gates, silence, counters, output);
            result = std::mem::replace(&mut result, Ok(())).and(emitted);
        });
        result
    }
}

/// Gives a packet that leaves the simulated network to the device at its port.
fn emit(
    gates: &[PortDevice],
    silence: &Silence,
    counters: &mut Counters,
    output: WorldOutput<Bytes>,
) -> io::Result<()> {
    match output {
        WorldOutput::Deliver { port, .. } if silence.covers(port.path) => {
            counters.left += 1;
            counters.silenced += 1;
        }
        WorldOutput::Deliver { port, payload } => {
            counters.left += 1;
            let gate = gates.iter().find(|gate| gate.port == port);
            let taken = gate.map_or(Ok(false), |gate| gate.device.write(&payload))?;
            counters.refused += u64::from(!taken);
        }
        WorldOutput::Dropped { .. } => counters.dropped += 1,
    }
    Ok(())
}

/// For how long an inner event may wait without delaying a packet: no longer than a packet takes over the
/// last link of its path, with half of that for the driver's own lateness.
fn slack(scenario: &Scenario) -> Duration {
    let outer = scenario
        .paths
        .iter()
        .flat_map(|p| [p.links.first(), p.links.last()]);
    let least = outer.flatten().map(|link| link.delay).min();
    least.unwrap_or_default().scale(1, 2).min(MOST_SLACK)
}

#[cfg(test)]
pub(crate) mod tests;
