use std::collections::VecDeque;

use super::*;
use bytes::Bytes;
use polypath_core::machine::{Wake, step};
use polypath_core::rng::{Seed, Stream};
use proptest::prelude::*;

use crate::datagram::{INITIATION, INITIATION_LEN, OVERHEAD, TRANSPORT};
use crate::key::PrivateKey;
use crate::session::{Limits, SILENCE_TIMEOUT};

mod bounds;

/// 2026 in nanoseconds since 1970.
const WALL: u64 = 1_790_000_000_000_000_000;
const STRANGER: u32 = 99;

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).unwrap()
}

fn node(name: &str, seed: u64) -> Session {
    let config = SessionConfig {
        private_key: key(name),
        peer: key("relay").public(),
        reachable: vec![true],
        max_datagram: 1500,
        wall_clock: WALL + seed,
        limits: Limits::default(),
    };
    Session::new(config, Box::new(Seed(seed).stream(name)))
}

fn relay(rate: Rate) -> Relay<u32> {
    let config = RelayConfig {
        private_key: key("relay"),
        nodes: ["a", "b"].map(|name| key(name).public()),
        max_datagram: 1500,
        rate,
        limits: Limits::default(),
    };
    let entropy = |n| Box::new(Seed(n).stream("relay")) as BoxedEntropy;
    Relay::new(&config, [entropy(3), entropy(4)])
}

/// A relay, its two nodes, and a network without delay.
struct Site {
    now: Time,
    relay: Relay<u32>,
    nodes: [Session; 2],
    addresses: [u32; 2],
    /// Whether each node hears.
    hears: [bool; 2],
    opened: [Vec<Bytes>; 2],
    /// What came to the relay, and from where.
    came: Vec<(u32, Bytes)>,
    /// What it sent, when and to where.
    sent: Vec<(Time, u32, Bytes)>,
    events: Vec<RelayEvent<u32>>,
}

impl Site {
    fn new(rate: Rate) -> Self {
        Self {
            now: Time::ZERO,
            relay: relay(rate),
            nodes: [node("a", 1), node("b", 2)],
            addresses: [10, 20],
            hears: [true; 2],
            opened: Default::default(),
            came: Vec::new(),
            sent: Vec::new(),
            events: Vec::new(),
        }
    }

    fn joined(rate: Rate) -> Self {
        let mut site = Self::new(rate);
        site.run(Time::ZERO + Duration::from_millis(1));
        assert!(
            Side::ALL
                .iter()
                .all(|side| site.relay.is_established(*side))
        );
        site
    }

    fn wake(&mut self, who: usize, wake: Wake<session::Input>) {
        let (mut out, opened) = (Vec::new(), &mut self.opened[who]);
        step(
            &mut self.nodes[who],
            self.now,
            wake,
            &mut |said| match said {
                session::Output::Send { datagram, .. }
                | session::Output::Reply { datagram, .. } => {
                    out.push(datagram);
                }
                session::Output::Opened { frame, .. } => opened.push(frame),
                session::Output::Authenticated { .. } | session::Output::Event(_) => {}
            },
        );
        for datagram in out {
            self.arrive(self.addresses[who], datagram);
        }
    }

    /// A datagram comes to the relay, and what that sends to the nodes.
    fn arrive(&mut self, source: u32, datagram: Bytes) {
        self.came.push((source, datagram.clone()));
        self.wake_relay(Wake::Input(Input { source, datagram }));
    }

    fn wake_relay(&mut self, wake: Wake<Input<u32>>) {
        let mut out = VecDeque::new();
        let events = &mut self.events;
        step(&mut self.relay, self.now, wake, &mut |said| match said {
            Output::Send { to, datagram } => out.push_back((to, datagram)),
            Output::Event(event) => events.push(event),
        });
        for (to, datagram) in out {
            self.sent.push((self.now, to, datagram.clone()));
            let at = self.addresses.iter().position(|address| *address == to);
            if let Some(who) = at.filter(|who| self.hears[*who]) {
                let path = PATH;
                let input = session::Input::Datagram { path, datagram };
                self.wake(who, Wake::Input(input));
            }
        }
    }

    fn seal(&mut self, who: usize, frame: impl Into<Bytes>) {
        let (path, frame) = (PATH, frame.into());
        self.wake(who, Wake::Input(session::Input::Seal { path, frame }));
    }

    /// Does all that is due up to `until`.
    fn run(&mut self, until: Time) {
        loop {
            let due = |deadline: Option<Deadline>| deadline.map_or(Time::MAX, |due| due.at);
            let node = |who: usize| {
                let deadline = self.nodes[who].deadline();
                due(deadline.filter(|_| self.hears[who]))
            };
            let nodes = [node(0), node(1)];
            let relay = due(self.relay.deadline());
            let next = nodes[0].min(nodes[1]).min(relay);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if relay == next {
                self.wake_relay(Wake::Timeout);
                assert!(due(self.relay.deadline()) > next, "the deadline moves on");
            } else {
                self.wake(usize::from(nodes[1] == next), Wake::Timeout);
            }
        }
        self.now = until;
    }

    fn pass(&mut self, span: Duration) {
        self.run(self.now + span);
    }

    fn undelivered(&self, side: Side, reason: Undelivered) -> u64 {
        self.relay.traffic(side).undelivered(reason)
    }
}

const FAST: Rate = Rate::from_mbits(100);

#[test]
fn what_one_node_seals_comes_to_the_other_and_is_no_longer() {
    let mut site = Site::joined(FAST);
    let before = (site.came.len(), site.sent.len());
    site.seal(0, "to b");
    site.seal(1, "to a");
    assert_eq!(site.opened, [[Bytes::from("to a")], [Bytes::from("to b")]]);
    let came: usize = site.came[before.0..]
        .iter()
        .map(|entry| entry.1.len())
        .sum();
    let sent: usize = site.sent[before.1..]
        .iter()
        .map(|entry| entry.2.len())
        .sum();
    assert_eq!(came, sent);
    let traffic = site.relay.traffic(Side::First);
    assert_eq!((traffic.forwarded, traffic.bytes), (1, 4 + OVERHEAD as u64));
}

#[test]
fn a_relay_to_which_nobody_comes_is_at_rest() {
    let mut site = Site::new(FAST);
    assert_eq!(site.relay.deadline(), None);
    site.hears = [false; 2];
    site.run(Time::ZERO + Duration::from_secs(3600));
    assert_eq!(site.sent, []);
}

#[test]
fn strangers_are_not_answered() {
    let mut site = Site::joined(FAST);
    let before = site.sent.len();
    let came = site.came.clone();
    let mut stranger = node("c", 5);
    let mut said = Vec::new();
    step(&mut stranger, site.now, Wake::Timeout, &mut |output| {
        if let session::Output::Send { datagram, .. } = output {
            said.push(datagram);
        }
    });
    for datagram in said {
        site.arrive(STRANGER, datagram);
    }
    // A node's own datagrams by another's hand, too, and back at the relay what that sent.
    let sent = site.sent.clone();
    for (_, datagram) in came {
        site.arrive(STRANGER, datagram);
    }
    for (_, _, datagram) in sent {
        site.arrive(STRANGER, datagram);
    }
    assert_eq!(site.sent.len(), before);
    assert_eq!(site.relay.rejected(Reject::WrongKey), 1);
    assert!(site.relay.rejected(Reject::HandshakeCopy) > 0);
    assert!(site.relay.counters(Side::First).rejected(Reject::Replayed) > 0);
    assert_eq!(site.relay.address(Side::First), Some(10));
}

#[test]
fn nothing_is_forwarded_to_a_node_that_has_not_come() {
    let mut site = Site::new(FAST);
    site.hears[1] = false;
    site.run(Time::ZERO + Duration::from_secs(1));
    site.seal(0, "to b");
    assert_eq!(site.undelivered(Side::First, Undelivered::NoSession), 1);
    assert!(site.sent.iter().all(|(_, to, _)| *to == 10));
}

/// Nor is anything else sent there, until it is heard again.
#[test]
fn a_node_that_falls_silent_is_left_alone() {
    let mut site = Site::joined(FAST);
    site.hears[1] = false;
    let start = site.now;
    for _ in 0..300 {
        site.seal(0, vec![7; 100]);
        site.pass(Duration::from_millis(100));
    }
    let to_b = || site.sent.iter().filter(|(_, to, _)| *to == 20);
    let last = to_b().map(|(at, ..)| *at).max().unwrap();
    let silent = start + SILENCE_TIMEOUT;
    assert!(
        (silent - Duration::from_millis(200)..=silent).contains(&last),
        "{last}"
    );
    assert!(site.undelivered(Side::First, Undelivered::Silent) > 150);
    site.hears[1] = true;
    site.opened[1].clear();
    site.seal(1, "here again");
    site.seal(0, "to b");
    assert_eq!(site.opened[1], ["to b"]);
}

#[test]
fn a_node_that_moves_is_followed_and_one_that_starts_anew_is_joined_again() {
    let mut site = Site::joined(FAST);
    site.addresses[1] = 21;
    site.seal(1, "from elsewhere");
    assert_eq!(site.relay.address(Side::Second), Some(21));
    site.nodes[1] = node("b", 77);
    site.pass(Duration::from_secs(1));
    site.seal(0, "to b");
    assert_eq!(site.opened[1].last(), Some(&Bytes::from("to b")));
}

/// The relay knows neither node nor handshake then: an old initiation is answered where it came from, and no more follows.
#[test]
fn an_old_initiation_tells_a_relay_that_started_anew_no_address() {
    let mut site = Site::joined(FAST);
    let is_initiation = |entry: &&(u32, Bytes)| entry.1[0] == INITIATION;
    let old = site.came.iter().find(is_initiation).unwrap().1.clone();
    site.relay = relay(FAST);
    site.sent.clear();
    site.arrive(STRANGER, old.clone());
    site.arrive(STRANGER, old);
    let answers: Vec<_> = site
        .sent
        .iter()
        .map(|(_, to, answer)| (*to, answer.len()))
        .collect();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].0 == STRANGER && answers[0].1 < INITIATION_LEN);
    assert_eq!(site.relay.address(Side::First), None);
    assert!(!site.relay.is_established(Side::First));
    // The nodes notice within the time of a silence, and join again.
    for _ in 0..130 {
        site.seal(0, "to b");
        site.seal(1, "to a");
        site.pass(Duration::from_millis(100));
    }
    site.opened = Default::default();
    site.seal(0, "to b");
    assert_eq!(site.opened[1], ["to b"]);
    assert_eq!(site.relay.address(Side::First), Some(10));
}
