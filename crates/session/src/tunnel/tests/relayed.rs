//! Two nodes whose second path, or only one, goes by a relay.

use std::collections::BTreeMap;

use polypath_core::units::Rate;

use super::*;
use crate::relay::{self, Relay, RelayConfig, Side};

const DIRECT: PathId = PathId(0);
const BY_RELAY: PathId = PathId(1);

/// Who sends and takes datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Node(usize),
    Relay,
}

/// Two nodes, a relay, and the datagrams between them in the order of their arrival.
struct Site {
    nodes: [Node; 2],
    relay: Relay<usize>,
    flying: BTreeMap<(Time, u64), (Who, Who, PathId, Bytes)>,
    sent: u64,
    is_direct_cut: bool,
    is_relay_away: bool,
    /// What the relay opened and sent on, as it is between them.
    by_relay: Vec<Bytes>,
}

fn relayed(own: &str, peer: &str, seed: u64) -> Node {
    let mut node = watched(own, peer, Some(LivenessConfig::default()));
    let session = SessionConfig {
        private_key: key(own),
        peer: key(peer).public(),
        reachable: vec![true; 2],
        max_datagram: 1500,
        wall_clock: 1 + seed,
        limits: Limits::default(),
    };
    let session = session.with_relay(key("relay").public());
    let entropy = Box::new(Seed(3 + seed).stream(own));
    node.tunnel.add_relay(BY_RELAY, session, entropy);
    node
}

/// A relay begins no handshake: it waits for a node whose clock is behind, until that is set.
#[test]
fn a_node_whose_clock_is_set_ahead_joins_the_relay() {
    let hour = 3600 * 1_000_000_000;
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.nodes[0] = relayed("a", "b", hour);
    site.run(at(10_000));
    let joined = |site: &Site| site.relay.is_established(Side::First);
    let is_answered = |site: &Site| {
        let session = site.nodes[0].tunnel.relay(BY_RELAY);
        session.is_some_and(Session::is_established)
    };
    assert!(joined(&site) && is_answered(&site));
    site.nodes[0] = relayed("a", "b", 1);
    site.run(at(40_000));
    assert!(!is_answered(&site));
    site.wake_node(at(40_000), 0, Wake::Input(Input::WallClock(2 * hour)));
    site.run(at(46_000));
    assert!(is_answered(&site));
    assert!(site.nodes[0].tunnel.is_established());
}

fn fresh_relay(seed: u64) -> Relay<usize> {
    let config = RelayConfig {
        private_key: key("relay"),
        nodes: ["a", "b"].map(|name| key(name).public()),
        max_datagram: 1500,
        rate: Rate::from_mbits(100),
        limits: Limits::default(),
    };
    let entropy = |n| Box::new(Seed(n).stream("relay")) as BoxedEntropy;
    Relay::new(&config, [entropy(seed), entropy(seed + 1)])
}

impl Site {
    fn new() -> Self {
        Self {
            nodes: [relayed("a", "b", 0), relayed("b", "a", 0)],
            relay: fresh_relay(10),
            flying: BTreeMap::new(),
            sent: 0,
            is_direct_cut: false,
            is_relay_away: false,
            by_relay: Vec::new(),
        }
    }

    fn send(&mut self, now: Time, from: Who, to: Who, path: PathId, datagram: Bytes) {
        let is_lost = match path {
            DIRECT => self.is_direct_cut,
            _ => self.is_relay_away,
        };
        self.sent += 1;
        if !is_lost {
            let key = (now + DELAY, self.sent);
            self.flying.insert(key, (from, to, path, datagram));
        }
    }

    fn wake_node(&mut self, now: Time, who: usize, wake: Wake<Input>) {
        for (path, datagram) in self.nodes[who].wake(now, wake) {
            let to = if path == DIRECT {
                Who::Node(1 - who)
            } else {
                Who::Relay
            };
            self.send(now, Who::Node(who), to, path, datagram);
        }
    }

    fn wake_relay(&mut self, now: Time, wake: Wake<relay::Input<usize>>) {
        let mut out = Vec::new();
        step(&mut self.relay, now, wake, &mut |said| {
            if let relay::Output::Send { to, datagram } = said {
                out.push((to, datagram));
            }
        });
        for (to, datagram) in out {
            self.by_relay.push(datagram.clone());
            self.send(now, Who::Relay, Who::Node(to), BY_RELAY, datagram);
        }
    }

    fn run(&mut self, until: Time) {
        loop {
            let due = |deadline: Option<Deadline>| deadline.map_or(Time::MAX, |due| due.at);
            let nodes = [0, 1].map(|who| due(self.nodes[who].tunnel.deadline()));
            let relay = due(self.relay.deadline());
            let arrival = self.flying.keys().next().map_or(Time::MAX, |key| key.0);
            let next = nodes[0].min(nodes[1]).min(relay).min(arrival);
            if next > until {
                return;
            }
            if arrival == next {
                let (_, (from, to, path, datagram)) = self.flying.pop_first().unwrap();
                match (from, to) {
                    (_, Who::Node(who)) => {
                        let input = Input::Datagram { path, datagram };
                        self.wake_node(next, who, Wake::Input(input));
                    }
                    (Who::Node(source), Who::Relay) => {
                        let input = relay::Input { source, datagram };
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

    /// Sends packets from `now` on, one in 50 ms, and gives those that arrived.
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
fn packets_cross_by_the_relay_where_there_is_no_other_way() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    // The first tries meet at the relay, and one node's may come there before the other has joined.
    site.run(at(900));
    let is_established = |node: &Node| node.tunnel.is_established();
    assert!(site.nodes.iter().all(is_established));
    let before = site.by_relay.len();
    assert_eq!(site.offer_many(at(1_000), 20), packets(20));
    assert!(site.by_relay.len() > before + 20);
    let forwarded = site.relay.traffic(Side::First).forwarded;
    assert!(forwarded > 20, "{forwarded}");
    let health = site.nodes[0].tunnel.health(BY_RELAY).unwrap();
    assert_eq!(health.rtt, Some(DELAY * 4), "two hops each way");
}

#[test]
fn a_path_by_a_relay_carries_copies_like_any_other() {
    let mut site = Site::new();
    site.run(at(1_000));
    assert_eq!(site.offer_many(at(1_000), 20), packets(20));
    site.is_direct_cut = true;
    assert_eq!(site.offer_many(at(5_000), 20), packets(20), "none is lost");
    site.is_direct_cut = false;
    site.is_relay_away = true;
    assert_eq!(site.offer_many(at(9_000), 20), packets(20), "none is lost");
}

#[test]
fn a_relay_that_starts_anew_is_joined_again() {
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
        "the session with the peer outlives it: {established}"
    );
}

/// Heartbeats tell sooner than the session with the relay that nothing comes back.
#[test]
fn a_relay_that_starts_anew_is_joined_as_soon_as_the_path_is_silent() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.run(at(1_000));
    assert_eq!(site.offer_many(at(1_000), 20), packets(20));
    site.relay = fresh_relay(20);
    let arrived = site.offer_many(at(5_000), 60);
    assert!(arrived.len() >= 50, "{} of 60", arrived.len());
    assert_eq!(site.offer_many(at(10_000), 20), packets(20));
    // One that is merely cut off is not asked without end.
    let before = site.nodes[0]
        .tunnel
        .relay(BY_RELAY)
        .unwrap()
        .counters()
        .initiated;
    site.is_relay_away = true;
    site.offer_many(at(12_000), 200);
    let tries = site.nodes[0]
        .tunnel
        .relay(BY_RELAY)
        .unwrap()
        .counters()
        .initiated
        - before;
    assert!((1..=6).contains(&tries), "{tries} in 11 s");
}

/// A relay has a session with each node, and sees what they send to each other only as it is sealed.
#[test]
fn a_relay_neither_reads_nor_makes_nor_repeats_what_nodes_say() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    assert_eq!(site.offer_many(at(1_000), 5), packets(5));
    let clear = udp_packet(3);
    let is_in = |datagram: &Bytes| datagram.windows(40).any(|part| part == &clear[40..80]);
    assert!(!site.by_relay.iter().any(is_in));
    // A relay that is bad hands over what it has made up, and what it has handed over before.
    let now = at(20_000);
    let (mut sealed, session) = (None, &mut site.nodes[0].tunnel.session);
    session.seal(now, BY_RELAY, b"frame", &mut |said| {
        if let session::Output::Send { datagram, .. } = said {
            sealed = Some(datagram);
        }
    });
    let sealed = sealed.unwrap();
    let tunnel = &mut site.nodes[1].tunnel;
    let mut hand_over = |datagram: &[u8]| {
        let mut said = Vec::new();
        tunnel.on_sealed(now, BY_RELAY, datagram, &mut |output| said.push(output));
        let is_new = |output: &Output| matches!(output, Output::Authenticated { .. });
        said.iter().any(is_new)
    };
    assert!(hand_over(&sealed));
    for bad in [&sealed[..], &sealed[1..], b"forged", &[3; 60], &[1; 126]] {
        assert!(!hand_over(bad), "{bad:?}");
    }
}

#[test]
fn what_a_tunnel_holds_for_relays_is_bounded() {
    let mut site = Site::new();
    (site.is_direct_cut, site.is_relay_away) = (true, true);
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
