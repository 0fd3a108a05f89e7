use std::net::{SocketAddr, UdpSocket};

use polypath_core::event::Event;
use polypath_core::packet::TrafficClass;
use polypath_core::repair::RepairConfig;
use polypath_session::tunnel::Input;

use super::*;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::node::paths::retired_sockets::IN_A_ROW;
use crate::node::paths::silence_detector::SilenceDetector;
use crate::udp::PathSocket;
use crate::udp::traffic_class::CopiedFields;
use crate::udp::traffic_class::tests::{pair, received_class};
use bytes::Bytes;

const FIRST: PathId = PathId(0);

fn config(remote: Option<SocketAddr>) -> PathConfig {
    PathConfig {
        name: "one".to_owned(),
        remote,
        ..PathConfig::at("127.0.0.1:0", None)
    }
}

fn paths(remote: Option<SocketAddr>, clock: Clock) -> (Paths, SocketAddr) {
    let config = config(remote);
    let socket = PathSocket::open(&config).unwrap();
    let local = socket.local().unwrap();
    let silence_detector =
        SilenceDetector::new(1, PolicyConfig::DuplicateAll {}, LivenessSetting::default());
    (
        Paths::new(&[config], vec![socket], 100, clock, silence_detector, false),
        local,
    )
}

fn change(remote: Option<Remote>, socket: Option<PathSocket>) -> PathChange {
    PathChange {
        path: FIRST,
        name: "renamed".to_owned(),
        interface: None,
        remote,
        socket,
        copied: None,
        mtu: None,
        interface_status: None,
    }
}

/// Expects datagrams with these first bytes, and no others.
fn expect(paths: &mut Paths, clock: Clock, expected: &[u8]) {
    let mut read = Vec::new();
    // A datagram without a timestamp of the kernel has the time at which it is read, and is found
    // by the next call.
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        while paths.next_arrival(clock.now()).unwrap().is_some() {
            match paths.take().unwrap().input {
                Input::Datagram { datagram, .. } => read.push(datagram[0]),
                _ => unreachable!("paths carry datagrams"),
            }
        }
        if read.len() >= expected.len() {
            break;
        }
    }
    assert_eq!(read, expected);
}

#[test]
fn datagrams_to_the_old_socket_are_received_for_a_while() {
    let clock = Clock::starting_now();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut paths, old) = paths(Some(peer.local_addr().unwrap()), clock);
    peer.send_to(&[1], old).unwrap();
    let socket = PathSocket::open(&config(None)).unwrap();
    let new = socket.local().unwrap();
    paths.change(change(None, Some(socket)), clock.now());
    peer.send_to(&[2], old).unwrap();
    peer.send_to(&[3], new).unwrap();
    expect(&mut paths, clock, &[1, 2, 3]);
    // Datagrams are sent from the new one.
    paths.send(FIRST, Bytes::from_static(&[4]), TrafficClass::DEFAULT);
    let (_, from) = peer.recv_from(&mut [0; 8]).unwrap();
    assert_eq!(from, new);
    let stats = &paths.stats(clock.now(), |_| None)[0];
    assert_eq!((&*stats.name, stats.local), ("renamed", Some(new)));
    assert_eq!(stats.received.packets, 3);
}

#[test]
fn the_old_socket_is_closed_after_the_grace() {
    let clock = Clock::starting_now();
    let (mut paths, old) = paths(None, clock);
    let socket = PathSocket::open(&config(None)).unwrap();
    paths.change(change(None, Some(socket)), clock.now());
    expect(&mut paths, clock, &[]);
    UdpSocket::bind(old).unwrap_err();
    paths.all[0].retired.all[0].until = clock.now();
    expect(&mut paths, clock, &[]);
    UdpSocket::bind(old).unwrap();
}

#[test]
fn the_old_socket_is_closed_at_once_if_its_address_is_gone() {
    let clock = Clock::starting_now();
    let (mut paths, old) = paths(None, clock);
    let nowhere = PathSocket::nowhere(&config(None)).unwrap();
    let interface_status = InterfaceStatus {
        interface: None,
        missing: Some(Missing::Address(old.ip())),
    };
    let change = PathChange {
        interface_status: Some(interface_status),
        ..change(None, Some(nowhere))
    };
    paths.change(change, clock.now());
    UdpSocket::bind(old).unwrap();
}

#[test]
fn a_flood_of_the_old_socket_does_not_delay_the_new_one() {
    let clock = Clock::starting_now();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut paths, old) = paths(None, clock);
    let socket = PathSocket::open(&config(None)).unwrap();
    let new = socket.local().unwrap();
    paths.change(change(None, Some(socket)), clock.now());
    for _ in 0..3 * IN_A_ROW {
        peer.send_to(&[1], old).unwrap();
    }
    peer.send_to(&[2], new).unwrap();
    let buffer = &mut [0; 8];
    let mut take = || {
        let received = paths.all[0].receive_waiting(buffer, clock).unwrap();
        received.map(|_| buffer[0])
    };
    let taken: Vec<_> = (0..=IN_A_ROW).map(|_| take()).collect();
    assert_eq!(taken.last(), Some(&Some(2)));
    // The remaining datagrams are received, too.
    assert_eq!(
        (0..2 * IN_A_ROW).filter(|_| take() == Some(1)).count(),
        2 * IN_A_ROW as usize
    );
    assert_eq!(take(), None);
}

#[test]
fn a_second_change_does_not_close_the_first_old_socket() {
    let clock = Clock::starting_now();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut paths, first) = paths(None, clock);
    let mut addresses = vec![first];
    for _ in 0..2 {
        let socket = PathSocket::open(&config(None)).unwrap();
        addresses.push(socket.local().unwrap());
        paths.change(change(None, Some(socket)), clock.now());
    }
    for (number, address) in (1..).zip(&addresses) {
        peer.send_to(&[number], address).unwrap();
    }
    expect(&mut paths, clock, &[1, 2, 3]);
    paths.all[0].retired.all[0].until = clock.now();
    expect(&mut paths, clock, &[]);
    UdpSocket::bind(addresses[0]).unwrap();
    UdpSocket::bind(addresses[1]).unwrap_err();
    peer.send_to(&[4], addresses[1]).unwrap();
    expect(&mut paths, clock, &[4]);
}

#[test]
fn the_last_four_old_sockets_with_an_address_are_read() {
    let clock = Clock::starting_now();
    let (mut paths, first) = paths(None, clock);
    let mut addresses = vec![first];
    for _ in 0..5 {
        let nowhere = PathSocket::nowhere(&config(None)).unwrap();
        paths.change(change(None, Some(nowhere)), clock.now());
        let socket = PathSocket::open(&config(None)).unwrap();
        addresses.push(socket.local().unwrap());
        paths.change(change(None, Some(socket)), clock.now());
    }
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    for (number, address) in (1..).zip(&addresses) {
        peer.send_to(&[number], address).unwrap();
    }
    expect(&mut paths, clock, &[2, 3, 4, 5, 6]);
    assert_eq!(paths.all[0].retired.all.len(), 4);
    UdpSocket::bind(first).unwrap();
    UdpSocket::bind(addresses[1]).unwrap_err();
}

#[test]
fn an_address_that_is_no_longer_configured_is_learned() {
    let clock = Clock::starting_now();
    let [here, there] = [1, 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
    let (mut paths, _) = paths(Some(here.local_addr().unwrap()), clock);
    paths.change(change(Some(Remote::Learned), None), clock.now());
    paths.send(FIRST, Bytes::from_static(&[1]), TrafficClass::DEFAULT);
    assert_eq!(here.recv(&mut [0; 8]).unwrap(), 1);
    let elsewhere = there.local_addr().unwrap();
    paths.authenticated(FIRST, elsewhere, clock.now());
    paths.send(FIRST, Bytes::from_static(&[2]), TrafficClass::DEFAULT);
    assert_eq!(there.recv(&mut [0; 8]).unwrap(), 1);
    let back = Some(Remote::At(here.local_addr().unwrap()));
    paths.change(change(back, None), clock.now());
    paths.authenticated(FIRST, elsewhere, clock.now());
    paths.send(FIRST, Bytes::from_static(&[3]), TrafficClass::DEFAULT);
    assert_eq!(here.recv(&mut [0; 8]).unwrap(), 1, "it is configured");
}

#[test]
fn the_fields_of_the_traffic_class_are_copied_that_the_file_permits() {
    for (local, offload) in [
        ("127.0.0.1:0", false),
        ("127.0.0.1:0", true),
        ("[::1]:0", true),
    ] {
        let Some((socket, peer)) = pair(local) else {
            continue;
        };
        let config = PathConfig {
            remote: Some(peer.local_addr().unwrap()),
            ..PathConfig::at(local, None)
        };
        let clock = Clock::starting_now();
        let silence_detector =
            SilenceDetector::new(1, PolicyConfig::DuplicateAll {}, LivenessSetting::default());
        let (configs, sockets) = (&[config], vec![socket]);
        let mut paths = Paths::new(configs, sockets, 1500, clock, silence_detector, offload);
        let sent = [184, 187, 0, 138, 138, 137, 2];
        let copied = |dscp, ecn| Some(CopiedFields { dscp, ecn });
        for (copied, expected) in [
            (None, sent),
            (copied(false, false), [0; 7]),
            (None, [0; 7]),
            (copied(true, false), sent.map(|class| class & 0xfc)),
            (copied(false, true), sent.map(|class| class & 3)),
            (copied(true, true), sent),
        ] {
            let change = PathChange {
                copied,
                ..change(None, None)
            };
            paths.change(change, clock.now());
            for class in sent.map(TrafficClass::of_byte) {
                paths.send(FIRST, vec![1; 900].into(), class);
            }
            paths.flush();
            let received = expected.map(|_| received_class(&peer));
            assert_eq!(received, expected, "{local} {copied:?}");
        }
    }
}

#[test]
fn a_socket_keeps_its_address_on_another_interface() {
    let clock = Clock::starting_now();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut paths, local) = paths(None, clock);
    let on = |interface: Option<&str>| PathConfig {
        interface: interface.map(str::to_owned),
        ..config(None)
    };
    let to = |new: &str, old: Option<&str>| PathChange {
        interface: Some(Box::new(Rebinding {
            old: on(old),
            new: on(Some(new)),
        })),
        ..change(None, None)
    };
    paths.rebind(&[to("lo", None)]).unwrap();
    peer.send_to(&[1], local).unwrap();
    expect(&mut paths, clock, &[1]);
    let error = paths.rebind(&[to("no-such-if", Some("lo"))]).unwrap_err();
    assert!(error.to_string().contains("no-such-if"), "{error}");
    peer.send_to(&[2], local).unwrap();
    expect(&mut paths, clock, &[2]);
}

/// Each handshake states again that the peer does not report.
#[test]
fn losses_that_cannot_be_repaired_are_logged_once_for_each_peer_and_policy() {
    let (mut paths, _) = paths(None, Clock::starting_now());
    let in_time = PolicyConfig::InTime(RepairConfig::default());
    let mut is_logged = |change: &dyn Fn(&mut Paths)| {
        change(&mut paths);
        let is_logged = paths.version_log.is_repair_logged;
        paths.handle_event(Time::ZERO, Event::RepairUnavailable);
        assert!(paths.version_log.is_repair_logged);
        is_logged
    };
    let adjust = |policy| move |paths: &mut Paths| paths.adjust(policy, LivenessSetting::default());
    assert!(!is_logged(&|_| {}));
    assert!(is_logged(&|_| {}));
    assert!(is_logged(&adjust(in_time)), "an unrelated reload");
    assert!(!is_logged(&adjust(PolicyConfig::DuplicateAll {})));
    assert!(!is_logged(&Paths::peer_restarted));
}
