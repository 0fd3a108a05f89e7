use std::net::UdpSocket;
use std::thread::sleep;
use std::time;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGsoSegment;
use polypath_core::time::Time;

use super::*;
use crate::config::OverlayAddresses;

/// An application of this host.
fn application() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let timeout = time::Duration::from_secs(5);
    socket.set_read_timeout(Some(timeout)).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// An address of this host that is free.
fn free() -> SocketAddr {
    application().1
}

fn port(number: u16, listen: Option<SocketAddr>, to: Option<SocketAddr>) -> UdpPort {
    UdpPort {
        port: number,
        listen,
        to,
        overlay: None,
    }
}

fn open(ports: &[UdpPort]) -> UdpPorts {
    try_open(ports).unwrap()
}

fn try_open(ports: &[UdpPort]) -> Result<UdpPorts, UdpPortError> {
    UdpPorts::open(ports, "udp1".to_owned(), 1440, true, Clock::starting_now())
}

/// The next packets that come from applications.
fn packets(ports: &mut UdpPorts) -> Vec<Bytes> {
    let mut packets = VecDeque::new();
    for _ in 0..500 {
        if ports.read(&mut packets).unwrap() {
            break;
        }
        sleep(time::Duration::from_millis(10));
    }
    packets.into()
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; MAX_PACKET];
    let (len, from) = socket.recv_from(&mut buffer).unwrap();
    buffer.truncate(len);
    (buffer, from)
}

#[test]
fn a_datagram_and_its_answer_cross_two_nodes() {
    let (sender, _) = application();
    let (receiver, at_receiver) = application();
    let listen = free();
    let mut near = open(&[port(7, Some(listen), None)]);
    let mut far = open(&[port(7, None, Some(at_receiver))]);
    sender.send_to(b"question", listen).unwrap();
    for packet in packets(&mut near) {
        far.write(&packet);
    }
    far.flush();
    let (question, far_socket) = receive(&receiver);
    assert_eq!(question, b"question");
    receiver.send_to(b"answer", far_socket).unwrap();
    for packet in packets(&mut far) {
        near.write(&packet);
    }
    near.flush();
    assert_eq!(receive(&sender), (b"answer".to_vec(), listen));
    for (stats, sent, received) in [(near.stats(), 8, 6), (far.stats(), 6, 8)] {
        let volumes = [stats.from_applications, stats.to_applications];
        let counts = volumes.map(|volume| (volume.packets, volume.bytes));
        assert_eq!(counts, [(1, 28 + sent), (1, 28 + received)]);
        assert_eq!(stats.refused, 0);
    }
}

#[test]
fn datagrams_of_a_batch_and_empty_ones_are_packets_of_their_own() {
    let (sender, _) = application();
    let listen = free();
    let mut near = open(&[port(7, Some(listen), None)]);
    let (program, at_program) = application();
    let mut far = open(&[port(7, None, Some(at_program))]);
    let mut expected: Vec<Vec<u8>> = vec![vec![], vec![], vec![4; 9000]];
    for datagram in &expected {
        sender.send_to(datagram, listen).unwrap();
    }
    // One call, as GSO merges them: the last is shorter.
    setsockopt(&sender, UdpGsoSegment, &100).unwrap();
    sender.send_to(&[5; 350], listen).unwrap();
    expected.extend([vec![5; 100], vec![5; 100], vec![5; 100], vec![5; 50]]);
    let mut received = Vec::new();
    for _ in 0..1000 {
        for packet in packets(&mut near) {
            assert!(packet.len() <= 1440, "{} B", packet.len());
            far.write(&packet);
        }
        far.flush();
        program.set_nonblocking(true).unwrap();
        let mut buffer = vec![0; MAX_PACKET];
        while let Ok(len) = program.recv(&mut buffer) {
            received.push(buffer[..len].to_vec());
        }
        if received.len() == expected.len() {
            break;
        }
    }
    assert_eq!(received, expected);
    assert_eq!(far.stats().to_applications.packets, 7);
}

#[test]
fn another_sender_is_not_carried_where_only_answers_are() {
    let (other, _) = application();
    let (receiver, at_receiver) = application();
    let mut ports = open(&[port(7, None, Some(at_receiver))]);
    let address = ports.ports[0].socket.local().unwrap();
    assert!(address.ip().is_loopback(), "as the application is");
    other.send_to(b"hello", address).unwrap();
    receiver.send_to(b"answer", address).unwrap();
    let packet = packets(&mut ports).remove(0);
    let answer = PeerDatagrams::default().read(Time::ZERO, &packet);
    assert_eq!(&answer.unwrap().unwrap().payload[..], b"answer");
}

/// The identifications of all ports differ, and so do the datagrams that their fragments make.
#[test]
fn a_lost_fragment_of_one_port_is_not_replaced_by_that_of_another() {
    let (sender, _) = application();
    let [first, second] = [free(), free()];
    let mut near = open(&[port(7, Some(first), None), port(8, Some(second), None)]);
    sender.send_to(&[1; 2000], first).unwrap();
    let mut fragments = packets(&mut near);
    sender.send_to(&[2; 2000], second).unwrap();
    let others = packets(&mut near);
    assert_eq!((fragments.len(), others.len()), (2, 2));
    fragments.truncate(1);
    let mut datagrams = PeerDatagrams::default();
    assert_eq!(datagrams.read(Time::ZERO, &fragments[0]), Ok(None));
    assert_eq!(datagrams.read(Time::ZERO, &others[1]), Ok(None));
    let whole = datagrams.read(Time::ZERO, &others[0]).unwrap().unwrap();
    assert_eq!((whole.port, &whole.payload[..]), (8, &[2; 2000][..]));
    // Nor are those of different datagrams with one identification.
    let mut forged = fragments[0].to_vec();
    let late = &others[1];
    forged[4..6].copy_from_slice(&late[4..6]);
    assert_eq!(datagrams.read(Time::ZERO, &forged.into()), Ok(None));
    assert_eq!(datagrams.read(Time::ZERO, late), Err(NotUdp));
}

/// Datagrams of other ports, before an application is known, and packets that are no UDP.
#[test]
fn what_no_application_wants_is_counted() {
    let (sender, _) = application();
    let [first, second] = [free(), free()];
    let mut near = open(&[port(7, Some(first), None), port(8, Some(second), None)]);
    sender.send_to(b"hello", second).unwrap();
    let packet = packets(&mut near).remove(0);
    let mut far = open(&[port(7, Some(free()), None), port(8, Some(free()), None)]);
    far.write(&packet);
    let mut other = open(&[port(7, None, Some(first))]);
    other.write(&packet);
    other.write(&Bytes::from_static(b"nothing"));
    assert_eq!([far, other].map(|ports| ports.stats().refused), [1, 2]);
}

#[test]
fn a_busy_port_does_not_keep_others_waiting() {
    let (sender, _) = application();
    let [busy, other] = [free(), free()];
    let mut ports = open(&[port(7, Some(busy), None), port(8, Some(other), None)]);
    // Of different lengths, or they would be merged.
    for len in 1..50 {
        sender.send_to(&vec![0; len], busy).unwrap();
    }
    sender.send_to(b"other", other).unwrap();
    let mut read = VecDeque::new();
    for _ in 0..2 {
        assert!(ports.read(&mut read).unwrap());
    }
    let mut datagrams = PeerDatagrams::default();
    let numbers = read
        .iter()
        .map(|packet| datagrams.read(Time::ZERO, packet).unwrap().unwrap().port);
    assert!(numbers.collect::<Vec<_>>().contains(&8));
}

#[test]
fn packets_have_the_addresses_of_a_peer_with_a_tun_device() {
    let (sender, _) = application();
    let listen = free();
    let [local, peer] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];
    let overlay = Some(OverlayAddresses { local, peer });
    let port = UdpPort {
        overlay,
        ..port(7, Some(listen), None)
    };
    let mut ports = open(&[port]);
    sender.send_to(b"hello", listen).unwrap();
    let packet = packets(&mut ports).remove(0);
    let header = etherparse::Ipv4Header::from_slice(&packet).unwrap().0;
    assert_eq!(
        [header.source, header.destination],
        [local.octets(), peer.octets()]
    );
    // What the peer's host sends to others is not for the application.
    ports.write(&packet);
    assert_eq!(ports.stats().refused, 1);
}

#[test]
fn an_address_in_use_is_named_with_its_key() {
    let (_holder, held) = application();
    let ports = [port(7, Some(free()), None), port(8, Some(held), None)];
    let text = try_open(&ports).unwrap_err().to_string();
    assert!(
        text.starts_with("`node.udp.1.listen`: another program uses"),
        "{text}"
    );
}
