use super::*;
use etherparse::PacketBuilder;
use polypath_core::class::Classes;
use polypath_core::endpoint::ProbingConfig;
use polypath_core::event::DropReason;
use polypath_core::frame::{Encapsulation, FrameKind, OVER_IPV4};
use polypath_core::liveness::LivenessConfig;
use polypath_core::packet::{self, Ecn};
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::tariff::Tariffs;
use polypath_core::time::Duration;

use crate::address::Source;
use crate::event::Reject;
use crate::key::PrivateKey;
use crate::session::Limits;

mod adjust;
mod fragments;
mod liveness;
mod relayed;
mod restart;
mod sizes;
mod traffic_class;
mod vectors;

const DELAY: Duration = Duration::from_millis(10);

/// Datagrams between two nodes in the order of their arrival: destination, path and bytes.
type InFlight = std::collections::BTreeMap<(Time, u64), (usize, PathId, Bytes)>;

/// A datagram of the peer or of the relay.
fn arrival_of(path: PathId, datagram: Bytes) -> Input {
    Input::Datagram {
        path,
        source: Source::from(1),
        ecn: Ecn::NotEct,
        datagram,
    }
}

/// The next event until `until`: its time, the node that it wakes, and how.
fn next_event(
    due: [Time; 2],
    in_flight: &mut InFlight,
    until: Time,
) -> Option<(Time, usize, Wake<Input>)> {
    let arrival = in_flight.keys().next().map_or(Time::MAX, |key| key.0);
    let next = due[0].min(due[1]).min(arrival);
    if next > until {
        return None;
    }
    if arrival > next {
        return Some((next, usize::from(due[1] == next), Wake::Timeout));
    }
    let (_, (to, path, datagram)) = in_flight.pop_first()?;
    Some((next, to, Wake::Input(arrival_of(path, datagram))))
}

struct Node {
    tunnel: Tunnel,
    packets: Vec<Bytes>,
    events: Vec<Event>,
    /// Those of the datagrams that it sends, but for replies.
    sent_classes: Vec<TrafficClass>,
    wire: u64,
}

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).unwrap()
}

fn node(own: &str, peer: &str) -> Node {
    node_with(
        own,
        peer,
        PolicyConfig::DuplicateAll {},
        Limits::default(),
        None,
    )
}

fn watched(own: &str, peer: &str, liveness: Option<LivenessConfig>) -> Node {
    node_with(
        own,
        peer,
        PolicyConfig::DuplicateAll {},
        Limits::default(),
        liveness,
    )
}

fn node_with(
    own: &str,
    peer: &str,
    policy: PolicyConfig,
    limits: Limits,
    liveness: Option<LivenessConfig>,
) -> Node {
    let endpoint = endpoint_config(policy, liveness);
    let session = SessionConfig {
        reachable: vec![true; 2],
        max_datagram: 1500,
        wall_clock: 1,
        limits,
        receives_ecn: true,
        ..SessionConfig::new(key(own), key(peer).public())
    };
    let entropy = Box::new(Seed(2).stream(own));
    Node {
        tunnel: Tunnel::new(&endpoint, session, entropy).unwrap(),
        packets: Vec::new(),
        events: Vec::new(),
        sent_classes: Vec::new(),
        wire: 0,
    }
}

fn endpoint_config(policy: PolicyConfig, liveness: Option<LivenessConfig>) -> EndpointConfig {
    EndpointConfig {
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        paths: 2,
        policy,
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 1024,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness,
        spacing: None,
    }
}

impl Node {
    /// Wakes it, keeps its packets and events, and returns the datagrams that it sends.
    fn wake(&mut self, now: Time, wake: Wake<Input>) -> Vec<(PathId, Bytes)> {
        let mut datagrams = Vec::new();
        step(&mut self.tunnel, now, wake, &mut |output| match output {
            Output::Datagram {
                path,
                datagram,
                traffic_class,
            } => {
                self.sent_classes.push(traffic_class);
                datagrams.push((path, datagram));
            }
            Output::Reply { path, datagram } => datagrams.push((path, datagram)),
            Output::Packet(packet) => self.packets.push(packet),
            Output::Event(event) => self.events.push(event),
            Output::Authenticated { .. }
            | Output::RelayAuthenticated { .. }
            | Output::PacketTooBig { .. }
            | Output::Session(_)
            | Output::Relay { .. } => {}
        });
        datagrams
    }
}

/// Wakes `nodes[who]` and delivers its datagrams to the other node after `DELAY`, recursively.
fn exchange(nodes: &mut [Node; 2], now: Time, who: usize, wake: Wake<Input>) {
    let datagrams = nodes[who].wake(now, wake);
    for (path, datagram) in datagrams {
        nodes[who].wire += datagram.len() as u64 + 28;
        let input = arrival_of(path, datagram);
        exchange(nodes, now + DELAY, 1 - who, Wake::Input(input));
    }
}

fn udp_packet(number: u8) -> Bytes {
    let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).udp(1000, 2000);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[number; 200]).unwrap();
    bytes.into()
}

#[test]
fn packets_are_delivered_once_and_events_report_their_size_on_the_wire() {
    let mut nodes = [node("a", "b"), node("b", "a")];
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    assert!(nodes.iter().all(|node| node.tunnel.is_established()));
    let start = Time::ZERO + Duration::from_secs(1);
    let before = nodes[0].wire;
    nodes[0].events.clear();
    for number in 0..20 {
        let packet = Wake::Input(Input::Packet(udp_packet(number)));
        exchange(&mut nodes, start + DELAY * u64::from(number), 0, packet);
    }
    let expected: Vec<Bytes> = (0..20).map(udp_packet).collect();
    assert_eq!(nodes[1].packets, expected);
    let reported: u64 = nodes[0]
        .events
        .iter()
        .map(|event| match event {
            Event::FrameOut { len, .. } => u64::from(*len),
            _ => 0,
        })
        .sum();
    assert_eq!(reported, nodes[0].wire - before);
    let duplicates = nodes[1].events.iter().filter(|event| {
        matches!(
            event,
            Event::Dropped {
                reason: DropReason::Duplicate,
                ..
            }
        )
    });
    assert_eq!(duplicates.count(), 20);
}

/// Due packet pairs reach the datagram limit of the keys: the handshake starts in the same wake.
#[test]
fn the_deadline_advances_when_due_frames_exhaust_the_keys() {
    let limits = Limits {
        rekey_after_count: 2,
        ..Limits::default()
    };
    let policy = PolicyConfig::probe_and_switch(0);
    let mut nodes = [("a", "b"), ("b", "a")].map(|(a, b)| node_with(a, b, policy, limits, None));
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    let mut now = Time::ZERO + Duration::from_secs(1);
    for number in 0..5 {
        let packet = Wake::Input(Input::Packet(udp_packet(number)));
        exchange(&mut nodes, now, 0, packet);
        for _ in 0..3 {
            now = nodes[0].tunnel.deadline().unwrap().at.max(now);
            exchange(&mut nodes, now, 0, Wake::Timeout);
            let next = nodes[0].tunnel.deadline().unwrap();
            assert!(next.at > now, "{next:?} at {now}");
        }
    }
    assert!(nodes[0].tunnel.counters().established > 5);
}

#[test]
fn packets_other_than_ip_are_counted() {
    let mut node = [node("a", "b"), node("b", "a")];
    let packet = Wake::Input(Input::Packet(Bytes::from_static(b"no packet")));
    exchange(&mut node, Time::ZERO, 0, packet);
    let reason = DropReason::NotIp;
    assert_eq!(node[0].events, [Event::Dropped { reason, len: 9 }]);
}

#[test]
fn malformed_frames_are_counted() {
    let mut nodes = [node("a", "b"), node("b", "a")];
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    let mut sealed = None;
    let now = Time::ZERO + Duration::from_secs(1);
    nodes[0].tunnel.session.seal(
        now,
        PathId(0),
        b"no frame",
        TrafficClass::DEFAULT,
        &mut |output| {
            if let session::Output::Send { datagram, .. } = output {
                sealed = Some(datagram);
            }
        },
    );
    let input = arrival_of(PathId(0), sealed.unwrap());
    exchange(&mut nodes, now, 1, Wake::Input(input));
    assert_eq!(nodes[1].tunnel.counters().rejected(Reject::Malformed), 1);
    assert!(nodes[1].packets.is_empty());
}
