//! Tunnels whose configuration changes at run time.

use polypath_core::endpoint::Adjustment;

use super::*;

fn packet(nodes: &mut [Node; 2], now: Time, number: u8) {
    let packet = Wake::Input(Input::Packet(udp_packet(number)));
    exchange(nodes, now, 0, packet);
}

#[test]
fn the_session_continues_under_another_policy() {
    let mut nodes = [node("a", "b"), node("b", "a")];
    exchange(&mut nodes, Time::ZERO, 0, Wake::Timeout);
    let now = Time::ZERO + Duration::from_secs(1);
    packet(&mut nodes, now, 0);
    let established = nodes[0].tunnel.established_at();
    assert!(established.is_some());
    let to = endpoint_config(PolicyConfig::single_path(1), None);
    let to = Input::Adjust(Adjustment::new(&to).unwrap());
    let before = nodes[0].wire;
    nodes[0].wake(now, Wake::Input(to));
    packet(&mut nodes, now, 1);
    assert_eq!(nodes[1].packets, [udp_packet(0), udp_packet(1)]);
    let length = udp_packet(1).len() + PACKET_OVERHEAD + OVER_IPV4 as usize;
    assert_eq!(nodes[0].wire - before, length as u64, "one copy");
    assert_eq!(nodes[0].tunnel.established_at(), established);
    assert_eq!(nodes[0].tunnel.counters().established, 1);
    assert_eq!(nodes[0].tunnel.endpoint().policy().name(), "single-path");
}

#[test]
fn a_handshake_starts_when_the_peer_address_becomes_known() {
    let mut nodes = [node("a", "b"), node("b", "a")];
    nodes[0].tunnel.session.forget_addresses();
    let now = Time::ZERO + Duration::from_millis(1);
    assert_eq!(nodes[0].wake(now, Wake::Timeout), []);
    assert!(nodes[0].tunnel.deadline().unwrap().at > now);
    let input = Wake::Input(Input::PeerAddressKnown(PathId(1)));
    assert_eq!(nodes[0].wake(now, input), []);
    assert_eq!(nodes[0].tunnel.deadline().unwrap().at, now);
    exchange(&mut nodes, now, 0, Wake::Timeout);
    assert!(nodes.iter().all(|node| node.tunnel.is_established()));
    let beyond = Wake::Input(Input::PeerAddressKnown(PathId(2)));
    assert_eq!(nodes[0].wake(now + DELAY * 2, beyond), []);
}
