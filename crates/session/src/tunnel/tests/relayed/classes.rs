//! The traffic class and the marks of datagrams through a relay.

use polypath_core::packet::Dscp;

use super::super::traffic_class::packet_of;
use super::*;

#[test]
fn datagrams_to_the_relay_have_the_traffic_class_of_the_packet_in_them() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.run(at(2_000));
    site.nodes[0].sent_classes.clear();
    let packet = packet_of(Dscp::EF, packet::IpVersion::V4);
    site.wake_node(at(2_000), 0, Wake::Input(Input::Packet(packet.clone())));
    // A heartbeat may be due with the packet.
    let sent = site.nodes[0].sent_classes.iter();
    let classes: Vec<_> = sent.filter(|class| !class.is_default()).collect();
    assert_eq!(classes, [&packet::traffic_class(&packet)]);
    site.run(at(2_100));
    assert_eq!(site.nodes[1].packets, [packet]);
}

/// The relay could not pass on a mark of the link to it.
#[test]
fn datagrams_to_a_relay_that_receives_no_ecn_fields_are_not_ecn_capable() {
    let mut site = Site::new();
    site.relay = relay_that(10, false);
    site.run(at(2_000));
    let packet = packet_of(Dscp::EF, packet::IpVersion::V4);
    let node = &mut site.nodes[0];
    node.sent_classes.clear();
    let sent = node.wake(at(2_000), Wake::Input(Input::Packet(packet.clone())));
    let paths = sent.iter().map(|(path, _)| *path);
    // A heartbeat may be due with the packet.
    let classes = paths.zip(node.sent_classes.iter().copied());
    let classes: BTreeMap<_, _> = classes.filter(|(_, class)| !class.is_default()).collect();
    let capable = packet::traffic_class(&packet);
    let cleared = TrafficClass {
        ecn: Ecn::NotEct,
        ..capable
    };
    assert_eq!(classes, [(DIRECT, capable), (RELAYED, cleared)].into());
}

#[test]
fn a_mark_on_the_way_to_the_relay_reaches_the_packet() {
    let mut site = Site::new();
    site.is_direct_cut = true;
    site.run(at(2_000));
    site.marks = true;
    let packet = packet_of(Dscp::EF, packet::IpVersion::V4);
    site.wake_node(at(2_000), 0, Wake::Input(Input::Packet(packet.clone())));
    site.run(at(2_100));
    let delivered = std::mem::take(&mut site.nodes[1].packets);
    let fields: Vec<Ecn> = delivered.iter().map(|packet| packet::ecn(packet)).collect();
    assert_eq!((packet::ecn(&packet), fields), (Ecn::Ect0, vec![Ecn::Ce]));
    // Its transport would not see the mark.
    site.offer(at(2_100), 7);
    site.run(at(2_200));
    assert!(site.nodes[1].packets.is_empty());
    let rejected = site.nodes[1].tunnel.counters().rejected(Reject::WrongMark);
    assert_eq!(rejected, 1);
}
