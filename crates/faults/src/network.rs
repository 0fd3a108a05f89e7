//! The network between the nodes: a simulated one, with faults added at its output.
//!
//! Datagrams cross a [`World`] with a path of one link for each path of the schedule, which
//! determines rate, queue and delay. Its output is then subject to the fault intervals of the path
//! and direction: it is lost, corrupted, duplicated or delayed.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use polypath_core::frame::{PathId, Payload};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use polypath_scenario::Scenario;
use polypath_session::datagram::{INITIATION, SESSION_MAC_OFFSET};
use polypath_sim::network;
use polypath_sim::world::{PortId, PortInput, Side, World, WorldOutput};

use crate::coverage::Coverage;
use crate::datagram::{End, Host, Provenance, TestDatagram};
use crate::schedule::{EcnFaults, FaultInterval, Impairment, PathPlan, Schedule};

/// An output of the network.
#[derive(Debug)]
pub enum NetworkOutput {
    /// A datagram arrived at its destination address.
    Arrived(TestDatagram),
    /// A datagram was lost, for this reason.
    Lost(TestDatagram, &'static str),
}

/// The network.
pub struct Network {
    world: World<TestDatagram>,
    /// For each path, the simulated path of the hop at each node; without a relay both are the
    /// same.
    hops: Vec<[PathId; 2]>,
    plans: Vec<PathPlan>,
    fault_intervals: Vec<FaultInterval>,
    /// The random streams of each path and direction.
    streams: Vec<[Stream; 2]>,
    ecn: EcnFaults,
    delayed: BTreeMap<(Time, u64), TestDatagram>,
    count: u64,
}

/// The schedule describes an invalid network.
#[derive(Debug, thiserror::Error)]
#[error("no network: {0}")]
pub struct NetworkError(String);

impl Network {
    /// The network of a schedule.
    ///
    /// # Errors
    /// If the description is invalid.
    pub fn new(schedule: &Schedule) -> Result<Self, NetworkError> {
        let (text, hops) = scenario(&schedule.paths);
        let wrong = |error: &dyn std::fmt::Display| NetworkError(error.to_string());
        let scenario = Scenario::parse(&text, "schedule", &[]).map_err(|error| wrong(&error))?;
        let world = network::build(&scenario, schedule.seed).map_err(|error| wrong(&error))?;
        let streams = schedule.path_ids().map(|path| streams(schedule.seed, path));
        Ok(Self {
            world,
            hops,
            plans: schedule.paths.clone(),
            fault_intervals: schedule.fault_intervals.clone(),
            streams: streams.collect(),
            ecn: EcnFaults::new(schedule.seed, schedule.ecn),
            delayed: BTreeMap::new(),
            count: 0,
        })
    }

    /// The time of the next event.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let world = self.world.deadline().map(|deadline| deadline.at);
        let delayed = self.delayed.first_key_value().map(|((at, _), _)| *at);
        [world, delayed].into_iter().flatten().min()
    }

    /// Accepts a datagram from a node or a relay.
    pub fn send(&mut self, now: Time, datagram: TestDatagram, coverage: &mut Coverage) {
        let hops = self.hops[datagram.to.path.index()];
        let (path, side) = match (datagram.source.host, datagram.to.host) {
            (Host::Node(from), _) => (hops[from.index()], side(from)),
            // At the end of the hop that is opposite the receiver.
            (Host::Relay, Host::Node(to)) => (hops[to.index()], side(to.other())),
            // Attackers inject their datagrams at the receiver, and replies to them are not
            // delivered.
            _ => return,
        };
        let port = PortId { path, side };
        let input = PortInput {
            port,
            payload: datagram,
        };
        self.wake(now, Wake::Input(input), coverage);
    }

    /// Delivers everything that is due at `now`.
    pub fn advance(
        &mut self,
        now: Time,
        coverage: &mut Coverage,
        out: &mut impl FnMut(NetworkOutput),
    ) {
        if self.world.deadline().is_some_and(|due| due.at <= now) {
            self.wake(now, Wake::Timeout, coverage);
        }
        while let Some(entry) = self
            .delayed
            .first_entry()
            .filter(|entry| entry.key().0 <= now)
        {
            let ((at, _), datagram) = entry.remove_entry();
            let end = datagram.sending_side();
            let is_down = self
                .impairments(at, &datagram)
                .any(|t| t == Impairment::Down);
            let share = |t| {
                if let Impairment::Loss(share) = t {
                    share
                } else {
                    0.0
                }
            };
            let loss = self
                .impairments(at, &datagram)
                .map(share)
                .fold(0.0, f64::max);
            let is_lost = loss > 0.0 && self.stream(&datagram, end).chance(loss);
            if self.is_too_long(at, &datagram) {
                coverage.paths.above_mtu += 1;
                out(NetworkOutput::Lost(datagram, "too long"));
            } else if is_down || is_lost {
                *if is_down {
                    &mut coverage.outage_losses
                } else {
                    &mut coverage.losses
                } += 1;
                out(NetworkOutput::Lost(
                    datagram,
                    if is_down { "down" } else { "loss" },
                ));
            } else {
                out(NetworkOutput::Arrived(datagram));
            }
        }
    }

    fn wake(&mut self, now: Time, wake: Wake<PortInput<TestDatagram>>, coverage: &mut Coverage) {
        let mut leaving = Vec::new();
        step(&mut self.world, now, wake, &mut |output| match output {
            WorldOutput::Deliver { payload, .. } => leaving.push(payload),
            // These queues never fill up.
            WorldOutput::Dropped { .. } => coverage.overflows += 1,
        });
        for datagram in leaving {
            self.leave(now, datagram, coverage);
        }
    }

    /// Applies the impairments of its path to a datagram that leaves the simulated network.
    fn leave(&mut self, now: Time, mut datagram: TestDatagram, coverage: &mut Coverage) {
        let end = datagram.sending_side();
        let extra_delay = self.plans[datagram.to.path.index()].extra_delay[end.index()];
        let mut arrivals = vec![now + extra_delay];
        let ecn = self.ecn.apply(datagram.ecn);
        coverage.marks += u64::from(ecn == Ecn::Ce && datagram.ecn != Ecn::Ce);
        coverage.rewrites += u64::from(ecn != Ecn::Ce && datagram.ecn != ecn);
        datagram.ecn = ecn;
        let impairments: Vec<Impairment> = self.impairments(now, &datagram).collect();
        for impairment in impairments {
            let stream = self.stream(&datagram, end);
            match impairment {
                // A second modification could undo the first.
                Impairment::Corruption(share)
                    if stream.chance(share) && datagram.provenance != Provenance::Modified =>
                {
                    datagram.bytes = modify(stream, &datagram.bytes);
                    datagram.provenance = Provenance::Modified;
                    coverage.corruptions += 1;
                }
                Impairment::Duplication(share) if stream.chance(share) => {
                    let later = Duration(stream.below(MAX_DUPLICATE_DELAY.0));
                    arrivals.push(now + extra_delay + later);
                    coverage.duplications += 1;
                }
                Impairment::Reordering(share, by) if stream.chance(share) => {
                    let later = Duration(stream.below(by.0));
                    for at in &mut arrivals {
                        *at += later;
                    }
                    coverage.reorderings += 1;
                }
                _ => {}
            }
        }
        for at in arrivals {
            self.count += 1;
            self.delayed.insert((at, self.count), datagram.clone());
        }
    }

    /// Whether it exceeds the MTU of its path, which is that of every hop.
    fn is_too_long(&self, at: Time, datagram: &TestDatagram) -> bool {
        let len = datagram.len();
        let mtu = self.plans[datagram.to.path.index()].mtu;
        let mut impairments = self.impairments(at, datagram);
        let is_narrow =
            |t| matches!(t, Impairment::ReducedMtu(reduced) if len > usize::from(reduced));
        len > usize::from(mtu) || impairments.any(is_narrow)
    }

    fn impairments(&self, at: Time, datagram: &TestDatagram) -> impl Iterator<Item = Impairment> {
        let (path, end) = (datagram.to.path, datagram.sending_side());
        let applies = move |interval: &&FaultInterval| {
            interval.path == path
                && interval.from.is_none_or(|from| from == end)
                && interval.span.contains(at)
        };
        self.fault_intervals
            .iter()
            .filter(applies)
            .map(|interval| interval.impairment)
    }

    fn stream(&mut self, datagram: &TestDatagram, end: End) -> &mut Stream {
        &mut self.streams[datagram.to.path.index()][end.index()]
    }
}

/// The largest delay of a duplicate after the first copy.
const MAX_DUPLICATE_DELAY: Duration = Duration::from_millis(300);

const fn side(end: End) -> Side {
    match end {
        End::A => Side::Server,
        End::B => Side::Client,
    }
}

fn streams(seed: Seed, path: PathId) -> [Stream; 2] {
    End::ALL.map(|end| seed.stream(&format!("faults/network/{}/{}", path.0, end.name())))
}

/// A datagram that is corrupted, truncated or extended.
pub(crate) fn modify(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    match stream.below(6) {
        0 => truncate(stream, bytes),
        1 => extend(stream, bytes),
        _ => flip(stream, bytes),
    }
}

/// A proper prefix of a datagram.
pub(crate) fn truncate(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    bytes.slice(..index(stream, bytes.len()))
}

/// A datagram with up to 20 bytes appended.
pub(crate) fn extend(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    let mut longer = BytesMut::from(&bytes[..]);
    for _ in 0..=stream.below(20) {
        longer.extend_from_slice(&stream.bits().to_le_bytes()[..1]);
    }
    longer.freeze()
}

/// A datagram with one bit flipped that authentication covers, or also another in another byte.
pub(crate) fn flip(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    let mut changed = BytesMut::from(&bytes[..]);
    let authenticated = match bytes.first() {
        Some(&INITIATION) => bytes.len().min(SESSION_MAC_OFFSET),
        _ => bytes.len(),
    };
    let first = index(stream, authenticated);
    let second = index(stream, bytes.len());
    for at in [Some(first), (second != first).then_some(second)]
        .into_iter()
        .flatten()
    {
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 1 << stream.below(8);
        }
    }
    changed.freeze()
}

fn index(stream: &mut Stream, len: usize) -> usize {
    // The index is below the length.
    usize::try_from(stream.below(len as u64)).unwrap_or(0)
}

/// A scenario file with these paths, and for each path the simulated paths of its hops.
fn scenario(paths: &[PathPlan]) -> (String, Vec<[PathId; 2]>) {
    let head = "schema = 1\nname = \"faults\"\nschemes = [\"tcp\"]\n\
                transfer = { size = \"1 kB\", count = 1 }\n";
    let (mut links, mut hops) = (vec![head.to_owned()], Vec::new());
    let mut count = 0;
    for plan in paths {
        let mut hop = || {
            let id = PathId(count);
            count += 1;
            let (rate, delay) = (plan.kbits, plan.delay_ms);
            links.push(format!(
                "[[path]]\nname = \"path{count}\"\n[[path.link]]\nrate = \"{rate} kbit/s\"\n\
                 delay = \"{delay} ms\"\nqueue = \"10000 packets\"\n"
            ));
            id
        };
        let first = hop();
        let second = if plan.is_relayed { hop() } else { first };
        hops.push([first, second]);
    }
    (links.concat(), hops)
}
