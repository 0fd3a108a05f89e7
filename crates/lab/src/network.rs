//! The simulated network of one scheme, between real TUN devices.
//!
//! Real packets enter a [`World`] at its ports and share links and queues with the simulated
//! background traffic. The world is woken for each packet that leaves, and often enough to foresee
//! each departure ([`World::next_departure`]). Inner events happen at their own times whenever the
//! wake occurs, so the background causes far fewer wakes than events.

use std::io;

use bytes::Bytes;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_link::Counters;
use polypath_live::clock::Clock;
use polypath_live::durations::DurationHistogram;
use polypath_live::stats::Volume;
use polypath_scenario::{self as scenario, LoadedPaths, Path};
use polypath_sim::network::BuildError;
use polypath_sim::world::{BackgroundBytes, LinkName, LinkReport};
use polypath_sim::{PortInput, Side, World, WorldOutput, network};

use crate::LabError;
use crate::endpoints::{Endpoints, PortDevice};
use crate::silence::Silence;

/// The maximum delay of inner events, so that the backlog of a world stays small.
const MAX_SLACK: Duration = Duration::from_millis(1);

/// A simulated network between the devices of two namespaces.
#[derive(Debug)]
pub struct Network {
    world: World<Bytes>,
    devices: Vec<PortDevice>,
    slack: Duration,
    silence: Silence,
    counters: BoundaryCounters,
    /// The packets that entered at the ports of each path: the server's, then the client's.
    sent: Vec<[Volume; 2]>,
}

/// The totals of a network at a point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The time of the snapshot.
    pub at: Time,
    /// Bytes that background traffic has delivered.
    pub background: BackgroundBytes,
    /// The packets that entered at the ports of each path: the server's, then the client's.
    pub sent: Vec<[Volume; 2]>,
    /// The packets that crossed the boundary of the network.
    pub boundary: BoundaryCounters,
    /// The links of the paths, one entry per direction.
    pub links: Vec<LinkTotals>,
}

/// The counters of one link in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTotals {
    /// The link's name, path and direction.
    pub name: LinkName,
    /// The link's rate.
    pub rate: Rate,
    /// The link's counters since the start.
    pub counters: Counters,
}

/// Counters of the boundary between the real and the simulated network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoundaryCounters {
    /// Packets that entered the network.
    pub entered: u64,
    /// Packets that left it.
    pub left: u64,
    /// Packets dropped on simulated links.
    pub dropped: u64,
    /// Packets that left the network and that the kernel refused.
    pub refused: u64,
    /// Packets dropped at either end of a silenced path.
    pub silenced: u64,
}

impl Snapshot {
    /// The packets that entered at all ports of a side.
    pub(crate) fn sent_by(&self, side: Side) -> Volume {
        let add = |all: Volume, of: &[Volume; 2]| Volume {
            packets: all.packets + of[side as usize].packets,
            bytes: all.bytes + of[side as usize].bytes,
        };
        self.sent.iter().fold(Volume::default(), add)
    }
}

impl Network {
    /// Creates the network of the paths of a file, not started, and its endpoints.
    ///
    /// Fails if the paths make no valid network, or the system refuses a namespace or device.
    pub fn open<'a>(
        paths: impl Into<LoadedPaths<'a>>,
        seed: Seed,
    ) -> Result<(Self, Endpoints), LabError> {
        let loaded = paths.into();
        let world = network::build(loaded, seed)?;
        Self::between(world, loaded.paths.len(), slack(loaded.paths))
    }

    /// Creates the network of a graph whose senders run outside it, and its endpoints: the server's
    /// is that of the senders.
    ///
    /// Fails if the graph makes no valid network or has no senders, or the system refuses a
    /// namespace or device.
    pub fn open_between_senders(
        network: &scenario::Network,
        seed: Seed,
    ) -> Result<(Self, Endpoints), LabError> {
        let world = network::build_between_senders(network, seed)?;
        let senders = network.senders().ok_or(BuildError::NoSenders)?;
        // A link of a graph may be the last one of a path, whatever its delay.
        Self::between(world, senders.traffic.ways().len(), Duration::ZERO)
    }

    /// The network of a world with `paths` paths.
    fn between(
        world: World<Bytes>,
        paths: usize,
        slack: Duration,
    ) -> Result<(Self, Endpoints), LabError> {
        let (endpoints, devices) = Endpoints::open(u8::try_from(paths).unwrap_or(u8::MAX))?;
        let network = Self {
            world,
            devices,
            slack,
            silence: Silence::default(),
            counters: BoundaryCounters::default(),
            sent: vec![Default::default(); paths],
        };
        Ok((network, endpoints))
    }

    /// The control that silences the network's paths while it runs.
    #[must_use]
    pub fn silence(&self) -> Silence {
        self.silence.clone()
    }

    /// Runs the background traffic in virtual time until `until`.
    pub fn warm_up(&mut self, until: Time) {
        self.world.run_until(until, &mut |_| {});
    }

    /// The simulated network.
    #[must_use]
    pub fn world(&self) -> &World<Bytes> {
        &self.world
    }

    /// The counters of the boundary.
    #[must_use]
    pub fn counters(&self) -> BoundaryCounters {
        self.counters
    }

    /// The totals at `now`; fails on a device error and if an unlimited queue has overflowed
    /// memory.
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
            sent: self.sent.clone(),
            boundary: self.counters,
            links: links
                .map(|link| LinkTotals {
                    name: link.name.clone(),
                    rate: link.rate,
                    counters: link.counters,
                })
                .collect(),
        })
    }

    /// The ports with their devices.
    pub(crate) fn port_devices(&self) -> &[PortDevice] {
        &self.devices
    }

    /// The time of the next required wake.
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

    /// Performs all work due at `now` and records the lateness of each packet; fails on a device
    /// error.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        clock: Clock,
        lateness: &mut DurationHistogram,
    ) -> io::Result<()> {
        let mut result = Ok(());
        loop {
            let left = self.counters.left;
            let (devices, silence, counters) = (&self.devices, &self.silence, &mut self.counters);
            let mut emit = |output| {
                let emitted = emit(devices, silence, counters, output);
                result = std::mem::replace(&mut result, Ok(())).and(emitted);
            };
            // By outputs rather than foreseen departures: after a stall packets both enter and
            // leave the last link.
            let Some(at) = self.world.run_until_output(now, &mut emit) else {
                return result;
            };
            let late = clock.now().since(at);
            for _ in left..self.counters.left {
                lateness.record(late);
            }
        }
    }

    /// Reads at most `budget` packets from a device and returns their number; fails on a device
    /// error.
    pub(crate) fn read_device(
        &mut self,
        index: usize,
        now: Time,
        budget: usize,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        for count in 0..budget {
            let PortDevice { port, device } = &self.devices[index];
            let Some(len) = device.read(buffer)? else {
                return Ok(count);
            };
            let payload = Bytes::copy_from_slice(&buffer[..len]);
            let port = *port;
            self.counters.entered += 1;
            self.sent[usize::from(port.path.0)][port.side as usize].add(len);
            if self.silence.covers(port.path) {
                self.counters.silenced += 1;
                continue;
            }
            self.step(now, Wake::Input(PortInput { port, payload }))?;
        }
        Ok(budget)
    }

    fn step(&mut self, now: Time, wake: Wake<PortInput<Bytes>>) -> io::Result<()> {
        let (devices, silence, counters) = (&self.devices, &self.silence, &mut self.counters);
        let mut result = Ok(());
        step(&mut self.world, now, wake, &mut |output| {
            let emitted = emit(devices, silence, counters, output);
            result = std::mem::replace(&mut result, Ok(())).and(emitted);
        });
        result
    }
}

/// Writes a packet that leaves the simulated network to the device of its port.
fn emit(
    devices: &[PortDevice],
    silence: &Silence,
    counters: &mut BoundaryCounters,
    output: WorldOutput<Bytes>,
) -> io::Result<()> {
    match output {
        WorldOutput::Deliver { port, .. } if silence.covers(port.path) => {
            counters.left += 1;
            counters.silenced += 1;
        }
        WorldOutput::Deliver { port, payload } => {
            counters.left += 1;
            let device = devices.iter().find(|device| device.port == port);
            let written = device.map_or(Ok(false), |device| device.device.write(&payload))?;
            counters.refused += u64::from(!written);
        }
        WorldOutput::Dropped { .. } => counters.dropped += 1,
    }
    Ok(())
}

/// The time by which an inner event may be delayed without delaying a packet: half the minimum
/// delay of an outer link; the other half covers the driver's own lateness.
fn slack(paths: &[Path]) -> Duration {
    let outer = paths.iter().flat_map(|p| [p.links.first(), p.links.last()]);
    let least = outer.flatten().map(|link| link.delay).min();
    least.unwrap_or_default().scale(1, 2).min(MAX_SLACK)
}

#[cfg(test)]
pub(crate) mod tests;
