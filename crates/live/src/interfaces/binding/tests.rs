use std::net::Ipv4Addr;

use super::*;
use crate::interfaces::netlink;
use crate::interfaces::network::Address;

/// A binding whose socket has read the MTU of the loopback interface.
fn binding(config: PathConfig, bound: Option<u32>) -> PathBinding {
    let interface = config.interface.clone();
    let status = InterfaceStatus {
        interface,
        missing: None,
    };
    let mut binding = PathBinding::new(config);
    let socket = PathSocket::open(&PathConfig::at("127.0.0.1:0", None)).unwrap();
    binding.start(&socket, status);
    binding.bound = bound;
    binding
}

/// Updates a binding and returns what is missing and whether the socket is replaced; `None` if
/// nothing changes.
fn update(binding: &mut PathBinding, network: &Network) -> Option<(Option<Missing>, bool)> {
    let update = binding.update(network, BindTarget::Configured)?;
    let outcome = (update.status.missing.clone(), update.socket.is_some());
    binding.apply(update);
    Some(outcome)
}

#[test]
fn a_missing_address_is_reported_without_a_new_socket() {
    let bare = netlink::read(&[]).unwrap();
    let mut present = bare.clone();
    let ip = Ipv4Addr::new(192, 0, 2, 1).into();
    present.addresses.push(Address {
        link: 1,
        ip,
        is_routable: true,
        is_secondary: false,
        is_deprecated: false,
    });
    let mut own = binding(PathConfig::at("192.0.2.1:0", None), None);
    assert_eq!(update(&mut own, &present), None);
    let missing = Missing::Address(ip);
    assert_eq!(update(&mut own, &bare), Some((Some(missing), false)));
    assert_eq!(update(&mut own, &bare), None, "no further change");
    assert!(!own.is_unbound());
    assert_eq!(update(&mut own, &present), Some((None, false)));
    for always in ["0.0.0.0:0", "127.0.0.9:0"] {
        let mut always = binding(PathConfig::at(always, None), None);
        assert_eq!(update(&mut always, &bare), None);
    }
}

#[test]
fn an_ipv6_path_without_its_address_uses_no_other_interface() {
    if UdpSocket::bind("[::1]:0").is_err() {
        use std::io::Write;
        // The test runner captures the output of the print macros.
        let _ = writeln!(std::io::stderr(), "skipped without IPv6");
        return;
    }
    let present = netlink::read(&[]).unwrap();
    let mut lost = binding(PathConfig::at("[2001:db8::1]:0", None), None);
    let missing = Missing::Address("2001:db8::1".parse().unwrap());
    assert_eq!(update(&mut lost, &present), Some((Some(missing), true)));
    assert_eq!(lost.bound, Some(NO_INTERFACE));
    assert!(lost.is_unbound());
    assert_eq!(update(&mut lost, &present), None, "no further change");
    let mut back = binding(PathConfig::at("[::1]:0", None), Some(NO_INTERFACE));
    back.status.missing = Some(Missing::Address("::1".parse().unwrap()));
    assert_eq!(update(&mut back, &present), Some((None, true)));
    assert_eq!(back.bound, None);
    assert!(!back.is_unbound());
    assert_eq!(update(&mut back, &present), None);
}

#[test]
fn a_path_is_rebound_to_a_new_interface_of_the_same_name() {
    let present = netlink::read(&[]).unwrap();
    let index = present.link("lo").unwrap().index;
    let mut absent = present.clone();
    absent.links.clear();
    let mut path = binding(PathConfig::at("127.0.0.1:0", Some("lo")), Some(index));
    assert_eq!(update(&mut path, &present), None);
    let missing = Missing::Interface("lo".to_owned());
    assert_eq!(update(&mut path, &absent), Some((Some(missing), false)));
    assert!(path.is_unbound());
    assert_eq!(
        update(&mut path, &present),
        Some((None, false)),
        "it is the same interface"
    );
    path.bound = Some(index + 1);
    assert_eq!(update(&mut path, &present), Some((None, true)));
    assert_eq!(path.bound, Some(index));
    assert_eq!(update(&mut path, &present), None);
}

#[test]
fn a_changed_interface_mtu_changes_nothing_else() {
    let present = netlink::read(&[]).unwrap();
    let lo = present.link("lo").unwrap().index;
    for (local, interface) in [("127.0.0.1:0", Some("lo")), ("127.0.0.1:0", None)] {
        let mut path = binding(PathConfig::at(local, interface), interface.map(|_| lo));
        assert!(path.update(&present, BindTarget::Configured).is_none());
        let mut narrow = present.clone();
        let link = narrow.links.iter_mut().find(|link| link.index == lo);
        link.unwrap().mtu = 1400;
        let update = path.update(&narrow, BindTarget::Configured).unwrap();
        assert_eq!((update.mtu, update.changed_status()), (Some(1400), None));
        assert!(update.socket.is_none());
        path.apply(update);
        assert!(
            path.update(&narrow, BindTarget::Configured).is_none(),
            "no further change"
        );
        narrow.links.clear();
        let update = path.update(&narrow, BindTarget::Configured);
        assert!(
            update.is_none_or(|update| update.mtu.is_none()),
            "the MTU is unknown"
        );
    }
    // A socket that was bound to another address in between may have read another MTU.
    let mut path = binding(PathConfig::at("127.0.0.1:0", None), None);
    let mut config = path.config().clone();
    config.local = Some("127.0.0.2:0".parse().unwrap());
    path.adopt(&config);
    let config = PathConfig {
        local: Some("127.0.0.1:0".parse().unwrap()),
        ..config
    };
    path.adopt(&config);
    let update = path.update(&present, BindTarget::Configured).unwrap();
    assert_eq!(update.mtu, Some(present.link("lo").unwrap().mtu));
}

#[test]
fn a_socket_that_fails_to_open_leaves_the_binding_and_is_retried() {
    let present = netlink::read(&[]).unwrap();
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let mut path = binding(PathConfig::at(&taken, Some("lo")), None);
    let missing = Some(Missing::Interface("lo".to_owned()));
    path.status.missing.clone_from(&missing);
    assert_eq!(update(&mut path, &present), None);
    assert!(path.has_failed() && path.status.missing == missing);
    drop(held);
    assert_eq!(update(&mut path, &present), Some((None, true)));
    assert!(!path.has_failed());
}

#[test]
fn a_failure_is_cleared_once_its_target_is_no_longer_wanted() {
    let present = netlink::read(&[]).unwrap();
    let mut absent = present.clone();
    absent.links.clear();
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let fails = |path: &mut PathBinding| {
        assert_eq!(update(path, &present), None);
        assert!(path.has_failed());
    };
    let mut unplugged = binding(PathConfig::at(&taken, Some("lo")), None);
    fails(&mut unplugged);
    let missing = Missing::Interface("lo".to_owned());
    assert_eq!(
        update(&mut unplugged, &absent),
        Some((Some(missing), false))
    );
    assert!(!unplugged.has_failed(), "nothing is left to retry");
    let mut changed = binding(PathConfig::at(&taken, Some("lo")), None);
    fails(&mut changed);
    changed.adopt(&PathConfig::at(&taken, None));
    update(&mut changed, &present);
    assert!(!changed.has_failed());
}

#[test]
fn a_path_is_bound_to_its_assigned_uplink_only() {
    let present = netlink::read(&[]).unwrap();
    let held = |source: [u8; 4]| AssignedUplink {
        name: "lo".to_owned(),
        source: source.into(),
    };
    let mut path = binding(PathConfig::at("127.0.0.1:0", None), None);
    path.config.local = None;
    let mut update = |target: BindTarget<'_>| {
        let update = path.update(&present, target)?;
        let bound = update.socket.as_ref().map(PathSocket::bound);
        let outcome = (
            update.status.clone(),
            bound.map(|bound| bound.map(|at| at.ip())),
        );
        path.apply(update);
        Some(outcome)
    };
    let waiting = InterfaceStatus {
        interface: None,
        missing: Some(Missing::Uplink),
    };
    assert_eq!(update(BindTarget::None), Some((waiting.clone(), None)));
    assert_eq!(update(BindTarget::None), None);
    let there = InterfaceStatus {
        interface: Some("lo".to_owned()),
        missing: None,
    };
    let one = held([127, 0, 0, 1]);
    assert_eq!(
        update(BindTarget::Uplink(&one)),
        Some((there.clone(), Some(Some(one.source))))
    );
    assert_eq!(update(BindTarget::Uplink(&one)), None, "nothing changes");
    // Another address of the interface: all of 127.0.0.0/8 are its own.
    let other = held([127, 0, 0, 2]);
    let outcome = update(BindTarget::Uplink(&other)).unwrap();
    assert_eq!(outcome.1, Some(Some(other.source)));
    assert_eq!(update(BindTarget::None), Some((waiting, Some(None))));
}
