use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};

use etherparse::PacketBuilder;
use polypath_core::class::{Class, Classes, PortRange, Treatment};
use polypath_core::endpoint::{Adjustment, EndpointConfig, ProbingConfig};
use polypath_core::event::Event;
use polypath_core::frame::{Encapsulation, OVER_IPV4, PathId};
use polypath_core::liveness::LivenessConfig;
use polypath_core::machine::{Machine, step};
use polypath_core::packet::{Dscp, Ecn, PacketMeta};
use polypath_core::policy::{DiversityConfig, PolicyConfig};
use polypath_core::repair::RepairConfig;
use polypath_core::rng::{Seed, Stream};
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::address::Source;
use crate::key::PrivateKey;
use crate::session::{Limits, SessionConfig};
use crate::tunnel::{self, Tunnel};

const LEN: Duration = Duration::from_secs(4);

fn config(policy: PolicyConfig, liveness: bool) -> EndpointConfig {
    EndpointConfig {
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        // With two paths nothing is split.
        paths: if policy.needed(3) > 1 { 3 } else { 2 },
        policy,
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 64,
        first_sequence: 7,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: liveness.then(LivenessConfig::default),
        spacing: None,
    }
}

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut Seed(1).stream(name)).unwrap()
}

/// A tunnel, and the receiver of its entries.
fn recorded(config: &EndpointConfig, own: &str, peer: &str) -> (Tunnel, Receiver<Entry>) {
    let session = SessionConfig {
        reachable: vec![true; config.paths.into()],
        max_datagram: 1500,
        wall_clock: 1,
        limits: Limits::default(),
        ..SessionConfig::new(key(own), key(peer).public())
    };
    let (entries, recording) = channel();
    let entropy = Box::new(Seed(2).stream(own));
    let tunnel = Tunnel::new(config, session, entropy).unwrap();
    let tunnel = tunnel.with_recorder(Box::new(move |entry| entries.send(entry).unwrap()));
    (tunnel, recording)
}

/// Two tunnels over a network that loses, delays and reorders, with packets of applications on
/// both.
struct Run {
    tunnels: [Tunnel; 2],
    in_flight: BTreeMap<(Time, u64), (usize, tunnel::Input)>,
    sent: u64,
    loss: f64,
    /// The longest datagram that is delivered, in bytes.
    longest: usize,
    stream: Stream,
}

impl Run {
    fn run(&mut self) {
        for who in [0, 1] {
            for _ in 0..self.stream.below(150) {
                let packet = packet(&mut self.stream);
                let at = Time(self.stream.below(LEN.0));
                self.deliver_at(at, who, tunnel::Input::Packet(packet));
            }
            let other = PolicyConfig::DuplicateAcks { path: 1 };
            for path in [0, 1].map(PathId) {
                let interface = |rerouted| tunnel::Input::InterfaceMtu {
                    path,
                    mtu: 1300,
                    rerouted,
                };
                self.deliver_at(Time::ZERO, who, interface(false));
                let moved = Time(self.stream.below(LEN.0));
                self.deliver_at(moved, who, interface(true));
            }
            let to = Adjustment::new(&config(other, self.stream.chance(0.5))).unwrap();
            let adjusted = Time(self.stream.below(LEN.0));
            self.deliver_at(adjusted, who, tunnel::Input::Adjust(to));
            self.deliver_at(adjusted, who, tunnel::Input::PathReachable(PathId(1)));
            let late = Time(self.stream.below(LEN.0));
            let input = tunnel::Input::DriverBehind(late + Duration::from_millis(30));
            self.deliver_at(late, who, input);
        }
        loop {
            let due = |who: usize| self.tunnels[who].deadline().map_or(Time::MAX, |d| d.at);
            let arrival = self.in_flight.keys().next().map_or(Time::MAX, |key| key.0);
            let next = due(0).min(due(1)).min(arrival);
            if next > Time::ZERO + LEN {
                return;
            }
            if arrival == next {
                let (_, (to, input)) = self.in_flight.pop_first().unwrap();
                self.wake(next, to, Wake::Input(input));
            } else {
                self.wake(next, usize::from(due(1) == next), Wake::Timeout);
            }
        }
    }

    fn deliver_at(&mut self, at: Time, to: usize, input: tunnel::Input) {
        self.sent += 1;
        self.in_flight.insert((at, self.sent), (to, input));
    }

    fn wake(&mut self, now: Time, who: usize, wake: Wake<tunnel::Input>) {
        let mut datagrams = Vec::new();
        step(
            &mut self.tunnels[who],
            now,
            wake,
            &mut |output| match output {
                tunnel::Output::Datagram {
                    path,
                    datagram,
                    traffic_class,
                } => datagrams.push((path, traffic_class.ecn, datagram)),
                tunnel::Output::Reply { path, datagram } => {
                    datagrams.push((path, Ecn::NotEct, datagram));
                }
                _ => {}
            },
        );
        for (path, sent, datagram) in datagrams {
            // The second path fails halfway.
            let is_cut = path == PathId(1) && now > Time::ZERO + LEN.scale(1, 2);
            let is_cut = is_cut || datagram.len() > self.longest;
            if is_cut || self.stream.chance(self.loss) {
                continue;
            }
            let delay = Duration::from_millis(10) + Duration(self.stream.below(20_000_000));
            let source = Source::from(1);
            let input = tunnel::Input::Datagram {
                path,
                source,
                // Routers mark a tenth of what is ECN-capable.
                ecn: if sent.is_capable() && self.stream.chance(0.1) {
                    Ecn::Ce
                } else {
                    sent
                },
                datagram,
            };
            self.deliver_at(now + delay, 1 - who, input);
        }
    }
}

/// A TCP segment with or without payload, or a UDP packet; half of them are ECN-capable.
fn packet(stream: &mut Stream) -> Bytes {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64);
    let payload = vec![0; usize::try_from(stream.below(1300)).unwrap()];
    match stream.below(3) {
        0 => builder.udp(1000, 2000).write(&mut bytes, &payload),
        1 => builder.tcp(1, 2, 3, 4).ack(5).write(&mut bytes, &[]),
        _ => builder.tcp(1, 2, 3, 4).ack(5).write(&mut bytes, &payload),
    }
    .unwrap();
    bytes[1] = u8::try_from(stream.below(2)).unwrap() * 2;
    bytes.into()
}

fn record(policy: PolicyConfig, liveness: bool, loss: f64, seed: u64) -> [Vec<Entry>; 2] {
    record_with(&config(policy, liveness), loss, seed)
}

fn record_with(config: &EndpointConfig, loss: f64, seed: u64) -> [Vec<Entry>; 2] {
    let (a, from_a) = recorded(config, "a", "b");
    let (b, from_b) = recorded(config, "b", "a");
    let mut run = Run {
        tunnels: [a, b],
        in_flight: BTreeMap::new(),
        sent: 0,
        loss,
        longest: if seed.is_multiple_of(2) { 1500 } else { 1000 },
        stream: Seed(seed).stream("run"),
    };
    run.run();
    drop(run);
    [from_a, from_b].map(|entries| entries.iter().collect())
}

fn policies() -> impl Strategy<Value = PolicyConfig> {
    let others = [
        PolicyConfig::single_path(1),
        PolicyConfig::DuplicateAcks { path: 0 },
        PolicyConfig::DuplicateAll {},
        PolicyConfig::probe_and_switch(0),
        PolicyConfig::Diversity(DiversityConfig::default()),
        fragments(),
    ];
    prop::sample::select([&others[..], &by_delay()].concat())
}

/// The policies that measure and draw, with heartbeats that are frequent enough for a short run.
fn by_delay() -> [PolicyConfig; 3] {
    let often = json!({ "least": "50 ms", "most": "100 ms", "in_guard": "20 ms" });
    let guard = json!({ "least": "10 ms", "most": "100 ms" });
    [
        json!({ "kind": "delay-centric", "guard": guard, "scope": "flow", "heartbeats": often }),
        json!({ "kind": "predictive-delay-centric", "guard": guard, "heartbeats": often }),
        json!({ "kind": "delay-growth", "hysteresis": "1 ms", "scope": "flow", "heartbeats": often }),
    ]
    .map(|policy| serde_json::from_value(policy).unwrap())
}

fn fragments() -> PolicyConfig {
    PolicyConfig::Diversity(DiversityConfig {
        recovery: Some(1),
        ..DiversityConfig::default()
    })
}

fn replay(config: &EndpointConfig, entries: &[Entry]) -> Result<(), (usize, String)> {
    let mut replay = Replay::new(config).unwrap();
    let mut checked = (0..).zip(entries);
    checked.try_for_each(|(number, entry)| replay.check(entry).map_err(|e| (number, e.to_string())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_recording_replays(
        policy in policies(),
        liveness in any::<bool>(),
        loss in 0.0_f64..0.3,
        seed in any::<u64>(),
    ) {
        for entries in record(policy, liveness, loss, seed) {
            prop_assert!(!entries.is_empty());
            // Through the file format.
            let lines: Vec<String> = entries.iter().map(|e| serde_json::to_string(e).unwrap()).collect();
            let read: Vec<Entry> = lines.iter().map(|l| serde_json::from_str(l).unwrap()).collect();
            prop_assert_eq!(&read, &entries);
            prop_assert_eq!(replay(&config(policy, liveness), &read), Ok(()));
        }
    }

    #[test]
    fn an_altered_output_is_found_at_its_position(seed in any::<u64>(), pick in any::<u64>()) {
        let policy = PolicyConfig::single_path(0);
        let [mut entries, _] = record(policy, true, 0.1, seed);
        let decided = (0..entries.len()).filter(|n| !entries[*n].outputs.is_empty());
        let decided: Vec<usize> = decided.collect();
        let altered = decided[usize::try_from(pick).unwrap_or(0) % decided.len()];
        let outputs = &mut entries[altered].outputs;
        let number = usize::try_from(pick >> 32).unwrap() % outputs.len();
        match &mut outputs[number] {
            Output::Transmit(frame) => frame.path = PathId(1 - frame.path.0),
            Output::Deliver(packet) => packet.len += 1,
            Output::Refused { limit, .. } => *limit += 1,
            event @ Output::Event(_) => *event = Output::Event(Event::Delivered { path: PathId(9), len: 0 }),
        }
        let (found, difference) = replay(&config(policy, true), &entries).unwrap_err();
        prop_assert_eq!(found, altered);
        let place = format!("decision {}: ", number + 1);
        prop_assert!(difference.starts_with(&place), "{}", difference);
    }

    #[test]
    fn arbitrary_numbers_in_a_recording_do_not_panic(
        policy in policies(),
        seed in any::<u64>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), number()), 1..20),
    ) {
        let [entries, _] = record(policy, true, 0.1, seed);
        let mut lines: Vec<Value> = entries.iter().map(|e| serde_json::to_value(e).unwrap()).collect();
        for (line, leaf, number) in changes {
            let line = &mut lines[line.index(entries.len())];
            let mut numbers = numbers(line);
            let leaf = leaf.index(numbers.len());
            *numbers[leaf] = number.into();
        }
        let mut replay = Replay::new(&config(policy, true)).unwrap();
        for line in lines {
            // Impossible values are refused by the deserializer.
            let Ok(entry) = serde_json::from_value::<Entry>(line) else { continue };
            // A difference is expected; only a panic is an error.
            let _ = replay.check(&entry);
        }
    }
}

/// Numbers at the boundaries of integer types.
fn number() -> impl Strategy<Value = u64> {
    let boundaries = [
        0,
        1,
        255,
        65_535,
        1 << 31,
        u64::from(u32::MAX),
        1 << 62,
        i64::MAX as u64,
        u64::MAX,
    ];
    prop_oneof![prop::sample::select(boundaries.to_vec()), any::<u64>()]
}

/// All numbers of a line.
fn numbers(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Number(_) => vec![value],
        Value::Array(values) => values.iter_mut().flat_map(numbers).collect(),
        Value::Object(fields) => fields.values_mut().flat_map(numbers).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => Vec::new(),
    }
}

/// A fragment that completes a packet has its shape, any other one only a length.
#[test]
fn a_recording_of_fragments_states_what_they_restore() {
    let config = config(fragments(), false);
    let mut restored = 0;
    for entries in record_with(&config, 0.1, 4) {
        assert_eq!(replay(&config, &entries), Ok(()));
        for entry in &entries {
            let Wake::Input(Input::Frame(frame)) = &entry.wake else {
                continue;
            };
            let Body::Fragment { header, payload } = &frame.body else {
                continue;
            };
            let delivers = |output: &Output<Shape>| matches!(output, Output::Deliver(_));
            if entry.outputs.iter().any(delivers) {
                assert_eq!(payload.len, u32::from(header.packet_len));
                restored += 1;
            } else {
                assert_eq!(*payload, Shape::with_len(header.fragment_len().into()));
            }
        }
    }
    assert!(restored > 50, "{restored}");
}

/// The classes depend on fields of packets, in both directions.
#[test]
fn a_recording_with_classes_replays_and_another_has_no_ports() {
    let class = |name: &str, port, treatment| Class {
        name: name.to_owned(),
        dscp: Vec::new(),
        protocol: None,
        ports: vec![PortRange::only(port)],
        treatment,
        deadline: None,
    };
    let in_time = config(PolicyConfig::InTime(RepairConfig::default()), true);
    let classified = EndpointConfig {
        classes: [
            class("bulk", 2000, Treatment::Bulk),
            class("media", 1, Treatment::Media),
        ]
        .into_iter()
        .collect(),
        ..in_time.clone()
    };
    let mut differences = 0;
    for seed in 0..8 {
        for (config, has_ports) in [(&classified, true), (&in_time, false)] {
            for entries in record_with(config, 0.1, seed) {
                let lines = entries.iter().map(|e| serde_json::to_string(e).unwrap());
                let lines: Vec<String> = lines.collect();
                assert_eq!(
                    lines.iter().any(|line| line.contains("\"ports\"")),
                    has_ports
                );
                let read = lines.iter().map(|l| serde_json::from_str(l).unwrap());
                let read: Vec<Entry> = read.collect();
                assert_eq!(replay(config, &read), Ok(()));
            }
        }
        // Without the fields, the receiver holds other packets.
        let mut without = record_with(&classified, 0.1, seed);
        for entry in without.iter_mut().flatten() {
            if let Wake::Input(Input::Frame(frame)) = &mut entry.wake {
                frame.body = frame.body.map_ref(|packet| Shape {
                    fields: None,
                    ..*packet
                });
            }
        }
        let differing = without.map(|entries| replay(&classified, &entries).is_err());
        differences += differing.iter().filter(|differs| **differs).count();
    }
    assert!(differences > 0);
}

#[test]
fn a_changed_and_a_missing_wake_are_found() {
    let policy = PolicyConfig::single_path(0);
    let [entries, _] = record(policy, true, 0.0, 1);
    let config = config(policy, true);
    let timeout = |entry: &Entry| entry.wake == Wake::Timeout && !entry.outputs.is_empty();
    let at = entries.iter().position(timeout).unwrap();
    // A timer runs at its own time however late the wake is; a packet is sent when it arrives.
    let is_packet = |entry: &Entry| matches!(entry.wake, Wake::Input(Input::Packet { .. }));
    let packet = entries.iter().position(is_packet).unwrap();
    let mut later = entries.clone();
    later[packet].at += Duration::from_nanos(1);
    assert_eq!(replay(&config, &later).unwrap_err().0, packet);
    let mut fewer = entries.clone();
    fewer.remove(at);
    let (found, difference) = replay(&config, &fewer).unwrap_err();
    assert!(found >= at, "{difference}");
    let mut other = entries;
    other[at].deadline = None;
    let (found, words) = replay(&config, &other).unwrap_err();
    assert_eq!(found, at);
    assert!(
        words.contains("next deadline: recorded never, replayed"),
        "{words}"
    );
}

#[test]
fn another_configuration_decides_differently() {
    let [entries, _] = record(PolicyConfig::DuplicateAll {}, true, 0.0, 3);
    let other = config(PolicyConfig::single_path(0), true);
    assert!(replay(&other, &entries).is_err());
}

#[test]
fn an_entry_contains_no_addresses_or_payloads() {
    let [_, entries] = record(PolicyConfig::DuplicateAll {}, false, 0.0, 4);
    let text = entries.iter().map(|e| serde_json::to_string(e).unwrap());
    let text: String = text.collect();
    // The inner addresses, in either notation.
    assert!(
        !text.contains("10.77") && !text.contains("[10,77"),
        "an address"
    );
    assert!(text.contains("\"deliver\":{\"len\":"));
}

/// Recordings from before packets had a DSCP remain valid, and so do their digests.
#[test]
fn an_entry_contains_the_dscp_of_a_packet_that_has_one() {
    for (tos, expected) in [(0, None), (3, None), (0xb8, Some("ef")), (0xfc, Some("63"))] {
        let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).udp(1, 2);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &[7; 100]).unwrap();
        bytes[1] = tos;
        let meta = packet::parse(&bytes).unwrap();
        let recorded = serde_json::to_value(meta).unwrap();
        let dscp = recorded.get("dscp").and_then(Value::as_str);
        assert_eq!(dscp, expected);
        let read: PacketMeta = serde_json::from_value(recorded).unwrap();
        assert_eq!(read, meta);
    }
}

#[test]
fn a_dscp_is_read_from_its_name_or_number() {
    let read = |text: &str| serde_json::from_str::<Dscp>(text);
    for text in ["\"ef\"", "\"46\"", "46"] {
        assert_eq!(read(text).unwrap(), Dscp::EF);
    }
    for text in ["64", "-1", "\"eff\"", "1.5", "18446744073709551615"] {
        assert!(read(text).is_err(), "{text}");
    }
    let error = read("64").unwrap_err().to_string();
    assert!(error.contains("`64`") && error.contains("af43"), "{error}");
}

#[test]
fn a_recording_of_mtu_discovery_replays() {
    let policy = PolicyConfig::single_path(0);
    let (mut found, mut refused) = (false, false);
    for seed in (1..40).step_by(2) {
        let [entries, _] = record(policy, true, 0.0, seed);
        let outputs = || entries.iter().flat_map(|entry| &entry.outputs);
        found |= outputs().any(|output| matches!(output, Output::Event(Event::PathMtu { .. })));
        refused |= outputs().any(|output| matches!(output, Output::Refused { .. }));
        assert_eq!(replay(&config(policy, true), &entries), Ok(()));
    }
    assert!(found && refused, "{found} {refused}");
}
