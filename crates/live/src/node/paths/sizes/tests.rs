use super::*;
use crate::clock::Clock;
use crate::config::{PathConfig, Watch};
use crate::control::change::{PathChange, Rebinding, Remote};
use crate::node::silence_detector::SilenceDetector;
use crate::udp::PathSocket;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::Time;

const FIRST: PathId = PathId(0);
/// What the headers of IPv4 and UDP and the overlay's add to a packet, in bytes.
const HEADERS: u16 = 28 + 51;

/// A path that waits for its peer, over an interface of this MTU.
fn paths(mtu: u32) -> Paths {
    let config = PathConfig {
        name: "one".to_owned(),
        local: Some("127.0.0.1:0".parse().unwrap()),
        remote: None,
        relay: None,
        interface: None,
    };
    let mut socket = PathSocket::open(&config).unwrap();
    socket.set_mtu(mtu);
    let silence_detector = SilenceDetector::new(1, PolicyConfig::DuplicateAll {}, Watch::default());
    let clock = Clock::starting_now();
    let mut paths = Paths::new(
        &[config],
        vec![socket],
        2000,
        clock,
        silence_detector,
        false,
    );
    paths.carry_for(TunMtu {
        mtu: 1421,
        is_given: false,
    });
    paths
}

fn change() -> PathChange {
    PathChange {
        path: FIRST,
        name: "one".to_owned(),
        interface: None,
        remote: None,
        socket: None,
        mtu: None,
        interface_status: None,
    }
}

/// The room that the machine is told, and whether the path goes by another way.
fn told(paths: &mut Paths, is_wanted: bool) -> (u16, bool) {
    match paths.find_sizes(is_wanted)[..] {
        [
            Input::InterfaceMtu {
                path: FIRST,
                mtu,
                rerouted,
            },
        ] => (mtu, rerouted),
        ref inputs => panic!("{inputs:?}"),
    }
}

#[test]
fn a_path_that_moves_is_told_to_once() {
    let mut paths = paths(1500);
    assert_eq!(told(&mut paths, true), (1421, false));
    let renamed = change();
    paths.change(renamed, Time::ZERO);
    assert_eq!(told(&mut paths, true), (1421, false));
    let remote = Some(Remote::At("127.0.0.1:9".parse().unwrap()));
    let addressed = PathChange { remote, ..change() };
    paths.change(addressed, Time::ZERO);
    assert_eq!(told(&mut paths, true), (1421, true));
    assert_eq!(told(&mut paths, true), (1421, false));
    let config = PathConfig {
        name: "one".to_owned(),
        local: Some("127.0.0.1:0".parse().unwrap()),
        remote: None,
        relay: None,
        interface: Some("lo".to_owned()),
    };
    let socket = Some(PathSocket::open(&config).unwrap());
    let bound = PathChange { socket, ..change() };
    paths.change(bound, Time::ZERO);
    assert!(told(&mut paths, true).1);
    let interface = Some(Box::new(Rebinding {
        old: config.clone(),
        new: config,
    }));
    let moved = PathChange {
        interface,
        ..change()
    };
    paths.change(moved, Time::ZERO);
    assert!(told(&mut paths, true).1);
}

#[test]
fn another_mtu_of_the_interface_is_another_room() {
    let mut paths = paths(1500);
    let narrow = |mtu| PathChange {
        mtu: Some(mtu),
        ..change()
    };
    assert_eq!(told(&mut paths, true).0, 1421);
    assert_eq!(told(&mut paths, false).0, 0);
    paths.change(narrow(1400), Time::ZERO);
    assert_eq!(told(&mut paths, true), (1400 - HEADERS, false));
}

#[test]
fn nothing_longer_is_tried_than_what_the_tun_device_sends() {
    assert_eq!(told(&mut paths(9000), true).0, 1421);
    assert_eq!(told(&mut paths(1499), true).0, 1420);
}

#[test]
fn a_path_is_left_to_the_system_only_where_the_file_asks_for_more_than_it_carries() {
    for (mtu, is_given, room) in [
        (1421, false, 1421 - 100),
        (1421, true, 0),
        (1321, true, 1321),
    ] {
        let mut paths = paths(1400);
        paths.carry_for(TunMtu { mtu, is_given });
        assert_eq!(told(&mut paths, true).0, room);
        let whole = &paths.all[0].whole;
        let narrow = (mtu > 1321).then_some((1321, !is_given));
        assert_eq!(whole.narrow, narrow, "so the log has it");
    }
}

/// A path on whose peer padded heartbeats are tried.
fn asked(mtu: u32) -> Paths {
    let mut paths = paths(mtu);
    told(&mut paths, true);
    paths.all[0].note_heartbeat(1200);
    assert!(!needs_fragments(&mut paths, 1172), "the heartbeat itself");
    paths
}

fn needs_fragments(paths: &mut Paths, datagram: usize) -> bool {
    paths.all[0].needs_fragments(&vec![0; datagram])
}

#[test]
fn what_was_found_holds_while_more_is_tried_but_for_what_tries_it() {
    let mut paths = asked(1500);
    for (state, packet) in [(MtuState::Complete, 1221), (MtuState::Search, 1221)] {
        paths.note_size(FIRST, state, (Some(packet), Some(packet)));
        assert!(!needs_fragments(&mut paths, 1221 + 51));
        assert!(needs_fragments(&mut paths, 1280 + 51));
    }
    paths.all[0].note_heartbeat(1500);
    assert!(!needs_fragments(&mut paths, 1472));
    assert!(needs_fragments(&mut paths, 1472), "the next is none");
    paths.all[0].note_heartbeat(60);
    assert!(needs_fragments(&mut paths, 1472));
}

#[test]
fn what_holds_during_a_search_says_what_goes_in_fragments() {
    let mut paths = asked(1500);
    assert!(!needs_fragments(&mut paths, 1280 + 51), "nothing failed");
    paths.note_size(FIRST, MtuState::Search, (None, Some(1149)));
    assert!(needs_fragments(&mut paths, 1280 + 51), "the first search");
    paths.note_size(FIRST, MtuState::Complete, (Some(1217), Some(1217)));
    paths.note_size(FIRST, MtuState::Search, (None, Some(1149)));
    assert!(needs_fragments(&mut paths, 1280 + 51), "after a burst");
    assert!(needs_fragments(&mut paths, 1150 + 51));
    assert!(!needs_fragments(&mut paths, 1149 + 51));
    paths.note_size(FIRST, MtuState::Search, (None, None));
    assert!(!needs_fragments(&mut paths, 1280 + 51), "another way");
}

#[test]
fn before_anything_is_found_the_interface_says_what_goes_in_fragments() {
    let mut narrow = asked(1300);
    assert!(!needs_fragments(&mut narrow, 1300 - 28));
    assert!(needs_fragments(&mut narrow, 1300 - 28 + 1));
    // For a peer that answers none the system sees to it.
    narrow.note_size(FIRST, MtuState::Error, (None, None));
    assert!(!needs_fragments(&mut narrow, 1300 - 28 + 1));
}

#[test]
fn what_was_found_is_said_to_be_lost_only_where_it_is() {
    let mut paths = asked(1500);
    let found = |paths: &mut Paths| {
        paths.note_size(FIRST, MtuState::Complete, (Some(1421), Some(1421)));
        assert!(paths.all[0].whole.is_lost(None), "a black hole");
        assert!(!paths.all[0].whole.is_lost(Some(1421)), "a raise");
    };
    found(&mut paths);
    told(&mut paths, true);
    assert!(paths.all[0].whole.is_lost(None), "nothing has changed");
    let mtu = Some(1400);
    paths.change(PathChange { mtu, ..change() }, Time::ZERO);
    told(&mut paths, true);
    assert!(!paths.all[0].whole.is_lost(None), "another room");
    found(&mut paths);
    let remote = Some(Remote::At("127.0.0.1:9".parse().unwrap()));
    paths.change(PathChange { remote, ..change() }, Time::ZERO);
    told(&mut paths, true);
    assert!(!paths.all[0].whole.is_lost(None), "another way");
    found(&mut paths);
    told(&mut paths, false);
    assert!(!paths.all[0].whole.is_lost(None), "nobody asks");
}

#[test]
fn what_the_network_refused_together_is_tried_again_where_it_may_not() {
    let mut paths = paths(1500);
    told(&mut paths, true);
    paths.all[0].outgoing.refuses = true;
    paths.all[0].note_heartbeat(1200);
    assert!(
        !paths.all[0].outgoing.refuses,
        "routers are not believed now"
    );
    paths.all[0].outgoing.refuses = true;
    paths.all[0].note_heartbeat(1200);
    assert!(paths.all[0].outgoing.refuses, "as before");
    paths.all[0].note_move();
    assert!(!paths.all[0].outgoing.refuses, "another way");
}

#[test]
fn a_peer_that_comes_from_another_address_comes_by_another_way() {
    let mut paths = asked(1500);
    let mut hear = |source: &str| {
        paths.note_size(FIRST, MtuState::Complete, (Some(1221), Some(1221)));
        paths.hear(FIRST, source.parse().unwrap(), Time::ZERO);
        let is_lost = paths.all[0].whole.is_lost(None);
        (paths.moved(), is_lost)
    };
    assert_eq!(hear("127.0.0.1:7"), (vec![], true));
    assert_eq!(hear("127.0.0.1:8"), (vec![], true));
    let told = Input::InterfaceMtu {
        path: FIRST,
        mtu: 1421,
        rerouted: true,
    };
    assert_eq!(hear("127.0.0.2:8"), (vec![told], false));
    assert_eq!(hear("127.0.0.2:8"), (vec![], true));
}
