//! A network that delivers everything after a fixed delay, and what must follow from it.

use std::collections::BTreeMap;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::monitor::Violation;
use crate::world::World;

/// The delay of each datagram.
const DELAY: Duration = Duration::from_millis(20);
/// The time within which two nodes agree on keys, from any state. A node whose peer does not answer
/// starts a handshake after 10 s, and attempts are 5 s apart at most.
const SETTLED: Duration = Duration::from_secs(16);
/// The time for which all frames arrive after that: longer than retired keys open.
const OBSERVED: u64 = 12;
/// The attempts that a handshake may take during a flood: one without a cookie and one with it, if a
/// copy of the first one was answered elsewhere.
const MAX_ATTEMPTS: u64 = 2;

/// Datagrams in flight, by the time of arrival and their number.
struct Network {
    in_flight: BTreeMap<(Time, usize), usize>,
    /// The number of datagrams sent that are in flight or were before.
    taken: usize,
}

impl Network {
    /// A network that has lost everything sent before.
    fn new(world: &World) -> Self {
        Self {
            in_flight: BTreeMap::new(),
            taken: world.sent.len(),
        }
    }

    fn take_sent(&mut self, world: &World) {
        for number in self.taken..world.sent.len() {
            let sent = &world.sent[number];
            // Addresses of the attacker and earlier ones of a node lead nowhere.
            if sent.destination == world.nodes[1 - sent.from].source {
                self.in_flight.insert((world.now + DELAY, number), number);
            }
        }
        self.taken = world.sent.len();
    }

    /// Runs everything up to `until`.
    fn run(&mut self, world: &mut World, until: Time) {
        loop {
            self.take_sent(world);
            let arrival = self.in_flight.first_key_value();
            let arrival = arrival.map_or(Time::MAX, |((at, _), _)| *at);
            let deadline = world.deadline();
            let next = arrival.min(deadline);
            if next > until || world.monitor.violation.is_some() {
                break;
            }
            world.now = world.now.max(next);
            if deadline == next {
                world.wake_due();
            } else if let Some((_, number)) = self.in_flight.pop_first() {
                world.deliver(number, world.sent[number].source);
            }
        }
        world.now = world.now.max(until);
    }
}

/// Establishes a session between two nodes that have just started, without losses; each has sent the
/// other a frame on each path.
pub(crate) fn establish(world: &mut World) {
    let mut network = Network::new(world);
    let until = Time::ZERO + DELAY * 5;
    network.run(world, until);
    offer_all(world);
    network.run(world, until + DELAY);
    if !world.monitor.agree() {
        world.monitor.violate(Violation::NoAgreement);
    }
}

fn offer_all(world: &mut World) {
    for path in 0..world.setup.paths {
        world.offer(0, PathId(path));
        world.offer(1, PathId(path));
    }
}

/// Lets the network deliver everything from now on, and checks that the nodes agree on keys and that
/// all frames arrive.
pub(crate) fn settle(world: &mut World) {
    // Only losses reveal to a node that its peer has no keys, so it must send something.
    let mut network = Network::new(world);
    let start = world.now;
    if world.setup.is_flooded {
        settle_during_flood(world, &mut network);
    }
    let second = Duration::from_secs(1);
    while world.now < start + SETTLED {
        offer_all(world);
        network.run(world, world.now + second);
    }
    let before = [0, 1].map(|id| world.monitor.opened(id));
    for _ in 0..OBSERVED {
        offer_all(world);
        network.run(world, world.now + second);
    }
    let expected = usize::try_from(OBSERVED).unwrap_or(0) * usize::from(world.setup.paths);
    let arrived = [0, 1].map(|id| world.monitor.opened(id) - before[id]);
    if arrived != [expected; 2] || !world.monitor.agree() {
        world.monitor.violate(Violation::NoAgreement);
    }
}

/// The flood goes on until the nodes agree; it ends then, since what follows needs no handshake.
fn settle_during_flood(world: &mut World, network: &mut Network) {
    let before = world.nodes[0].session.counters().initiated;
    let step = Duration::from_millis(50);
    let limit = world.now + SETTLED;
    while world.now < limit && world.monitor.violation.is_none() {
        offer_all(world);
        network.run(world, world.now + step);
        if world.monitor.agree() {
            break;
        }
    }
    let attempts = world.nodes[0].session.counters().initiated - before;
    if attempts > MAX_ATTEMPTS {
        world.monitor.violate(Violation::TooManyAttempts);
    }
    world.flooder = None;
}
