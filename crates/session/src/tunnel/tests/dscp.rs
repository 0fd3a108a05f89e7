//! The DSCP of datagrams.

use super::*;

/// A UDP packet of this class, over IPv4 or IPv6.
pub(super) fn packet_of(class: Dscp, version: packet::IpVersion) -> Bytes {
    let mut bytes = Vec::new();
    let builder = match version {
        packet::IpVersion::V4 => PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64),
        packet::IpVersion::V6 => PacketBuilder::ipv6([1; 16], [2; 16], 64),
    };
    builder
        .udp(1000, 2000)
        .write(&mut bytes, &[7; 200])
        .unwrap();
    let byte = class.traffic_class() | 2;
    match version {
        packet::IpVersion::V4 => bytes[1] = byte,
        packet::IpVersion::V6 => {
            bytes[0] |= byte >> 4;
            bytes[1] |= byte << 4;
        }
    }
    bytes.into()
}

fn classes_of_sent(node: &mut Node) -> Vec<Dscp> {
    std::mem::take(&mut node.sent_dscps)
}

#[test]
fn datagrams_have_the_dscp_of_the_packet_in_them() {
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
    let classes: Vec<_> = sent.iter().filter(|dscp| !dscp.is_default()).collect();
    assert_eq!(classes, [&Dscp::EF; 2], "on both paths");
    assert!(sent.len() > classes.len(), "handshake and hellos");
    assert!(classes_of_sent(&mut nodes[1]).iter().all(Dscp::is_default));
    let mut delivered = vec![early];
    let now = Time::ZERO + Duration::from_secs(1);
    for class in (0..=Dscp::MAX.number()).filter_map(Dscp::new) {
        for version in [packet::IpVersion::V4, packet::IpVersion::V6] {
            let packet = packet_of(class, version);
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
        assert!(sent.len() > 10 && sent.iter().all(Dscp::is_default));
    }
}
