//! Two nodes whose second path uses a relay.

use std::collections::BTreeMap;

use polypath_core::endpoint::Adjustment;
use polypath_core::liveness::PathState;
use polypath_core::policy::PathSet;
use polypath_core::tariff::Tariff;
use polypath_core::units::{self, Rate};

use super::*;
use crate::relay::{self, Relay, RelayConfig, Side};

mod classes;

const DIRECT: PathId = PathId(0);
const RELAYED: PathId = PathId(1);

/// A sender or receiver of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Node(usize),
    Relay,
}

/// A datagram on its way.
struct Transit {
    from: Who,
    to: Who,
    path: PathId,
    ecn: Ecn,
    datagram: Bytes,
}

/// Two nodes, a relay, and the datagrams between them in the order of their arrival.
struct Site {
    nodes: [Node; 2],
    relay: Relay<u32>,
    in_flight: BTreeMap<(Time, u64), Transit>,
    sent: u64,
    is_direct_cut: bool,
    is_relay_unreachable: bool,
    /// Whether the links from nodes to the relay mark what they carry.
    marks: bool,
    /// The datagrams that the relay sent.
    relayed_datagrams: Vec<Bytes>,
    /// The number of them that it sent to the first node.
    forwarded_to_first: usize,
}

fn relayed_node(own: &str, peer: &str, seed: u64) -> Node {
    let mut node = watched(own, peer, Some(LivenessConfig::default()));
    let session = SessionConfig {
        reachable: vec![true; 2],
        max_datagram: 1500,
        wall_clock: 1 + seed,
        limits: Limits::default(),
        receives_ecn: true,
        ..SessionConfig::new(key(own), key(peer).public())
    };
    let session = session.with_relay(key("relay").public());
    let entropy = Box::new(Seed(3 + seed).stream(own));
    node.tunnel.add_relay(RELAYED, session, entropy);
    node
}

/// A relay initiates no handshake, so a node whose clock is behind has no session with it until the
/// clock is set.
#[test]
fn a_node_whose_clock_is_set_ahead_gets_a_session_with_the_relay() {
    let hour = 3600 * 1_000_000_000;
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.nodes[0] = relayed_node("a", "b", hour);
    site.run(at(10_000));
    let has_session = |site: &Site| site.relay.is_established(Side::First);
    let is_answered = |site: &Site| {
        let session = site.nodes[0].tunnel.relay(RELAYED);
        session.is_some_and(Session::is_established)
    };
    assert!(has_session(&site) && is_answered(&site));
    site.nodes[0] = relayed_node("a", "b", 1);
    site.run(at(40_000));
    assert!(!is_answered(&site));
    site.wake_node(at(40_000), 0, Wake::Input(Input::WallClock(2 * hour)));
    site.run(at(46_000));
    assert!(is_answered(&site));
    assert!(site.nodes[0].tunnel.is_established());
}

fn fresh_relay(seed: u64) -> Relay<u32> {
    relay_that(seed, true)
}

fn relay_that(seed: u64, receives_ecn: bool) -> Relay<u32> {
    let config = RelayConfig {
        private_key: key("relay"),
        nodes: ["a", "b"].map(|name| key(name).public()),
        max_datagram: 1500,
        rate: Rate::from_mbits(100),
        limits: Limits::default(),
        receives_ecn,
    };
    let entropy = |n| Box::new(Seed(n).stream("relay")) as BoxedEntropy;
    Relay::new(&config, [entropy(seed), entropy(seed + 1)])
}

impl Site {
    fn new() -> Self {
        Self {
            nodes: [relayed_node("a", "b", 0), relayed_node("b", "a", 0)],
            relay: fresh_relay(10),
            in_flight: BTreeMap::new(),
            sent: 0,
            is_direct_cut: false,
            is_relay_unreachable: false,
            marks: false,
            relayed_datagrams: Vec::new(),
            forwarded_to_first: 0,
        }
    }

    fn send(&mut self, now: Time, sent: Transit) {
        let is_lost = match sent.path {
            DIRECT => self.is_direct_cut,
            _ => self.is_relay_unreachable,
        };
        self.sent += 1;
        if !is_lost {
            let key = (now + DELAY, self.sent);
            self.in_flight.insert(key, sent);
        }
    }

    fn wake_node(&mut self, now: Time, who: usize, wake: Wake<Input>) {
        for (path, datagram) in self.nodes[who].wake(now, wake) {
            let to = if path == DIRECT {
                Who::Node(1 - who)
            } else {
                Who::Relay
            };
            let sent = Transit {
                from: Who::Node(who),
                to,
                path,
                ecn: if self.marks && to == Who::Relay {
                    Ecn::Ce
                } else {
                    Ecn::NotEct
                },
                datagram,
            };
            self.send(now, sent);
        }
    }

    fn wake_relay(&mut self, now: Time, wake: Wake<relay::Input<u32>>) {
        let mut out = Vec::new();
        step(&mut self.relay, now, wake, &mut |output| {
            if let relay::Output::Send {
                to,
                datagram,
                traffic_class,
            } = output
            {
                out.push((to, datagram, traffic_class.ecn));
            }
        });
        for (to, datagram, ecn) in out {
            self.relayed_datagrams.push(datagram.clone());
            self.forwarded_to_first += usize::from(to == 0);
            let sent = Transit {
                from: Who::Relay,
                to: Who::Node(to as usize),
                path: RELAYED,
                ecn,
                datagram,
            };
            self.send(now, sent);
        }
    }

    fn run(&mut self, until: Time) {
        loop {
            let due = |deadline: Option<Deadline>| deadline.map_or(Time::MAX, |due| due.at);
            let nodes = [0, 1].map(|who| due(self.nodes[who].tunnel.deadline()));
            let relay = due(self.relay.deadline());
            let arrival = self.in_flight.keys().next().map_or(Time::MAX, |key| key.0);
            let next = nodes[0].min(nodes[1]).min(relay).min(arrival);
            if next > until {
                return;
            }
            if arrival == next {
                let (_, sent) = self.in_flight.pop_first().unwrap();
                let Transit { path, ecn, .. } = sent;
                let datagram = sent.datagram;
                match (sent.from, sent.to) {
                    (_, Who::Node(who)) => {
                        let input = Input::Datagram {
                            path,
                            source: Source::from(1),
                            ecn,
                            datagram,
                        };
                        self.wake_node(next, who, Wake::Input(input));
                    }
                    (Who::Node(source), Who::Relay) => {
                        let source = u32::try_from(source).unwrap();
                        let input = relay::Input {
                            source,
                            datagram,
                            traffic_class: TrafficClass {
                                ecn,
                                ..TrafficClass::DEFAULT
                            },
                        };
                        self.wake_relay(next, Wake::Input(input));
                    }
                    (Who::Relay, Who::Relay) => unreachable!("a relay sends to nodes"),
                }
            } else if relay == next {
                self.wake_relay(next, Wake::Timeout);
            } else {
                self.wake_node(next, usize::from(nodes[1] == next), Wake::Timeout);
            }
        }
    }

    fn offer(&mut self, now: Time, number: u8) {
        self.run(now);
        let packet = Input::Packet(udp_packet(number));
        self.wake_node(now, 0, Wake::Input(packet));
    }

    /// Sends packets from `now` on, one every 50 ms, and returns those that arrived.
    fn offer_many(&mut self, now: Time, count: u8) -> Vec<Bytes> {
        self.nodes[1].packets.clear();
        for number in 0..count {
            self.offer(now + Duration::from_millis(50) * u64::from(number), number);
        }
        self.run(now + Duration::from_millis(50) * u64::from(count) + Duration::from_secs(1));
        std::mem::take(&mut self.nodes[1].packets)
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn packets(count: u8) -> Vec<Bytes> {
    (0..count).map(udp_packet).collect()
}

#[test]
fn packets_cross_through_the_relay_if_there_is_no_direct_path() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    // One node's first initiation may reach the relay before the other node has a session with it.
    site.run(at(900));
    let is_established = |node: &Node| node.tunnel.is_established();
    assert!(site.nodes.iter().all(is_established));
    let before = site.relayed_datagrams.len();
    assert_eq!(site.offer_many(at(1_000), 20), packets(20));
    assert!(site.relayed_datagrams.len() > before + 20);
    let forwarded = site.relay.traffic(Side::First).forwarded;
    assert!(forwarded > 20, "{forwarded}");
    let health = site.nodes[0].tunnel.health(RELAYED).unwrap();
    assert_eq!(health.rtt, Some(DELAY * 4), "two hops each way");
}

#[test]
fn a_relayed_path_carries_copies_like_any_other() {
    let mut site = Site::new();
    site.run(at(1_000));
    assert_eq!(site.offer_many(at(1_000), 20), packets(20));
    site.is_direct_cut = true;
    assert_eq!(site.offer_many(at(5_000), 20), packets(20), "none is lost");
    site.is_direct_cut = false;
    site.is_relay_unreachable = true;
    assert_eq!(site.offer_many(at(9_000), 20), packets(20), "none is lost");
}

#[test]
fn a_restarted_relay_gets_new_sessions() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.run(at(1_000));
    site.relay = fresh_relay(20);
    site.offer_many(at(1_000), 250);
    assert!(
        Side::ALL
            .iter()
            .all(|side| site.relay.is_established(*side))
    );
    assert_eq!(site.offer_many(at(16_000), 20), packets(20));
    let established = site.nodes[0].tunnel.counters().established;
    assert!(
        established <= 2,
        "the session with the peer survives: {established}"
    );
}

/// Two nodes of which the first has used up the quota of the path through the relay, and the
/// adjustment that made it so.
fn site_with_quota() -> Site {
    let mut site = Site::new();
    site.run(at(3_000));
    let metered = Tariff {
        quota: Some(units::Bytes(1_000_000)),
        ..Tariff::FREE
    };
    let endpoint = EndpointConfig {
        tariffs: [Tariff::FREE, metered].into_iter().collect(),
        ..endpoint_config(
            PolicyConfig::DuplicateAll {},
            Some(LivenessConfig::default()),
        )
    };
    let adjustment = Adjustment::new(&endpoint).unwrap();
    site.wake_node(at(3_000), 0, Wake::Input(Input::Adjust(adjustment)));
    site.wake_node(at(3_000), 0, Wake::Input(used(1_000_000, false)));
    site
}

fn used(bytes: u64, is_renewed: bool) -> Input {
    Input::PathUsed {
        path: RELAYED,
        used: units::Bytes(bytes),
        is_renewed,
    }
}

/// The node with the quota is silent; the other keeps its session with the relay, without which
/// neither would ever hear of the other there.
#[test]
fn a_closed_path_through_a_relay_opens_again_after_the_keys_have_expired() {
    let mut site = site_with_quota();
    assert_eq!(
        site.offer_many(at(4_000), 20),
        packets(20),
        "on the direct path"
    );
    let closed = site
        .nodes
        .each_ref()
        .map(|node| node.tunnel.endpoint().closed_paths());
    assert_eq!(closed[0].own, PathSet::only(RELAYED));
    assert_eq!(closed[1].by_peer, PathSet::only(RELAYED));
    // After the keepalives for what was received before.
    site.run(at(30_000));
    site.forwarded_to_first = 0;
    site.run(at(600_000));
    assert_eq!(
        site.forwarded_to_first, 0,
        "nothing reaches the closed path"
    );
    site.wake_node(at(600_000), 0, Wake::Input(used(0, true)));
    site.run(at(620_000));
    for node in &site.nodes {
        let health = node.tunnel.health(RELAYED).unwrap();
        assert_eq!(health.state, PathState::Live);
    }
    let closed = site
        .nodes
        .each_ref()
        .map(|node| node.tunnel.endpoint().closed_paths());
    assert!(closed.iter().all(|closed| closed.all().is_empty()));
}

/// Heartbeats detect the silence sooner than the session with the relay.
#[test]
fn a_restarted_relay_gets_new_sessions_as_soon_as_the_path_is_silent() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.run(at(1_000));
    assert_eq!(site.offer_many(at(1_000), 20), packets(20));
    site.relay = fresh_relay(20);
    let arrived = site.offer_many(at(5_000), 60);
    assert!(arrived.len() >= 50, "{} of 60", arrived.len());
    assert_eq!(site.offer_many(at(10_000), 20), packets(20));
    // An unreachable relay is retried with backoff.
    let before = site.nodes[0]
        .tunnel
        .relay(RELAYED)
        .unwrap()
        .counters()
        .initiated;
    site.is_relay_unreachable = true;
    site.offer_many(at(12_000), 200);
    let attempts = site.nodes[0]
        .tunnel
        .relay(RELAYED)
        .unwrap()
        .counters()
        .initiated
        - before;
    assert!((1..=6).contains(&attempts), "{attempts} in 11 s");
}

/// A relay receives the datagrams of the nodes' session only sealed.
#[test]
fn a_relay_can_neither_read_nor_forge_nor_replay() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    assert_eq!(site.offer_many(at(1_000), 5), packets(5));
    let clear = udp_packet(3);
    let is_in = |datagram: &Bytes| datagram.windows(40).any(|part| part == &clear[40..80]);
    assert!(!site.relayed_datagrams.iter().any(is_in));
    // A malicious relay forwards forged datagrams and replays.
    let now = at(20_000);
    let (mut sealed, session) = (None, &mut site.nodes[0].tunnel.session);
    session.seal(
        now,
        RELAYED,
        b"frame",
        TrafficClass::DEFAULT,
        &mut |output| {
            if let session::Output::Send { datagram, .. } = output {
                sealed = Some(datagram);
            }
        },
    );
    let sealed = sealed.unwrap();
    let tunnel = &mut site.nodes[1].tunnel;
    let (source, ecn) = (Source::RELAYED, Ecn::NotEct);
    let arrival = OuterHeader { source, ecn };
    let mut hand_over = |datagram: &[u8]| {
        let mut outputs = Vec::new();
        tunnel.on_sealed(now, RELAYED, arrival, datagram, &mut |output| {
            outputs.push(output);
        });
        let is_new = |output: &Output| matches!(output, Output::Authenticated { .. });
        outputs.iter().any(is_new)
    };
    assert!(hand_over(&sealed));
    for bad in [&sealed[..], &sealed[1..], b"forged", &[3; 60], &[1; 126]] {
        assert!(!hand_over(bad), "{bad:?}");
    }
}

#[test]
fn the_memory_for_relays_is_bounded() {
    let mut site = Site::new();
    (site.is_direct_cut, site.is_relay_unreachable) = (true, true);
    for number in 0..200 {
        site.offer(at(1_000 * u64::from(number)), number);
        let tunnel = &site.nodes[0].tunnel;
        assert!(tunnel.buffered() <= tunnel.capacity());
    }
    assert!(
        site.nodes[0].tunnel.relays.buffered() <= 1,
        "the newest initiation"
    );
    let tunnel = &site.nodes[0].tunnel;
    assert!(tunnel.capacity() > tunnel.endpoint.capacity() + session::CAPACITY);
}

/// During a second restart the path may be returning from the first one, and then no live path
/// becomes silent.
#[test]
fn a_relay_that_restarts_twice_is_rejoined_as_fast_as_after_one_restart() {
    for between in 0..40 {
        let mut site = Site::new();
        site.is_direct_cut = true;
        site.run(at(1_000));
        assert_eq!(site.offer_many(at(1_000), 20), packets(20));
        site.run(at(5_000));
        site.relay = fresh_relay(20);
        for number in 0..between {
            site.offer(at(5_000 + 50 * u64::from(number)), number);
        }
        let second = at(5_000 + 50 * u64::from(between));
        site.run(second);
        site.relay = fresh_relay(30);
        let missing = 40 - site.offer_many(second, 40).len();
        // Either the path was returning, and an attempt that the restart interrupted is repeated
        // after 500 ms; or it was silent, and the relay leaves hellos unanswered for 1.5 s.
        let is_silent = (3..7).contains(&between);
        let max_missing = if is_silent { 33 } else { 14 };
        assert!(
            missing <= max_missing,
            "{missing} of 40 lost with {between} packets between the restarts"
        );
    }
}
