//! The network between the nodes: a simulated one, and what goes wrong on top.
//!
//! Parcels cross a [`World`] with a path of one link for each path of the schedule, which gives rate, queue and delay.
//! What leaves it falls under the spells of its path and direction: it is lost, changed, copied or held back.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use polypath_core::frame::{PathId, Payload};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use polypath_scenario::Scenario;
use polypath_sim::network;
use polypath_sim::world::{PortId, PortInput, Side, World, WorldOutput};

use crate::parcel::{End, Host, Parcel, Truth};
use crate::schedule::{PathPlan, Schedule, Spell, Trouble};
use crate::tally::Tally;

/// What becomes of parcels.
#[derive(Debug)]
pub enum Passage {
    /// One comes to the address that it goes to.
    Arrived(Parcel),
    /// One is lost, for this reason.
    Lost(Parcel, &'static str),
}

/// The network.
pub struct Network {
    world: World<Parcel>,
    /// For each path the simulated ones of both ends' hops; without a relay these are one.
    hops: Vec<[PathId; 2]>,
    plans: Vec<PathPlan>,
    spells: Vec<Spell>,
    /// What draws for each path, and each end whose parcels it carries.
    streams: Vec<[Stream; 2]>,
    held: BTreeMap<(Time, u64), Parcel>,
    count: u64,
}

/// The schedule asks for a network that there cannot be.
#[derive(Debug, thiserror::Error)]
#[error("no network: {0}")]
pub struct NetworkError(String);

impl Network {
    /// The network of a schedule.
    ///
    /// # Errors
    /// Where no simulated network is like that.
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
            spells: schedule.spells.clone(),
            streams: streams.collect(),
            held: BTreeMap::new(),
            count: 0,
        })
    }

    /// When something happens next.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        let world = self.world.deadline().map(|deadline| deadline.at);
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        [world, held].into_iter().flatten().min()
    }

    /// Takes a parcel of a node or a relay.
    pub fn send(&mut self, now: Time, parcel: Parcel, tally: &mut Tally) {
        let hops = self.hops[parcel.to.path.index()];
        let (path, side) = match (parcel.source.host, parcel.to.host) {
            (Host::Node(from), _) => (hops[from.index()], side(from)),
            // At the end of the hop at which the other node would be.
            (Host::Relay, Host::Node(to)) => (hops[to.index()], side(to.other())),
            // Of strangers nothing is asked here, and what they are sent nobody looks for.
            _ => return,
        };
        let port = PortId { path, side };
        let input = PortInput {
            port,
            payload: parcel,
        };
        self.wake(now, Wake::Input(input), tally);
    }

    /// Does what is due at `now`.
    pub fn advance(&mut self, now: Time, tally: &mut Tally, out: &mut impl FnMut(Passage)) {
        if self.world.deadline().is_some_and(|due| due.at <= now) {
            self.wake(now, Wake::Timeout, tally);
        }
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, _), parcel) = entry.remove_entry();
            let end = parcel.from();
            let is_down = self.troubles(at, &parcel).any(|t| t == Trouble::Down);
            let share = |t| {
                if let Trouble::Loss(share) = t {
                    share
                } else {
                    0.0
                }
            };
            let loss = self.troubles(at, &parcel).map(share).fold(0.0, f64::max);
            let is_lost = loss > 0.0 && self.stream(&parcel, end).chance(loss);
            if self.is_too_long(at, &parcel) {
                tally.watch.too_long += 1;
                out(Passage::Lost(parcel, "too long"));
            } else if is_down || is_lost {
                *if is_down {
                    &mut tally.downs
                } else {
                    &mut tally.losses
                } += 1;
                out(Passage::Lost(parcel, if is_down { "down" } else { "loss" }));
            } else {
                out(Passage::Arrived(parcel));
            }
        }
    }

    fn wake(&mut self, now: Time, wake: Wake<PortInput<Parcel>>, tally: &mut Tally) {
        let mut leaving = Vec::new();
        step(&mut self.world, now, wake, &mut |said| match said {
            WorldOutput::Deliver { payload, .. } => leaving.push(payload),
            // No queue of these is ever full.
            WorldOutput::Dropped { .. } => tally.overflows += 1,
        });
        for parcel in leaving {
            self.leave(now, parcel, tally);
        }
    }

    /// A parcel leaves the simulated network: it is changed, copied and held back as its path has it now.
    fn leave(&mut self, now: Time, mut parcel: Parcel, tally: &mut Tally) {
        let end = parcel.from();
        let lag = self.plans[parcel.to.path.index()].lag[end.index()];
        let mut arrivals = vec![now + lag];
        let troubles: Vec<Trouble> = self.troubles(now, &parcel).collect();
        for trouble in troubles {
            let stream = self.stream(&parcel, end);
            match trouble {
                // A second change might undo the first one.
                Trouble::Corruption(share)
                    if stream.chance(share) && parcel.truth != Truth::Changed =>
                {
                    parcel.bytes = change(stream, &parcel.bytes);
                    parcel.truth = Truth::Changed;
                    tally.corruptions += 1;
                }
                Trouble::Duplication(share) if stream.chance(share) => {
                    let later = Duration(stream.below(DUPLICATED_WITHIN.0));
                    arrivals.push(now + lag + later);
                    tally.duplications += 1;
                }
                Trouble::Reordering(share, by) if stream.chance(share) => {
                    let later = Duration(stream.below(by.0));
                    for at in &mut arrivals {
                        *at += later;
                    }
                    tally.reorderings += 1;
                }
                _ => {}
            }
        }
        for at in arrivals {
            self.count += 1;
            self.held.insert((at, self.count), parcel.clone());
        }
    }

    /// Whether it is longer than what crosses its path; every hop of that is as narrow.
    fn is_too_long(&self, at: Time, parcel: &Parcel) -> bool {
        let len = parcel.len();
        let whole = self.plans[parcel.to.path.index()].mtu;
        let mut troubles = self.troubles(at, parcel);
        let is_narrow = |t| matches!(t, Trouble::Narrow(mtu) if len > usize::from(mtu));
        len > usize::from(whole) || troubles.any(is_narrow)
    }

    fn troubles(&self, at: Time, parcel: &Parcel) -> impl Iterator<Item = Trouble> {
        let (path, end) = (parcel.to.path, parcel.from());
        let applies = move |spell: &&Spell| {
            spell.path == path
                && spell.from.is_none_or(|from| from == end)
                && spell.span.contains(at)
        };
        self.spells
            .iter()
            .filter(applies)
            .map(|spell| spell.trouble)
    }

    fn stream(&mut self, parcel: &Parcel, end: End) -> &mut Stream {
        &mut self.streams[parcel.to.path.index()][end.index()]
    }
}

/// Copies that the network makes come within this time after the first.
const DUPLICATED_WITHIN: Duration = Duration::from_millis(300);

const fn side(end: End) -> Side {
    match end {
        End::A => Side::Server,
        End::B => Side::Client,
    }
}

fn streams(seed: Seed, path: PathId) -> [Stream; 2] {
    End::ALL.map(|end| seed.stream(&format!("faults/network/{}/{}", path.0, end.name())))
}

/// A datagram with some of its bits changed, or cut off, or with bytes added.
pub(crate) fn change(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    match stream.below(6) {
        0 => truncate(stream, bytes),
        1 => extend(stream, bytes),
        _ => flip(stream, bytes),
    }
}

/// A proper part of a datagram, from its first byte on.
pub(crate) fn truncate(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    bytes.slice(..index(stream, bytes.len()))
}

/// A datagram with up to 20 bytes behind it.
pub(crate) fn extend(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    let mut longer = BytesMut::from(&bytes[..]);
    for _ in 0..=stream.below(20) {
        longer.extend_from_slice(&stream.bits().to_le_bytes()[..1]);
    }
    longer.freeze()
}

/// A datagram with one bit changed, or two in different bytes.
pub(crate) fn flip(stream: &mut Stream, bytes: &Bytes) -> Bytes {
    let mut changed = BytesMut::from(&bytes[..]);
    let first = index(stream, bytes.len());
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
    // It is below the length.
    usize::try_from(stream.below(len as u64)).unwrap_or(0)
}

/// A scenario of these paths, in the form of a file, and which of its paths the hops of each are.
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
        let second = if plan.by_relay { hop() } else { first };
        hops.push([first, second]);
    }
    (links.concat(), hops)
}
