use super::*;
use crate::clock::Clock;
use crate::config::PathConfig;
use std::io::Write;
use std::net::UdpSocket;

mod program;

const KEY: u32 = 0x8123_4567;

/// A transport datagram for the key `index`, or a datagram of another type.
fn datagram(kind: u8, index: u32) -> Vec<u8> {
    addressed(vec![kind; 60], index)
}

/// A response to the initiation `index`.
fn response(index: u32) -> Vec<u8> {
    addressed(vec![RESPONSE; RESPONSE_LEN], index)
}

fn addressed(mut datagram: Vec<u8>, index: u32) -> Vec<u8> {
    datagram[RECEIVER_OFFSET..][..4].copy_from_slice(&index.to_be_bytes());
    datagram
}

fn open(ip: &str) -> Option<PathSocket> {
    let local = SocketAddr::new(ip.parse().unwrap(), 0);
    let path = PathConfig::at(&local.to_string(), None);
    match PathSocket::open(&path) {
        Ok(socket) => Some(socket),
        Err(error) if path.local().is_ipv6() => {
            // The test runner captures the output of the print macros.
            let _ = writeln!(io::stderr(), "skipped without IPv6: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether `datagram`, sent from `source`, arrives at `socket`.
fn comes(source: &UdpSocket, socket: &mut PathSocket, datagram: &[u8]) -> bool {
    source.send_to(datagram, socket.local().unwrap()).unwrap();
    let mut buffer = [0; 200];
    let received = socket.receive(&mut buffer, Clock::starting_now()).unwrap();
    received.is_some()
}

#[test]
fn only_strangers_are_dropped() {
    for ip in ["127.0.0.1", "::1"] {
        let Some(mut socket) = open(ip) else { continue };
        let [first, peer, stranger] = [(); 3].map(|()| UdpSocket::bind((ip, 0)).unwrap());
        let admitted = Admitted {
            peers: [&first, &peer]
                .map(|peer| peer.local_addr().unwrap())
                .into(),
            keys: vec![1, KEY, 7],
            pending: Some(9),
        };
        socket.attach_filter(&admitted, Handshakes::All).unwrap();
        for junk in [
            datagram(TRANSPORT, KEY + 1),
            datagram(0, KEY),
            datagram(9, KEY),
            vec![TRANSPORT],
            vec![INITIATION; INITIATION_LEN + 1],
            vec![INITIATION; RESPONSE_LEN],
            response(KEY),
            vec![COOKIE_REPLY; COOKIE_REPLY_LEN + 1],
            Vec::new(),
        ] {
            assert!(!comes(&stranger, &mut socket, &junk), "{ip}: {junk:?}");
            assert!(comes(&first, &mut socket, &junk), "{ip}: {junk:?}");
            assert!(comes(&peer, &mut socket, &junk), "{ip}: {junk:?}");
        }
        assert_eq!(socket.kernel_drops().unwrap(), 9);
        for good in [
            datagram(TRANSPORT, KEY),
            datagram(TRANSPORT, 7),
            vec![INITIATION; INITIATION_LEN],
            vec![COOKIE_REPLY; COOKIE_REPLY_LEN],
            response(9),
        ] {
            assert!(comes(&stranger, &mut socket, &good), "{ip}: {good:?}");
        }
        socket.detach_filter().unwrap();
        assert!(comes(&stranger, &mut socket, &datagram(0, 0)));
    }
}

#[test]
fn without_a_peer_address_only_its_keys_pass() {
    let mut socket = open("127.0.0.1").unwrap();
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    let keys = vec![KEY];
    let peers = Vec::new();
    let admitted = Admitted {
        peers,
        keys,
        ..Admitted::default()
    };
    socket.attach_filter(&admitted, Handshakes::All).unwrap();
    assert!(comes(&source, &mut socket, &datagram(TRANSPORT, KEY)));
    assert!(!comes(&source, &mut socket, &datagram(TRANSPORT, 0)));
}

#[test]
fn another_address_or_port_is_a_stranger() {
    let mut socket = open("127.0.0.1").unwrap();
    let peer = UdpSocket::bind("127.0.0.2:0").unwrap();
    let address = peer.local_addr().unwrap();
    let same_port = UdpSocket::bind(("127.0.0.3", address.port())).unwrap();
    let same_ip = UdpSocket::bind("127.0.0.2:0").unwrap();
    let admitted = Admitted {
        peers: vec![address],
        ..Admitted::default()
    };
    socket.attach_filter(&admitted, Handshakes::All).unwrap();
    let junk = datagram(TRANSPORT, KEY);
    assert!(comes(&peer, &mut socket, &junk));
    assert!(!comes(&same_port, &mut socket, &junk));
    assert!(!comes(&same_ip, &mut socket, &junk));
}

#[test]
fn few_handshakes_of_strangers_pass_and_all_of_the_peer() {
    const SHARE: u32 = 16;
    const COUNT: u32 = 64 * SHARE;
    let mut socket = open("127.0.0.1").unwrap();
    let [peer, stranger] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let admitted = Admitted {
        peers: vec![peer.local_addr().unwrap()],
        keys: vec![KEY],
        pending: Some(KEY + 1),
    };
    socket
        .attach_filter(&admitted, Handshakes::OneIn(SHARE))
        .unwrap();
    let initiation = vec![INITIATION; INITIATION_LEN];
    let mut come = |source| {
        (0..COUNT)
            .filter(|_| comes(source, &mut socket, &initiation))
            .count()
    };
    assert_eq!(come(&peer), COUNT as usize);
    let few = come(&stranger);
    // Of 64 that are expected the standard deviation is 8.
    assert!((16..=112).contains(&few), "{few}");
    assert!(comes(&stranger, &mut socket, &datagram(TRANSPORT, KEY)));
    assert!(comes(&stranger, &mut socket, &response(KEY + 1)));
}
