//! The bytes that the overlay adds to a packet, captured on a link as tcpdump does (packet(7)).

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::UdpSocket;
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use socket2::{Domain, Protocol, Socket, Type};

use crate::testbed::{Overlay, Testbed};

/// The length of the packets in bytes, headers included.
pub(crate) const LEN: usize = 1000;
/// The number of packets.
const COUNT: usize = 100;
/// `ETH_P_ALL` in network byte order.
const ALL_PROTOCOLS: i32 = 0x0003_u16.to_be() as i32;

/// The IP packets of all interfaces, without Ethernet headers, from now on.
pub(crate) fn capture(namespace: &Namespace) -> Socket {
    let open = || -> io::Result<Socket> {
        let protocol = Protocol::from(ALL_PROTOCOLS);
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
        socket.set_read_timeout(Some(Duration::from_millis(500)))?;
        socket.set_recv_buffer_size(1 << 20)?;
        Ok(socket)
    };
    namespace.run(open).unwrap()
}

/// The captured IP packets from port 7001, while any are captured; bounded, since heartbeats go on.
pub(crate) fn packets(mut socket: &Socket) -> impl Iterator<Item = Vec<u8>> {
    let mut buffer = [0; 2000];
    let next = move || {
        let len = socket.read(&mut buffer).ok()?;
        Some(buffer[..len].to_vec())
    };
    let is_from_node = |packet: &Vec<u8>| {
        let header = if packet[0] >> 4 == 4 { 20 } else { 40 };
        packet.get(header..header + 2) == Some(&7001_u16.to_be_bytes()[..])
    };
    std::iter::from_fn(next).take(10_000).filter(is_from_node)
}

/// The number of IP packets of each length from port 7001, until `is_complete`.
fn lengths(
    socket: &Socket,
    is_complete: impl Fn(&BTreeMap<usize, usize>) -> bool,
) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for packet in packets(socket) {
        *found.entry(packet.len()).or_default() += 1;
        if is_complete(&found) {
            break;
        }
    }
    found
}

/// A sender and a receiver that the overlay connects, whose packets the first node sends one by
/// one.
pub(crate) fn connected(testbed: &Testbed) -> [UdpSocket; 2] {
    let bind = |address| move || UdpSocket::bind(address);
    let receiver = testbed.b.run(bind("10.77.0.2:6000")).unwrap();
    receiver
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let sender = testbed.a.run(bind("10.77.0.1:6000")).unwrap();
    let payload = [7; LEN - 28];
    // Connected once the first arrives.
    sender.send_to(&payload, "10.77.0.2:6000").unwrap();
    receiver.recv(&mut [0; LEN]).unwrap();
    // Or the kernel shows datagrams that a busy node sends together as one packet.
    let one_by_one = ["link", "set", "dev", "p1", "gso_max_segs", "1"];
    testbed.a.ip(&one_by_one).unwrap();
    [sender, receiver]
}

fn check(testbed: &Testbed, overlay: Overlay, overhead: usize) {
    let [sender, _receiver] = connected(testbed);
    let payload = [7; LEN - 28];
    let capture = capture(&testbed.b);
    for _ in 0..COUNT {
        sender.send_to(&payload, "10.77.0.2:6000").unwrap();
    }
    let wanted = LEN + overhead;
    let found = lengths(&capture, |found| found.get(&wanted) == Some(&COUNT));
    println!("{overhead} B of overhead: packets by length {found:?}");
    let near = found.range(LEN..LEN + 150);
    assert_eq!(near.collect::<Vec<_>>(), [(&wanted, &COUNT)]);
    overlay.finish();
}

#[test]
fn a_packet_has_60_bytes_of_overhead_over_ipv4() {
    let Some((testbed, _router)) = Testbed::with_router() else {
        return;
    };
    let overlay = Overlay::over_router(&testbed);
    check(&testbed, overlay, 60);
}

#[test]
fn a_packet_has_80_bytes_of_overhead_over_ipv6() {
    let Some((testbed, router)) = Testbed::with_router() else {
        return;
    };
    let overlay = Overlay::over_router_by_ipv6(&testbed, &router);
    check(&testbed, overlay, 80);
}
