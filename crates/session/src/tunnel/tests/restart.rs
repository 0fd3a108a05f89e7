//! A node that restarts, and numbers its packets from the first again.

use std::sync::mpsc::channel;

use super::*;
use crate::record::Replay;
use polypath_core::class::Classes;
use polypath_core::tariff::Tariffs;

/// The lag of a node's clock in nanoseconds: a machine without a battery-backed clock starts in
/// 1970.
const BEHIND: u64 = 1_790_000_000_000_000_000;
/// The additional delay of the second path.
const LAG: Duration = Duration::from_millis(300);
const MS: Duration = Duration::from_millis(1);

/// Two nodes, and the datagrams in flight between them.
struct Pair {
    now: Time,
    nodes: [Node; 2],
    in_flight: InFlight,
    sent: u64,
}

fn config(first_sequence: u64) -> EndpointConfig {
    EndpointConfig {
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        paths: 2,
        policy: PolicyConfig::DuplicateAll {},
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 1024,
        first_sequence,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: None,
        spacing: None,
    }
}

/// Node `who`, whose wall clock shows `wall` at time zero, with its own random stream.
fn start(who: usize, wall: u64, first_sequence: u64) -> Node {
    let name = |who: usize| ["a", "b"][who];
    let session = SessionConfig {
        reachable: vec![true; 2],
        max_datagram: 1500,
        wall_clock: wall,
        limits: Limits::default(),
        ..SessionConfig::new(key(name(who)), key(name(1 - who)).public())
    };
    let entropy = Box::new(Seed(wall).stream(name(who)));
    Node {
        tunnel: Tunnel::new(&config(first_sequence), session, entropy).unwrap(),
        packets: Vec::new(),
        events: Vec::new(),
        sent_classes: Vec::new(),
        wire: 0,
    }
}

impl Pair {
    /// Two nodes that number their packets from `first_sequence`.
    fn new(first_sequence: u64) -> Self {
        Self {
            now: Time::ZERO,
            nodes: [0, 1].map(|who| start(who, BEHIND, first_sequence)),
            in_flight: InFlight::new(),
            sent: 0,
        }
    }

    fn wake(&mut self, who: usize, wake: Wake<Input>) {
        for (path, datagram) in self.nodes[who].wake(self.now, wake) {
            self.sent += 1;
            let at = self.now + DELAY + LAG * u64::from(path.0);
            self.in_flight
                .insert((at, self.sent), (1 - who, path, datagram));
        }
    }

    fn run(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            let due = [0, 1].map(|who| {
                let due = self.nodes[who].tunnel.deadline();
                due.map_or(Time::MAX, |due| due.at)
            });
            let Some((at, who, wake)) = next_event(due, &mut self.in_flight, until) else {
                self.now = until;
                return;
            };
            self.now = at;
            self.wake(who, wake);
        }
    }

    /// Both nodes send `count` packets, one every 100 ms, numbered from `first`.
    fn exchange_packets(&mut self, first: u8, count: u8) {
        for number in first..first + count {
            for who in [0, 1] {
                self.wake(who, Wake::Input(Input::Packet(udp_packet(number))));
            }
            self.run(MS * 100);
        }
    }

    /// Node 0 crashes and restarts, with packet 0; returns the packets delivered to it before.
    fn restart(&mut self, wall: u64) -> Vec<Bytes> {
        std::mem::replace(&mut self.nodes[0], start(0, wall, 0)).packets
    }
}

fn packets(first: u8, count: u8) -> Vec<Bytes> {
    (first..first + count).map(udp_packet).collect()
}

/// Its initiations are rejected as replays, until the peer initiates after the silence timeout.
#[test]
fn a_restarted_node_whose_clock_is_behind_answers_the_peers_initiation() {
    let mut pair = Pair::new(1 << 40);
    pair.run(MS * 1000);
    pair.exchange_packets(0, 40);
    assert_eq!(pair.nodes[1].packets, packets(0, 40));
    let before = pair.restart(1);
    assert_eq!(before, packets(0, 40));
    // Until the silence timeout of the peer, and a handshake.
    pair.exchange_packets(40, 110);
    let stale = pair.nodes[1]
        .tunnel
        .counters()
        .rejected(Reject::StaleTimestamp);
    assert!(stale > 0, "the clock is behind");
    let before = [0, 1].map(|who| pair.nodes[who].packets.len());
    pair.exchange_packets(150, 50);
    pair.run(MS * 1000);
    for who in [0, 1] {
        let after = &pair.nodes[who].packets[before[who]..];
        assert_eq!(after, packets(150, 50), "node {who}");
    }
}

/// Its first packets arrive under new keys while copies of its previous instance are still on the
/// longer path.
#[test]
fn no_copy_from_before_a_restart_is_delivered_after_it() {
    let mut pair = Pair::new(0);
    pair.run(MS * 1000);
    pair.exchange_packets(0, 20);
    pair.restart(2 * BEHIND);
    pair.exchange_packets(20, 20);
    pair.run(MS * 1000);
    assert_eq!(pair.nodes[1].packets, packets(0, 40));
    let late = pair.nodes[1].tunnel.counters();
    assert!(late.rejected(Reject::UnknownIndex) > 0, "{late:?}");
}

#[test]
fn both_nodes_may_restart_at_once() {
    let mut pair = Pair::new(0);
    pair.run(MS * 1000);
    pair.exchange_packets(0, 20);
    pair.nodes = [1, 2].map(|wall| start(usize::from(wall == 2), wall, 0));
    pair.run(MS * 1000);
    pair.exchange_packets(20, 20);
    pair.run(MS * 1000);
    for who in [0, 1] {
        assert_eq!(pair.nodes[who].packets, packets(20, 20), "node {who}");
    }
}

#[test]
fn a_recording_of_a_peer_restart_replays() {
    let mut pair = Pair::new(0);
    let (entries, recording) = channel();
    let recorder = Box::new(move |entry| entries.send(entry).unwrap());
    pair.nodes[1].tunnel.recorder = Some(recorder);
    pair.run(MS * 1000);
    pair.exchange_packets(0, 20);
    pair.restart(2 * BEHIND);
    pair.exchange_packets(20, 20);
    drop(pair);
    let entries: Vec<Entry> = recording.iter().collect();
    let restarted = Wake::Input(endpoint::Input::PeerRestarted);
    let times = entries
        .iter()
        .filter(|entry| entry.wake == restarted)
        .count();
    assert_eq!(times, 1, "once per restart");
    let mut replay = Replay::new(&config(0)).unwrap();
    for entry in entries {
        let read = serde_json::to_string(&entry).unwrap();
        replay.check(&serde_json::from_str(&read).unwrap()).unwrap();
    }
}
