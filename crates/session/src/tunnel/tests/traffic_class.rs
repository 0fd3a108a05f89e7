//! The traffic class of datagrams: the DSCP and the ECN field of the packets in them.

use super::*;
use etherparse::Ipv4Header;
use polypath_core::packet::{Dscp, Ecn};

/// An ECN-capable UDP packet of this class, over IPv4 or IPv6.
pub(super) fn packet_of(dscp: Dscp, version: packet::IpVersion) -> Bytes {
    let ecn = Ecn::Ect0;
    packet_with(TrafficClass { dscp, ecn }, version)
}

fn packet_with(class: TrafficClass, version: packet::IpVersion) -> Bytes {
    let mut bytes = Vec::new();
    let builder = match version {
        packet::IpVersion::V4 => PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64),
        packet::IpVersion::V6 => PacketBuilder::ipv6([1; 16], [2; 16], 64),
    };
    builder
        .udp(1000, 2000)
        .write(&mut bytes, &[7; 200])
        .unwrap();
    let byte = class.byte();
    match version {
        packet::IpVersion::V4 => {
            bytes[1] = byte;
            let header = Ipv4Header::from_slice(&bytes).unwrap().0;
            bytes[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
        }
        packet::IpVersion::V6 => {
            bytes[0] |= byte >> 4;
            bytes[1] |= byte << 4;
        }
    }
    bytes.into()
}

fn classes_of_sent(node: &mut Node) -> Vec<TrafficClass> {
    std::mem::take(&mut node.sent_classes)
}

fn are_default(classes: &[TrafficClass]) -> bool {
    classes.iter().all(|class| class.is_default())
}

#[test]
fn datagrams_have_the_traffic_class_of_the_packet_in_them() {
    let mut nodes = [node("a", "b"), node("b", "a")];
    // It waits for the keys.
    let early = packet_of(Dscp::EF, packet::IpVersion::V4);
    exchange(
        &mut nodes,
        Time::ZERO,
        0,
        Wake::Input(Input::Packet(early.clone())),
    );
    assert_eq!(classes_of_sent(&mut nodes[0]), []);
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    let sent = classes_of_sent(&mut nodes[0]);
    let classes: Vec<_> = sent.iter().filter(|class| !class.is_default()).collect();
    let of_queued = TrafficClass {
        dscp: Dscp::EF,
        ecn: Ecn::NotEct,
    };
    assert_eq!(
        classes, [&of_queued; 2],
        "on both paths, before it is known what the peer does"
    );
    assert!(sent.len() > classes.len(), "handshake and hellos");
    assert!(are_default(&classes_of_sent(&mut nodes[1])));
    let mut delivered = vec![early];
    let now = Time::ZERO + Duration::from_secs(1);
    for class in (0..=u8::MAX).map(TrafficClass::of_byte) {
        for version in [packet::IpVersion::V4, packet::IpVersion::V6] {
            let packet = packet_with(class, version);
            delivered.push(packet.clone());
            exchange(&mut nodes, now, 0, Wake::Input(Input::Packet(packet)));
            assert_eq!(classes_of_sent(&mut nodes[0]), [class; 2]);
        }
    }
    assert_eq!(nodes[1].packets, delivered);
}

#[test]
fn datagrams_without_a_packet_have_the_default() {
    let mut nodes = [("a", "b"), ("b", "a")]
        .map(|(own, peer)| watched(own, peer, Some(LivenessConfig::default())));
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    let (until, mut now) = (Time::ZERO + Duration::from_secs(5), Time::ZERO);
    while now < until {
        let due = nodes
            .each_ref()
            .map(|node| node.tunnel.deadline().unwrap().at);
        now = due[0].min(due[1]).max(now);
        exchange(&mut nodes, now, usize::from(due[1] < due[0]), Wake::Timeout);
    }
    let is_heartbeat = |event: &&Event| {
        let heartbeat = FrameKind::Heartbeat;
        matches!(event, Event::FrameOut { kind, .. } if *kind == heartbeat)
    };
    for node in &mut nodes {
        assert!(node.events.iter().filter(is_heartbeat).count() > 5);
        let sent = classes_of_sent(node);
        assert!(sent.len() > 10 && are_default(&sent));
    }
}

/// A link or a device on the way may set the ECN field of a datagram to any codepoint.
#[test]
fn the_packet_has_the_mark_of_its_datagram() {
    let mut nodes = [node("a", "b"), node("b", "a")];
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    let now = Time::ZERO + Duration::from_secs(1);
    let (mut dropped, fields) = (0, [0, 1, 2, 3]);
    for (inner, outer) in fields.into_iter().flat_map(|i| fields.map(|o| (i, o))) {
        for version in [packet::IpVersion::V4, packet::IpVersion::V6] {
            let class = TrafficClass::of_byte(0xb8 | inner);
            let sent = Input::Packet(packet_with(class, version));
            for (path, datagram) in nodes[0].wake(now, Wake::Input(sent)) {
                let arrival = Input::Datagram {
                    path,
                    source: Source::from(1),
                    ecn: Ecn::of_traffic_class(outer),
                    datagram,
                };
                nodes[1].wake(now, Wake::Input(arrival));
            }
            let delivered = std::mem::take(&mut nodes[1].packets);
            let expected = class.ecn.decapsulated(Ecn::of_traffic_class(outer));
            let expected = expected.map(|ecn| packet_with(TrafficClass { ecn, ..class }, version));
            dropped += u64::from(expected.is_none());
            assert_eq!(delivered, Vec::from_iter(expected), "{inner} in {outer}");
        }
    }
    let rejected = nodes[1].tunnel.counters().rejected(Reject::WrongMark);
    assert_eq!((dropped, rejected), (2, 2 * dropped), "each of two copies");
}

#[test]
fn datagrams_are_ecn_capable_only_if_the_peer_receives_the_field() {
    for receives_ecn in [true, false] {
        let session = SessionConfig {
            reachable: vec![true; 2],
            wall_clock: 1,
            receives_ecn,
            ..SessionConfig::new(key("b"), key("a").public())
        };
        let endpoint = endpoint_config(PolicyConfig::DuplicateAll {}, None);
        let mut nodes = [node("a", "b"), node("b", "a")];
        let entropy = Box::new(Seed(2).stream("b"));
        nodes[1].tunnel = Tunnel::new(&endpoint, session, entropy).unwrap();
        exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
        let packet = packet_of(Dscp::EF, packet::IpVersion::V4);
        let now = Time::ZERO + Duration::from_secs(1);
        for who in [0, 1] {
            nodes[who].sent_classes.clear();
            exchange(
                &mut nodes,
                now,
                who,
                Wake::Input(Input::Packet(packet.clone())),
            );
            let ecn = if receives_ecn { Ecn::Ect0 } else { Ecn::NotEct };
            let dscp = Dscp::EF;
            assert_eq!(
                classes_of_sent(&mut nodes[who]),
                [TrafficClass { dscp, ecn }; 2]
            );
        }
        assert_eq!(
            nodes.map(|node| node.packets),
            [(); 2].map(|()| vec![packet.clone()])
        );
    }
}
