//! Datagrams of an application at a UDP port of the first node.

use std::net::UdpSocket;
use std::time::Duration;

use crate::testbed::{Overlay, Testbed};

/// Sends datagrams from the application of the first node to one of the second at `address`, and an
/// answer back.
fn exchange(testbed: &Testbed, address: &'static str) {
    let near = testbed.a.run(|| UdpSocket::bind("127.0.0.1:0")).unwrap();
    let far = testbed.b.run(move || UdpSocket::bind(address)).unwrap();
    let mut buffer = vec![0; 65_535];
    let wait = Duration::from_millis(300);
    near.set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    far.set_read_timeout(Some(wait)).unwrap();
    // The second and the third are longer than the links carry.
    for len in [1200, 3000, 9000] {
        let datagram: Vec<u8> = (0..len).map(|at: u32| at.to_le_bytes()[0]).collect();
        let mut attempts = 0;
        let (len, from) = loop {
            assert!(attempts < 50, "{len} B do not arrive");
            attempts += 1;
            near.send_to(&datagram, "127.0.0.1:5000").unwrap();
            if let Ok(received) = far.recv_from(&mut buffer) {
                break received;
            }
        };
        assert_eq!(buffer[..len], datagram[..]);
        // Copies that were sent while the session was established.
        while far.recv(&mut buffer[..]).is_ok() {}
        far.send_to(&datagram, from).unwrap();
        let len = near.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..len], datagram[..]);
    }
}

#[test]
fn datagrams_longer_than_the_links_carry_cross_between_udp_ports() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let overlay = Overlay::with_udp_port(&testbed, false);
    exchange(&testbed, "127.0.0.1:6000");
    let [near, far] = overlay.finish();
    assert_eq!([near.tun.refused, far.tun.refused], [0, 0]);
}

#[test]
fn datagrams_cross_between_a_udp_port_and_a_device() {
    let Some(testbed) = Testbed::new() else {
        return;
    };
    let overlay = Overlay::with_udp_port(&testbed, true);
    exchange(&testbed, "10.77.0.2:6000");
    let [near, _] = overlay.finish();
    // The device has IPv6, and its host sends router solicitations.
    assert!(near.tun.to_applications.packets >= 3);
}
