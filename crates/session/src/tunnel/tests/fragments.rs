//! Packets that travel in fragments over three paths.

use super::traffic_class::packet_of;
use super::*;
use polypath_core::packet::{Dscp, Ecn};
use polypath_core::policy::DiversityConfig;

/// A node with three paths, of which any two restore a packet.
fn splitting(own: &str, peer: &str) -> Node {
    let policy = PolicyConfig::Diversity(DiversityConfig {
        recovery: Some(1),
        ..DiversityConfig::default()
    });
    let endpoint = EndpointConfig {
        paths: 3,
        ..endpoint_config(policy, None)
    };
    let session = SessionConfig {
        reachable: vec![true; 3],
        wall_clock: 1,
        receives_ecn: true,
        ..SessionConfig::new(key(own), key(peer).public())
    };
    let entropy = Box::new(Seed(2).stream(own));
    Node {
        tunnel: Tunnel::new(&endpoint, session, entropy).unwrap(),
        ..node(own, peer)
    }
}

/// Two nodes with a session.
fn established() -> [Node; 2] {
    let mut nodes = [splitting("a", "b"), splitting("b", "a")];
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    nodes[0].sent_classes.clear();
    nodes
}

/// Sends a packet from the first node; the datagrams of a path arrive as `change` returns them.
fn carry(
    nodes: &mut [Node; 2],
    packet: &Bytes,
    change: impl Fn(PathId) -> Option<Ecn>,
) -> Vec<Bytes> {
    let now = Time::ZERO + Duration::from_secs(1);
    let sent = nodes[0].wake(now, Wake::Input(Input::Packet(packet.clone())));
    assert_eq!(sent.len(), 3);
    for (path, datagram) in sent {
        let Some(ecn) = change(path) else { continue };
        let arrival = Input::Datagram {
            path,
            source: Source::from(1),
            ecn,
            datagram,
        };
        nodes[1].wake(now, Wake::Input(arrival));
    }
    std::mem::take(&mut nodes[1].packets)
}

#[test]
fn a_packet_survives_the_loss_of_any_path() {
    let mut nodes = established();
    for lost in 0..3 {
        let packet = udp_packet(lost);
        let arrived = carry(&mut nodes, &packet, |path| {
            (path.0 != lost).then_some(Ecn::NotEct)
        });
        assert_eq!(arrived, [packet]);
    }
    let packet = udp_packet(9);
    let arrived = carry(&mut nodes, &packet, |path| {
        (path.0 == 0).then_some(Ecn::NotEct)
    });
    assert!(arrived.is_empty());
}

#[test]
fn datagrams_of_fragments_have_the_class_of_their_packet_and_their_marks_reach_it() {
    for version in [packet::IpVersion::V4, packet::IpVersion::V6] {
        for marked in [None, Some(0), Some(1)] {
            let mut nodes = established();
            let packet = packet_of(Dscp::EF, version);
            let mark = |path: PathId| {
                Some(if Some(path.0) == marked {
                    Ecn::Ce
                } else {
                    Ecn::Ect0
                })
            };
            let arrived = carry(&mut nodes, &packet, mark);
            let class = TrafficClass {
                dscp: Dscp::EF,
                ecn: Ecn::Ect0,
            };
            assert_eq!(nodes[0].sent_classes, [class; 3]);
            let ecn: Vec<Ecn> = arrived.iter().map(|packet| packet::ecn(packet)).collect();
            let expected = if marked.is_some() { Ecn::Ce } else { Ecn::Ect0 };
            assert_eq!(ecn, [expected], "{version:?}, {marked:?}");
        }
    }
}
