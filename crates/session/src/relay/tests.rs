use std::collections::VecDeque;

use super::*;
use bytes::Bytes;
use polypath_core::machine::{Wake, step};
use polypath_core::rng::{Seed, Stream};
use proptest::prelude::*;

use crate::datagram::{INITIATION, INITIATION_LEN, OVERHEAD, SESSION_MAC_OFFSET, TRANSPORT};
use crate::key::PrivateKey;
use crate::session::{Limits, SILENCE_TIMEOUT};

mod bounds;

/// 2026 in nanoseconds since 1970.
const WALL: u64 = 1_790_000_000_000_000_000;
const ATTACKER: u32 = 99;

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).unwrap()
}

fn node(name: &str, seed: u64) -> Session {
    let config = SessionConfig {
        reachable: vec![true],
        max_datagram: 1500,
        wall_clock: WALL + seed,
        limits: Limits::default(),
        ..SessionConfig::new(key(name), key("relay").public())
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
        receives_ecn: true,
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
    /// Whether each node receives datagrams.
    receives: [bool; 2],
    opened: [Vec<Bytes>; 2],
    /// The datagrams that the relay received, with their sources.
    received: Vec<(u32, Bytes)>,
    /// The datagrams that it sent, with time and destination.
    sent: Vec<(Time, u32, Bytes)>,
    /// Those of the datagrams that it sent.
    sent_classes: Vec<TrafficClass>,
    /// That of the datagrams that it receives.
    traffic_class: TrafficClass,
    events: Vec<RelayEvent<u32>>,
}

impl Site {
    fn new(rate: Rate) -> Self {
        Self {
            now: Time::ZERO,
            relay: relay(rate),
            nodes: [node("a", 1), node("b", 2)],
            addresses: [10, 20],
            receives: [true; 2],
            opened: Default::default(),
            received: Vec::new(),
            sent: Vec::new(),
            sent_classes: Vec::new(),
            traffic_class: TrafficClass::DEFAULT,
            events: Vec::new(),
        }
    }

    fn established(rate: Rate) -> Self {
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
            &mut |output| match output {
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

    /// Delivers a datagram to the relay, and the relay's output to the nodes.
    fn arrive(&mut self, source: u32, datagram: Bytes) {
        self.received.push((source, datagram.clone()));
        let traffic_class = self.traffic_class;
        self.wake_relay(Wake::Input(Input {
            source,
            datagram,
            traffic_class,
        }));
    }

    fn wake_relay(&mut self, wake: Wake<Input<u32>>) {
        let mut out = VecDeque::new();
        let (events, classes) = (&mut self.events, &mut self.sent_classes);
        step(
            &mut self.relay,
            self.now,
            wake,
            &mut |output| match output {
                Output::Send {
                    to,
                    datagram,
                    traffic_class,
                } => {
                    classes.push(traffic_class);
                    out.push_back((to, datagram));
                }
                Output::Event(event) => events.push(event),
            },
        );
        for (to, datagram) in out {
            self.sent.push((self.now, to, datagram.clone()));
            let at = self.addresses.iter().position(|address| *address == to);
            if let Some(who) = at.filter(|who| self.receives[*who]) {
                let path = PATH;
                let source = Source::from(1);
                let input = session::Input::Datagram {
                    path,
                    source,
                    datagram,
                };
                self.wake(who, Wake::Input(input));
            }
        }
    }

    fn seal(&mut self, who: usize, frame: impl Into<Bytes>) {
        let (path, frame) = (PATH, frame.into());
        self.wake(
            who,
            Wake::Input(session::Input::Seal {
                path,
                frame,
                traffic_class: TrafficClass::DEFAULT,
            }),
        );
    }

    /// Runs all timers up to `until`.
    fn run(&mut self, until: Time) {
        loop {
            let due = |deadline: Option<Deadline>| deadline.map_or(Time::MAX, |due| due.at);
            let node = |who: usize| {
                let deadline = self.nodes[who].deadline();
                due(deadline.filter(|_| self.receives[who]))
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
                assert!(due(self.relay.deadline()) > next, "the deadline advances");
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
fn forwarded_datagrams_keep_their_length() {
    let mut site = Site::established(FAST);
    let before = (site.received.len(), site.sent.len());
    site.seal(0, "to b");
    site.seal(1, "to a");
    assert_eq!(site.opened, [[Bytes::from("to a")], [Bytes::from("to b")]]);
    let received: usize = site.received[before.0..]
        .iter()
        .map(|entry| entry.1.len())
        .sum();
    let sent: usize = site.sent[before.1..]
        .iter()
        .map(|entry| entry.2.len())
        .sum();
    assert_eq!(received, sent);
    let traffic = site.relay.traffic(Side::First);
    assert_eq!((traffic.forwarded, traffic.bytes), (1, 4 + OVERHEAD as u64));
}

/// Only the network sees the traffic class of a datagram: a relay has no other.
#[test]
fn a_forwarded_datagram_keeps_its_traffic_class() {
    let mut site = Site::established(FAST);
    let are_default = |site: &Site| site.sent_classes.iter().all(|class| class.is_default());
    assert!(are_default(&site), "handshakes");
    for traffic_class in [0xb8, 0, 0xff, 0x02, 0x01].map(TrafficClass::of_byte) {
        site.sent_classes.clear();
        site.traffic_class = traffic_class;
        site.seal(0, "to b");
        assert_eq!(site.sent_classes, [traffic_class]);
    }
    // Hellos arrive with a class, and the answers have none.
    site.sent_classes.clear();
    site.pass(SILENCE_TIMEOUT);
    assert!(!site.sent_classes.is_empty() && are_default(&site));
}

#[test]
fn a_relay_without_sessions_has_no_deadline_and_sends_nothing() {
    let mut site = Site::new(FAST);
    assert_eq!(site.relay.deadline(), None);
    site.receives = [false; 2];
    site.run(Time::ZERO + Duration::from_secs(3600));
    assert_eq!(site.sent, []);
}

#[test]
fn unknown_keys_and_replays_are_not_answered() {
    let mut site = Site::established(FAST);
    let before = site.sent.len();
    let received = site.received.clone();
    let mut attacker = node("c", 5);
    let mut outputs = Vec::new();
    step(&mut attacker, site.now, Wake::Timeout, &mut |output| {
        if let session::Output::Send { datagram, .. } = output {
            outputs.push(datagram);
        }
    });
    for datagram in outputs {
        site.arrive(ATTACKER, datagram);
    }
    // Replays of the nodes' datagrams, and reflections of the relay's own.
    let sent = site.sent.clone();
    for (_, datagram) in received {
        site.arrive(ATTACKER, datagram);
    }
    for (_, _, datagram) in sent {
        site.arrive(ATTACKER, datagram);
    }
    assert_eq!(site.sent.len(), before);
    assert_eq!(site.relay.rejected(Reject::WrongKey), 1);
    assert!(site.relay.rejected(Reject::HandshakeCopy) > 0);
    assert!(site.relay.counters(Side::First).rejected(Reject::Replayed) > 0);
    assert_eq!(site.relay.address(Side::First), Some(10));
}

/// The MAC is verified before anything else: who does not know the relay's public key learns
/// nothing of what the relay has accepted.
#[test]
fn an_accepted_initiation_with_another_mac_is_no_copy() {
    let mut site = Site::established(FAST);
    let received = site.received.clone();
    let initiations = received.iter().filter(|entry| entry.1[0] == INITIATION);
    let mut count = 0;
    for (_, accepted) in initiations {
        let mut altered = accepted.to_vec();
        altered[SESSION_MAC_OFFSET - 1] ^= 1;
        site.arrive(ATTACKER, altered.into());
        count += 1;
        assert_eq!(site.relay.rejected(Reject::BadMac), count);
        site.arrive(ATTACKER, accepted.clone());
        assert_eq!(site.relay.rejected(Reject::HandshakeCopy), count);
    }
    assert_eq!(count, 2, "one of each node");
}

#[test]
fn nothing_is_forwarded_to_a_node_without_a_session() {
    let mut site = Site::new(FAST);
    site.receives[1] = false;
    site.run(Time::ZERO + Duration::from_secs(1));
    site.seal(0, "to b");
    assert_eq!(site.undelivered(Side::First, Undelivered::NoSession), 1);
    assert!(site.sent.iter().all(|(_, to, _)| *to == 10));
}

/// The relay sends it nothing at all until it receives an authentic datagram again.
#[test]
fn nothing_is_sent_to_a_silent_node() {
    let mut site = Site::established(FAST);
    site.receives[1] = false;
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
    site.receives[1] = true;
    site.opened[1].clear();
    site.seal(1, "back again");
    site.seal(0, "to b");
    assert_eq!(site.opened[1], ["to b"]);
}

#[test]
fn a_node_that_moves_is_followed_and_a_restarted_one_gets_a_new_session() {
    let mut site = Site::established(FAST);
    site.addresses[1] = 21;
    site.seal(1, "from elsewhere");
    assert_eq!(site.relay.address(Side::Second), Some(21));
    site.nodes[1] = node("b", 77);
    site.pass(Duration::from_secs(1));
    site.seal(0, "to b");
    assert_eq!(site.opened[1].last(), Some(&Bytes::from("to b")));
}

/// A restarted relay cannot recognise a replayed initiation: it answers to the source address, each
/// copy with the same response, and sends nothing else.
#[test]
fn a_replayed_initiation_gives_a_restarted_relay_no_address() {
    let mut site = Site::established(FAST);
    let is_initiation = |entry: &&(u32, Bytes)| entry.1[0] == INITIATION;
    let old = site.received.iter().find(is_initiation).unwrap().1.clone();
    site.relay = relay(FAST);
    site.sent.clear();
    site.arrive(ATTACKER, old.clone());
    site.arrive(ATTACKER, old);
    let answers = site.sent.iter().map(|(_, to, answer)| (*to, answer));
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0].0 == ATTACKER && answers[0].1.len() < INITIATION_LEN);
    assert_eq!(site.relay.address(Side::First), None);
    assert!(!site.relay.is_established(Side::First));
    // The nodes notice after the silence timeout, and establish new sessions.
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
