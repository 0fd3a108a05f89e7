use polypath_core::packet::{Dscp, TrafficClass};
use std::io::Write;
use std::iter;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time;

use polypath_core::frame::PathId;
use polypath_core::units::Rate;
use polypath_session::address::Source;
use polypath_session::datagram::{INITIATION, INITIATION_LEN, OVERHEAD, TRANSPORT};
use polypath_session::entropy::BoxedEntropy;
use polypath_session::key::{PrivateKey, PublicKey};
use polypath_session::relay::RelayConfig;
use polypath_session::session::{self, Limits, Session, SessionConfig};

use super::*;
use crate::config::relay::RelayedNode;
use crate::keys::SystemEntropy;
use crate::udp::filter::Handshakes;
use crate::udp::flood::MANY_PER_SECOND;
use crate::udp::traffic_class::tests::{receive_class, received, set_class};

/// Bytes of a frame that takes some 10 ms at the rate of the path.
const LONG: usize = 4_900;
const RATE: Rate = Rate::from_mbits(4);

fn key() -> PrivateKey {
    PrivateKey::generate(&mut SystemEntropy).unwrap()
}

/// A node that consists only of its session with the relay.
struct Node {
    key: PrivateKey,
    peer: PublicKey,
    session: Session,
    socket: UdpSocket,
    relay: SocketAddr,
}

impl Node {
    fn new(private_key: PrivateKey, peer: PublicKey, relay: SocketAddr) -> Self {
        let config = SessionConfig {
            reachable: vec![true],
            max_datagram: MAX_DATAGRAM,
            wall_clock: crate::clock::wall_ns(),
            limits: Limits::default(),
            ..SessionConfig::new(private_key.clone(), peer)
        };
        let socket = UdpSocket::bind((relay.ip(), 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self {
            key: private_key,
            peer,
            session: Session::new(config, Box::new(SystemEntropy)),
            socket,
            relay,
        }
    }

    fn wake(&mut self, now: Time, wake: Wake<session::Input>) {
        let (socket, relay) = (&self.socket, self.relay);
        step(&mut self.session, now, wake, &mut |output| {
            if let session::Output::Send { datagram, .. }
            | session::Output::Reply { datagram, .. } = output
            {
                socket.send_to(&datagram, relay).unwrap();
            }
        });
    }

    /// Sends a frame to the other node.
    fn send(&mut self, now: Time, frame: Vec<u8>) {
        let seal = session::Input::Seal {
            path: PathId(0),
            frame: frame.into(),
            traffic_class: TrafficClass::DEFAULT,
        };
        self.wake(now, Wake::Input(seal));
    }

    fn turn(&mut self, now: Time) {
        if self.session.deadline().is_some_and(|due| due.at <= now) {
            self.wake(now, Wake::Timeout);
        }
        let mut buffer = [0; 2000];
        while let Ok(len) = self.socket.recv(&mut buffer) {
            let (path, datagram) = (PathId(0), buffer[..len].to_vec().into());
            let source = Source::RELAYED;
            let input = session::Input::Datagram {
                path,
                source,
                datagram,
            };
            self.wake(now, Wake::Input(input));
        }
    }
}

/// A path of a relay, and its two nodes, which have joined.
fn joined(clock: Clock) -> (RelayPath, [Node; 2]) {
    joined_at("127.0.0.1:0", true, clock)
}

fn joined_at(local: &str, copy_dscp: bool, clock: Clock) -> (RelayPath, [Node; 2]) {
    let (own, keys) = (key(), [key(), key()]);
    let publics = keys.each_ref().map(PrivateKey::public);
    let node = |(name, public_key): (&str, PublicKey)| RelayedNode {
        name: name.to_owned(),
        public_key,
    };
    let config = RelayedPath {
        name: "one".to_owned(),
        local: local.parse().unwrap(),
        rate: RATE,
        nodes: ["a", "b"].into_iter().zip(publics).map(node).collect(),
        interface: None,
        copy_dscp,
    };
    let socket = PathSocket::open(&config.socket()).unwrap();
    let (local, public) = (socket.local().unwrap(), own.public());
    let relay = RelayConfig {
        private_key: own,
        nodes: publics,
        max_datagram: MAX_DATAGRAM,
        rate: RATE,
        limits: Limits::default(),
        receives_ecn: true,
    };
    let entropy = || Box::new(SystemEntropy) as BoxedEntropy;
    let relay = Relay::new(&relay, [entropy(), entropy()]);
    let mut path = RelayPath::new(&config, socket, relay, clock);
    let mut nodes = keys.map(|key| Node::new(key, public, local));
    for _ in 0..200 {
        for node in &mut nodes {
            node.turn(clock.now());
        }
        path.receive(100).unwrap();
        let is_up = |node: &Node| node.session.is_established();
        if path.stats().nodes.iter().all(|node| node.established) && nodes.iter().all(is_up) {
            return (path, nodes);
        }
        sleep(time::Duration::from_millis(10));
    }
    panic!("they do not join");
}

#[test]
fn datagrams_before_a_timer_keep_their_times() {
    const COUNT: u64 = 12;
    let _quiet = crate::test_lock::exclusive();
    let clock = Clock::starting_now();
    let (mut path, mut nodes) = joined(clock);
    for _ in 0..COUNT {
        nodes[0].send(clock.now(), vec![1; LONG]);
        sleep(time::Duration::from_millis(10));
    }
    // A relay that reads it so late that a timer is due first.
    let due = path.deadline().expect("it looks after its sessions").at;
    path.handle_timeout(due.max(clock.now())).unwrap();
    path.receive(100).unwrap();
    let a = &path.stats().nodes[0];
    let counted = (a.forwarded.packets, a.dropped["rate"]);
    assert_eq!(counted, (COUNT, 0), "{a:?}");
}

#[test]
fn datagrams_are_forwarded_with_their_mark_and_unless_forbidden_their_dscp() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        if let Err(error) = UdpSocket::bind(local) {
            // The runner captures what the print macros write.
            let _ = writeln!(io::stderr(), "skipped without {local}: {error}");
            continue;
        }
        for copy_dscp in [true, false] {
            let clock = Clock::starting_now();
            let (mut path, mut nodes) = joined_at(local, copy_dscp, clock);
            receive_class(&nodes[1].socket);
            for dscp in [Dscp::EF, Dscp::DEFAULT, Dscp::MAX] {
                // The network has marked it (RFC 3168).
                set_class(&nodes[0].socket, dscp.traffic_class() | 3);
                let before = path.stats().nodes[0].forwarded.packets;
                nodes[0].send(clock.now(), vec![1; 100]);
                path.receive(100).unwrap();
                assert_eq!(path.stats().nodes[0].forwarded.packets, before + 1);
                let expected = if copy_dscp { dscp } else { Dscp::DEFAULT };
                // After any hellos.
                let mut datagrams = iter::repeat_with(|| received(&nodes[1].socket));
                let forwarded = datagrams.find(|datagram| datagram.len == 100 + OVERHEAD);
                let class = forwarded.map(|datagram| datagram.class);
                assert_eq!(class, Some(expected.traffic_class() | 3), "{local}: {dscp}");
            }
        }
    }
}

#[test]
fn during_a_flood_nodes_are_forwarded_and_can_reconnect() {
    let _quiet = crate::test_lock::exclusive();
    let clock = Clock::starting_now();
    let (mut path, mut nodes) = joined(clock);
    let target = path.local;
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let flood = |path: &mut RelayPath| {
        // Not more in a burst than the socket holds.
        for _ in 0..MANY_PER_SECOND.div_ceil(100) {
            for _ in 0..100 {
                stranger.send_to(&[TRANSPORT; 100], target).unwrap();
            }
            path.receive(200).unwrap();
        }
        let read = path.stats().rejected["unknown-index"];
        path.guard();
        read
    };
    let read = flood(&mut path);
    assert!(read >= MANY_PER_SECOND);
    assert_eq!(flood(&mut path), read, "the kernel drops them");
    assert_eq!(path.stats().kernel_dropped, read);
    nodes[0].send(clock.now(), vec![1; 100]);
    path.receive(100).unwrap();
    assert_eq!(path.stats().nodes[0].forwarded.packets, 1);
    // The second node restarts at another address.
    let [_, gone] = nodes;
    let mut again = Node::new(gone.key.clone(), gone.peer, target);
    drop(gone);
    for _ in 0..200 {
        again.turn(clock.now());
        path.receive(100).unwrap();
        let came = again.socket.local_addr().ok();
        if path.stats().nodes[1].address == came {
            return;
        }
        sleep(time::Duration::from_millis(10));
    }
    panic!("it does not join");
}

/// An attacker spoofs the address of a node, whose datagrams all pass the filter. Before, each second
/// halved the share of handshakes that strangers were left, down to one in 65536: a node that had
/// moved could not join.
#[test]
fn a_flood_from_the_address_of_a_node_leaves_strangers_their_share() {
    const READ: u64 = 25_000;
    let _quiet = crate::test_lock::exclusive();
    let (mut path, nodes) = joined(Clock::starting_now());
    let mut initiation = vec![0; INITIATION_LEN];
    initiation[0] = INITIATION;
    let mut second = |source, until: u64| {
        while path.stats().rejected["bad-mac"] < until {
            for _ in 0..1_000 {
                let datagram = initiation.clone().into();
                let input = Input {
                    source,
                    datagram,
                    traffic_class: TrafficClass::DEFAULT,
                };
                path.wake(path.last, Wake::Input(input));
            }
        }
        path.guard();
        path.flood.handshakes()
    };
    for (node, seconds) in nodes.iter().zip([1, 2]) {
        let source = node.socket.local_addr().unwrap();
        assert_eq!(second(source, READ * seconds), Handshakes::All);
    }
    let stranger = "127.0.0.1:9".parse().unwrap();
    assert_eq!(second(stranger, READ * 3), Handshakes::OneIn(2));
}
