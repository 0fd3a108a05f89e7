//! The DSCP and the ECN field of datagrams on a link, by those of the packets in them.

use std::net::UdpSocket;

use socket2::SockRef;

use crate::overhead::{LEN, capture, connected, packets};
use crate::testbed::{Overlay, Testbed};

/// The TOS bytes of the application's packets, and of the datagrams: ef, the default, and af41 with
/// an ECN-capable transport.
const INNER: [u8; 3] = [0xb8, 0, 0x8a];
/// The number of packets of each.
const COUNT: usize = 20;

/// The TOS byte or traffic class of an IP packet.
fn class(packet: &[u8]) -> u8 {
    match packet[0] >> 4 {
        4 => packet[1],
        _ => packet[0] << 4 | packet[1] >> 4,
    }
}

fn send(sender: &UdpSocket, tos: u8) {
    SockRef::from(sender).set_tos_v4(tos.into()).unwrap();
    for _ in 0..COUNT {
        sender.send_to(&[7; LEN - 28], "10.77.0.2:6000").unwrap();
    }
}

fn check(testbed: &Testbed, overlay: Overlay, overhead: usize) {
    let [sender, _receiver] = connected(testbed);
    let capture = capture(&testbed.b);
    for tos in INNER {
        send(&sender, tos);
    }
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for packet in packets(&capture) {
        let of_kind = if packet.len() == LEN + overhead {
            &mut found
        } else {
            &mut others
        };
        of_kind.push(class(&packet));
        if found.len() == INNER.len() * COUNT && !others.is_empty() {
            break;
        }
    }
    assert_eq!(found, INNER.map(|class| [class; COUNT]).concat());
    assert!(!others.is_empty(), "no heartbeat was captured");
    assert!(others.iter().all(|class| *class == 0), "heartbeats");
    overlay.finish();
}

#[test]
fn a_datagram_over_ipv4_has_the_traffic_class_of_the_packet() {
    let Some((testbed, _router)) = Testbed::with_router() else {
        return;
    };
    let overlay = Overlay::over_router(&testbed);
    check(&testbed, overlay, 60);
}

#[test]
fn a_datagram_over_ipv6_has_the_traffic_class_of_the_packet() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    let overlay = Overlay::over_router_by_ipv6(&testbed, &router);
    check(&testbed, overlay, 80);
}
