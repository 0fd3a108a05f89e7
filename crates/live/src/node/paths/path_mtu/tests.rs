use super::*;
use crate::clock::Clock;
use crate::config::{LivenessSetting, PathConfig};
use crate::control::change::{PathChange, Rebinding, Remote};
use crate::node::paths::silence_detector::SilenceDetector;
use crate::udp::PathSocket;
use polypath_core::policy::PolicyConfig;
use polypath_core::tariff::Tariff;
use polypath_core::time::Time;

const FIRST: PathId = PathId(0);
/// The IPv4, UDP and overlay headers of a packet, in bytes.
const HEADERS: u16 = 28 + 32;

/// A path over an interface of this MTU that has no address of its peer yet.
fn paths(mtu: u32) -> Paths {
    let config = PathConfig {
        tariff: Tariff::default(),
        name: "one".to_owned(),
        local: Some("127.0.0.1:0".parse().unwrap()),
        remote: None,
        relay: None,
        interface: None,
        copy_dscp: true,
        copy_ecn: true,
    };
    let mut socket = PathSocket::open(&config).unwrap();
    socket.set_mtu(mtu);
    let silence_detector =
        SilenceDetector::new(1, PolicyConfig::DuplicateAll {}, LivenessSetting::default());
    let clock = Clock::starting_now();
    let mut paths = Paths::new(
        &[config],
        vec![socket],
        2000,
        clock,
        silence_detector,
        false,
    );
    paths.set_tun_mtu(TunMtu {
        mtu: 1440,
        is_configured: false,
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
        copied: None,
        mtu: None,
        interface_status: None,
    }
}

/// The packet MTU that the machine is notified of, and whether the route has changed.
fn notification(paths: &mut Paths, is_wanted: bool) -> (u16, bool) {
    match paths.set_mtu_discovery(is_wanted)[..] {
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
fn a_changed_route_is_notified_once() {
    let mut paths = paths(1500);
    assert_eq!(notification(&mut paths, true), (1440, false));
    let renamed = change();
    paths.change(renamed, Time::ZERO);
    assert_eq!(notification(&mut paths, true), (1440, false));
    let remote = Some(Remote::At("127.0.0.1:9".parse().unwrap()));
    let addressed = PathChange { remote, ..change() };
    paths.change(addressed, Time::ZERO);
    assert_eq!(notification(&mut paths, true), (1440, true));
    assert_eq!(notification(&mut paths, true), (1440, false));
    let config = PathConfig {
        tariff: Tariff::default(),
        name: "one".to_owned(),
        local: Some("127.0.0.1:0".parse().unwrap()),
        remote: None,
        relay: None,
        interface: Some("lo".to_owned()),
        copy_dscp: true,
        copy_ecn: true,
    };
    let socket = Some(PathSocket::open(&config).unwrap());
    let bound = PathChange { socket, ..change() };
    paths.change(bound, Time::ZERO);
    assert!(notification(&mut paths, true).1);
    let interface = Some(Box::new(Rebinding {
        old: config.clone(),
        new: config,
    }));
    let moved = PathChange {
        interface,
        ..change()
    };
    paths.change(moved, Time::ZERO);
    assert!(notification(&mut paths, true).1);
}

#[test]
fn the_packet_mtu_follows_the_mtu_of_the_interface() {
    let mut paths = paths(1500);
    let narrow = |mtu| PathChange {
        mtu: Some(mtu),
        ..change()
    };
    assert_eq!(notification(&mut paths, true).0, 1440);
    assert_eq!(notification(&mut paths, false).0, 0);
    paths.change(narrow(1400), Time::ZERO);
    assert_eq!(notification(&mut paths, true), (1400 - HEADERS, false));
}

#[test]
fn nothing_longer_than_the_mtu_of_the_tun_device_is_probed() {
    assert_eq!(notification(&mut paths(9000), true).0, 1440);
    assert_eq!(notification(&mut paths(1499), true).0, 1439);
}

#[test]
fn a_path_below_a_configured_tun_mtu_is_not_probed() {
    for (mtu, is_configured, room) in [
        (1440, false, 1440 - 100),
        (1440, true, 0),
        (1340, true, 1340),
    ] {
        let mut paths = paths(1400);
        paths.set_tun_mtu(TunMtu { mtu, is_configured });
        assert_eq!(notification(&mut paths, true).0, room);
        let state = &paths.all[0].dont_fragment;
        let narrow = (mtu > 1340).then_some(NarrowPath {
            packet_mtu: 1340,
            discovers_mtu: !is_configured,
        });
        assert_eq!(state.narrow, narrow, "as logged");
    }
}

fn update(paths: &mut Paths, state: MtuState, found: Option<u16>, limit: Option<u16>) {
    let update = MtuUpdate {
        state,
        found,
        limit,
    };
    paths.update_mtu(FIRST, update);
}

/// A path whose MTU is being probed.
fn probed(mtu: u32) -> Paths {
    let mut paths = paths(mtu);
    notification(&mut paths, true);
    paths.all[0].heartbeat_sent(1200);
    assert!(!needs_fragments(&mut paths, 1172), "the heartbeat itself");
    paths
}

fn needs_fragments(paths: &mut Paths, datagram: usize) -> bool {
    paths.all[0].needs_fragments(&vec![0; datagram])
}

#[test]
fn the_found_mtu_limits_all_datagrams_but_probes() {
    let mut paths = probed(1500);
    for (state, packet) in [(MtuState::Complete, 1240), (MtuState::Search, 1240)] {
        update(&mut paths, state, Some(packet), Some(packet));
        assert!(!needs_fragments(&mut paths, 1240 + 32));
        assert!(needs_fragments(&mut paths, 1280 + 32));
    }
    paths.all[0].heartbeat_sent(1500);
    assert!(!needs_fragments(&mut paths, 1472));
    assert!(needs_fragments(&mut paths, 1472), "the next is not a probe");
    paths.all[0].heartbeat_sent(60);
    assert!(needs_fragments(&mut paths, 1472));
}

#[test]
fn longer_datagrams_than_the_limit_of_a_search_are_fragmented() {
    let mut paths = probed(1500);
    assert!(!needs_fragments(&mut paths, 1280 + 32), "nothing failed");
    update(&mut paths, MtuState::Search, None, Some(1168));
    assert!(needs_fragments(&mut paths, 1280 + 32), "the first search");
    update(&mut paths, MtuState::Complete, Some(1217), Some(1217));
    update(&mut paths, MtuState::Search, None, Some(1168));
    assert!(needs_fragments(&mut paths, 1280 + 32), "after a burst");
    assert!(needs_fragments(&mut paths, 1169 + 32));
    assert!(!needs_fragments(&mut paths, 1168 + 32));
    update(&mut paths, MtuState::Search, None, None);
    assert!(!needs_fragments(&mut paths, 1280 + 32), "another route");
}

#[test]
fn before_a_result_the_mtu_of_the_interface_is_the_limit() {
    let mut narrow = probed(1300);
    assert!(!needs_fragments(&mut narrow, 1300 - 28));
    assert!(needs_fragments(&mut narrow, 1300 - 28 + 1));
    // For a peer that answers no probe the system fragments.
    update(&mut narrow, MtuState::Error, None, None);
    assert!(!needs_fragments(&mut narrow, 1300 - 28 + 1));
}

#[test]
fn a_loss_of_the_found_mtu_is_reported_only_if_it_is_one() {
    let mut paths = probed(1500);
    let found = |paths: &mut Paths| {
        update(paths, MtuState::Complete, Some(1440), Some(1440));
        assert!(paths.all[0].dont_fragment.is_lost(None), "a black hole");
        assert!(
            !paths.all[0].dont_fragment.is_lost(Some(1440)),
            "a search for more"
        );
    };
    found(&mut paths);
    notification(&mut paths, true);
    assert!(
        paths.all[0].dont_fragment.is_lost(None),
        "nothing has changed"
    );
    let mtu = Some(1400);
    paths.change(PathChange { mtu, ..change() }, Time::ZERO);
    notification(&mut paths, true);
    assert!(!paths.all[0].dont_fragment.is_lost(None), "another MTU");
    found(&mut paths);
    let remote = Some(Remote::At("127.0.0.1:9".parse().unwrap()));
    paths.change(PathChange { remote, ..change() }, Time::ZERO);
    notification(&mut paths, true);
    assert!(!paths.all[0].dont_fragment.is_lost(None), "another route");
    found(&mut paths);
    notification(&mut paths, false);
    assert!(
        !paths.all[0].dont_fragment.is_lost(None),
        "the discovery is off"
    );
}

#[test]
fn gso_is_tried_again_after_a_change() {
    let mut paths = paths(1500);
    notification(&mut paths, true);
    paths.all[0].outgoing.gso_refused = true;
    paths.all[0].heartbeat_sent(1200);
    assert!(
        !paths.all[0].outgoing.gso_refused,
        "reported MTUs are ignored now"
    );
    paths.all[0].outgoing.gso_refused = true;
    paths.all[0].heartbeat_sent(1200);
    assert!(paths.all[0].outgoing.gso_refused, "as before");
    paths.all[0].rerouted();
    assert!(!paths.all[0].outgoing.gso_refused, "another route");
}

#[test]
fn another_address_of_the_peer_is_another_route() {
    let mut paths = probed(1500);
    let mut arrive = |source: &str| {
        update(&mut paths, MtuState::Complete, Some(1240), Some(1240));
        paths.authenticated(FIRST, source.parse().unwrap(), Time::ZERO);
        let is_lost = paths.all[0].dont_fragment.is_lost(None);
        (paths.rerouted(), is_lost)
    };
    assert_eq!(arrive("127.0.0.1:7"), (vec![], true));
    assert_eq!(arrive("127.0.0.1:8"), (vec![], true));
    let notified = Input::InterfaceMtu {
        path: FIRST,
        mtu: 1440,
        rerouted: true,
    };
    assert_eq!(arrive("127.0.0.2:8"), (vec![notified], false));
    assert_eq!(arrive("127.0.0.2:8"), (vec![], true));
}
