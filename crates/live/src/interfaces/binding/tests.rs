use std::net::Ipv4Addr;

use super::*;
use crate::interfaces::netlink;
use crate::interfaces::network::Address;

/// With a socket that has read the MTU of the loopback interface.
fn binding(config: PathConfig, bound: Option<u32>) -> PathBinding {
    let interface = config.interface.clone();
    let interface_status = InterfaceStatus {
        interface,
        missing: None,
    };
    let mut binding = PathBinding::new(config);
    let socket = PathSocket::open(&PathConfig::at("127.0.0.1:0", None)).unwrap();
    binding.start(&socket, interface_status);
    binding.bound = bound;
    binding
}

/// What is missing, and whether there is another socket, where there is `network` and that changes anything.
fn update(binding: &mut PathBinding, network: &Network) -> Option<(Option<Missing>, bool)> {
    let update = binding.update(network, BindTarget::Configured)?;
    let became = (
        update.interface_status.missing.clone(),
        update.socket.is_some(),
    );
    binding.take(update);
    Some(became)
}

#[test]
fn an_address_is_missed_while_no_interface_has_it_and_no_socket_is_touched() {
    let bare = netlink::read(&[]).unwrap();
    let mut here = bare.clone();
    let ip = Ipv4Addr::new(192, 0, 2, 1).into();
    here.addresses.push(Address {
        link: 1,
        ip,
        is_wide: true,
        is_second_choice: false,
        is_deprecated: false,
    });
    let mut own = binding(PathConfig::at("192.0.2.1:0", None), None);
    assert_eq!(update(&mut own, &here), None);
    let missing = Missing::Address(ip);
    assert_eq!(update(&mut own, &bare), Some((Some(missing), false)));
    assert_eq!(update(&mut own, &bare), None, "it is known");
    assert!(!own.is_adrift());
    assert_eq!(update(&mut own, &here), Some((None, false)));
    for always in ["0.0.0.0:0", "127.0.0.9:0"] {
        let mut always = binding(PathConfig::at(always, None), None);
        assert_eq!(update(&mut always, &bare), None);
    }
}

#[test]
fn over_ipv6_a_path_without_its_address_goes_by_no_other_uplink() {
    if UdpSocket::bind("[::1]:0").is_err() {
        use std::io::Write;
        // The runner captures what the print macros write.
        let _ = writeln!(std::io::stderr(), "skipped without IPv6");
        return;
    }
    let here = netlink::read(&[]).unwrap();
    let mut lost = binding(PathConfig::at("[2001:db8::1]:0", None), None);
    let missing = Missing::Address("2001:db8::1".parse().unwrap());
    assert_eq!(update(&mut lost, &here), Some((Some(missing), true)));
    assert_eq!(lost.bound, Some(NOWHERE));
    assert!(lost.is_adrift());
    assert_eq!(update(&mut lost, &here), None, "it is known");
    let mut back = binding(PathConfig::at("[::1]:0", None), Some(NOWHERE));
    back.interface_status.missing = Some(Missing::Address("::1".parse().unwrap()));
    assert_eq!(update(&mut back, &here), Some((None, true)));
    assert_eq!(back.bound, None);
    assert!(!back.is_adrift());
    assert_eq!(update(&mut back, &here), None);
}

#[test]
fn a_path_is_bound_anew_once_its_interface_is_another_of_that_name() {
    let here = netlink::read(&[]).unwrap();
    let index = here.link("lo").unwrap().index;
    let mut gone = here.clone();
    gone.links.clear();
    let mut path = binding(PathConfig::at("127.0.0.1:0", Some("lo")), Some(index));
    assert_eq!(update(&mut path, &here), None);
    let missing = Missing::Interface("lo".to_owned());
    assert_eq!(update(&mut path, &gone), Some((Some(missing), false)));
    assert!(path.is_adrift());
    assert_eq!(
        update(&mut path, &here),
        Some((None, false)),
        "it is the one of before"
    );
    path.bound = Some(index + 1);
    assert_eq!(update(&mut path, &here), Some((None, true)));
    assert_eq!(path.bound, Some(index));
    assert_eq!(update(&mut path, &here), None);
}

#[test]
fn another_mtu_of_the_interface_is_told_and_nothing_else_changes() {
    let here = netlink::read(&[]).unwrap();
    let lo = here.link("lo").unwrap().index;
    for (local, interface) in [("127.0.0.1:0", Some("lo")), ("127.0.0.1:0", None)] {
        let mut path = binding(PathConfig::at(local, interface), interface.map(|_| lo));
        assert!(path.update(&here, BindTarget::Configured).is_none());
        let mut narrow = here.clone();
        let link = narrow.links.iter_mut().find(|link| link.index == lo);
        link.unwrap().mtu = 1400;
        let update = path.update(&narrow, BindTarget::Configured).unwrap();
        assert_eq!((update.mtu, update.new_status()), (Some(1400), None));
        assert!(update.socket.is_none());
        path.take(update);
        assert!(
            path.update(&narrow, BindTarget::Configured).is_none(),
            "it is known"
        );
        narrow.links.clear();
        let update = path.update(&narrow, BindTarget::Configured);
        assert!(
            update.is_none_or(|update| update.mtu.is_none()),
            "nobody knows"
        );
    }
    // A socket that was bound elsewhere meanwhile may have read another.
    let mut path = binding(PathConfig::at("127.0.0.1:0", None), None);
    let mut config = path.config().clone();
    config.local = Some("127.0.0.2:0".parse().unwrap());
    path.adopt(&config);
    let config = PathConfig {
        local: Some("127.0.0.1:0".parse().unwrap()),
        ..config
    };
    path.adopt(&config);
    let update = path.update(&here, BindTarget::Configured).unwrap();
    assert_eq!(update.mtu, Some(here.link("lo").unwrap().mtu));
}

#[test]
fn a_socket_that_cannot_be_had_leaves_the_path_as_it_was_and_is_tried_again() {
    let here = netlink::read(&[]).unwrap();
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let mut path = binding(PathConfig::at(&taken, Some("lo")), None);
    let missing = Some(Missing::Interface("lo".to_owned()));
    path.interface_status.missing.clone_from(&missing);
    assert_eq!(update(&mut path, &here), None);
    assert!(path.has_failed() && path.interface_status.missing == missing);
    drop(held);
    assert_eq!(update(&mut path, &here), Some((None, true)));
    assert!(!path.has_failed());
}

#[test]
fn a_failure_ends_with_the_wish_for_what_could_not_be_had() {
    let here = netlink::read(&[]).unwrap();
    let mut gone = here.clone();
    gone.links.clear();
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let fails = |path: &mut PathBinding| {
        assert_eq!(update(path, &here), None);
        assert!(path.has_failed());
    };
    let mut unplugged = binding(PathConfig::at(&taken, Some("lo")), None);
    fails(&mut unplugged);
    let missing = Missing::Interface("lo".to_owned());
    assert_eq!(update(&mut unplugged, &gone), Some((Some(missing), false)));
    assert!(!unplugged.has_failed(), "there is nothing to try again");
    let mut changed = binding(PathConfig::at(&taken, Some("lo")), None);
    fails(&mut changed);
    changed.adopt(&PathConfig::at(&taken, None));
    update(&mut changed, &here);
    assert!(!changed.has_failed());
}

#[test]
fn a_path_that_finds_its_uplink_has_a_socket_there_and_none_elsewhere() {
    let here = netlink::read(&[]).unwrap();
    let held = |source: [u8; 4]| AssignedUplink {
        name: "lo".to_owned(),
        source: source.into(),
    };
    let mut path = binding(PathConfig::at("127.0.0.1:0", None), None);
    path.config.local = None;
    let mut update = |seat: BindTarget<'_>| {
        let update = path.update(&here, seat)?;
        let bound = update.socket.as_ref().map(PathSocket::bound);
        let became = (
            update.interface_status.clone(),
            bound.map(|bound| bound.map(|at| at.ip())),
        );
        path.take(update);
        Some(became)
    };
    let waiting = InterfaceStatus {
        interface: None,
        missing: Some(Missing::Uplink),
    };
    assert_eq!(update(BindTarget::Waiting), Some((waiting.clone(), None)));
    assert_eq!(update(BindTarget::Waiting), None);
    let there = InterfaceStatus {
        interface: Some("lo".to_owned()),
        missing: None,
    };
    let one = held([127, 0, 0, 1]);
    assert_eq!(
        update(BindTarget::Uplink(&one)),
        Some((there.clone(), Some(Some(one.source))))
    );
    assert_eq!(
        update(BindTarget::Uplink(&one)),
        None,
        "nothing has changed"
    );
    // Another address of the interface: all of 127.0.0.0/8 are its own.
    let other = held([127, 0, 0, 2]);
    let became = update(BindTarget::Uplink(&other)).unwrap();
    assert_eq!(became.1, Some(Some(other.source)));
    assert_eq!(update(BindTarget::Waiting), Some((waiting, Some(None))));
}
