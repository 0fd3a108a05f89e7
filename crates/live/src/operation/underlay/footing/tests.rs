use std::net::Ipv4Addr;

use super::*;
use crate::network::{Address, netlink};

/// With a socket that has read the MTU of the loopback interface.
fn footing(config: PathConfig, bound: Option<u32>) -> Footing {
    let interface = config.interface.clone();
    let standing = Standing {
        interface,
        missing: None,
    };
    let mut footing = Footing::new(config);
    let socket = PathSocket::open(&PathConfig::at("127.0.0.1:0", None)).unwrap();
    footing.start(&socket, standing);
    footing.bound = bound;
    footing
}

/// What is missing, and whether there is another socket, where there is `network` and that changes anything.
fn step(footing: &mut Footing, network: &Network) -> Option<(Option<Missing>, bool)> {
    let step = footing.step(network, Seat::Listed)?;
    let became = (step.standing.missing.clone(), step.socket.is_some());
    footing.take(step);
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
    let mut own = footing(PathConfig::at("192.0.2.1:0", None), None);
    assert_eq!(step(&mut own, &here), None);
    let missing = Missing::Address(ip);
    assert_eq!(step(&mut own, &bare), Some((Some(missing), false)));
    assert_eq!(step(&mut own, &bare), None, "it is known");
    assert!(!own.is_adrift());
    assert_eq!(step(&mut own, &here), Some((None, false)));
    for always in ["0.0.0.0:0", "127.0.0.9:0"] {
        let mut always = footing(PathConfig::at(always, None), None);
        assert_eq!(step(&mut always, &bare), None);
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
    let mut lost = footing(PathConfig::at("[2001:db8::1]:0", None), None);
    let missing = Missing::Address("2001:db8::1".parse().unwrap());
    assert_eq!(step(&mut lost, &here), Some((Some(missing), true)));
    assert_eq!(lost.bound, Some(NOWHERE));
    assert!(lost.is_adrift());
    assert_eq!(step(&mut lost, &here), None, "it is known");
    let mut back = footing(PathConfig::at("[::1]:0", None), Some(NOWHERE));
    back.standing.missing = Some(Missing::Address("::1".parse().unwrap()));
    assert_eq!(step(&mut back, &here), Some((None, true)));
    assert_eq!(back.bound, None);
    assert!(!back.is_adrift());
    assert_eq!(step(&mut back, &here), None);
}

#[test]
fn a_path_is_bound_anew_once_its_interface_is_another_of_that_name() {
    let here = netlink::read(&[]).unwrap();
    let index = here.link("lo").unwrap().index;
    let mut gone = here.clone();
    gone.links.clear();
    let mut path = footing(PathConfig::at("127.0.0.1:0", Some("lo")), Some(index));
    assert_eq!(step(&mut path, &here), None);
    let missing = Missing::Interface("lo".to_owned());
    assert_eq!(step(&mut path, &gone), Some((Some(missing), false)));
    assert!(path.is_adrift());
    assert_eq!(
        step(&mut path, &here),
        Some((None, false)),
        "it is the one of before"
    );
    path.bound = Some(index + 1);
    assert_eq!(step(&mut path, &here), Some((None, true)));
    assert_eq!(path.bound, Some(index));
    assert_eq!(step(&mut path, &here), None);
}

#[test]
fn another_mtu_of_the_interface_is_told_and_nothing_else_changes() {
    let here = netlink::read(&[]).unwrap();
    let lo = here.link("lo").unwrap().index;
    for (local, interface) in [("127.0.0.1:0", Some("lo")), ("127.0.0.1:0", None)] {
        let mut path = footing(PathConfig::at(local, interface), interface.map(|_| lo));
        assert!(path.step(&here, Seat::Listed).is_none());
        let mut narrow = here.clone();
        let link = narrow.links.iter_mut().find(|link| link.index == lo);
        link.unwrap().mtu = 1400;
        let step = path.step(&narrow, Seat::Listed).unwrap();
        assert_eq!((step.mtu, step.standing_anew()), (Some(1400), None));
        assert!(step.socket.is_none());
        path.take(step);
        assert!(path.step(&narrow, Seat::Listed).is_none(), "it is known");
        narrow.links.clear();
        let step = path.step(&narrow, Seat::Listed);
        assert!(step.is_none_or(|step| step.mtu.is_none()), "nobody knows");
    }
    // A socket that was bound elsewhere meanwhile may have read another.
    let mut path = footing(PathConfig::at("127.0.0.1:0", None), None);
    let mut config = path.config().clone();
    config.local = Some("127.0.0.2:0".parse().unwrap());
    path.adopt(&config);
    let config = PathConfig {
        local: Some("127.0.0.1:0".parse().unwrap()),
        ..config
    };
    path.adopt(&config);
    let step = path.step(&here, Seat::Listed).unwrap();
    assert_eq!(step.mtu, Some(here.link("lo").unwrap().mtu));
}

#[test]
fn a_socket_that_cannot_be_had_leaves_the_path_as_it_was_and_is_tried_again() {
    let here = netlink::read(&[]).unwrap();
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let mut path = footing(PathConfig::at(&taken, Some("lo")), None);
    let missing = Some(Missing::Interface("lo".to_owned()));
    path.standing.missing.clone_from(&missing);
    assert_eq!(step(&mut path, &here), None);
    assert!(path.has_failed() && path.standing.missing == missing);
    drop(held);
    assert_eq!(step(&mut path, &here), Some((None, true)));
    assert!(!path.has_failed());
}

#[test]
fn a_failure_ends_with_the_wish_for_what_could_not_be_had() {
    let here = netlink::read(&[]).unwrap();
    let mut gone = here.clone();
    gone.links.clear();
    let held = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let fails = |path: &mut Footing| {
        assert_eq!(step(path, &here), None);
        assert!(path.has_failed());
    };
    let mut unplugged = footing(PathConfig::at(&taken, Some("lo")), None);
    fails(&mut unplugged);
    let missing = Missing::Interface("lo".to_owned());
    assert_eq!(step(&mut unplugged, &gone), Some((Some(missing), false)));
    assert!(!unplugged.has_failed(), "there is nothing to try again");
    let mut changed = footing(PathConfig::at(&taken, Some("lo")), None);
    fails(&mut changed);
    changed.adopt(&PathConfig::at(&taken, None));
    step(&mut changed, &here);
    assert!(!changed.has_failed());
}

#[test]
fn a_path_that_finds_its_uplink_has_a_socket_there_and_none_elsewhere() {
    let here = netlink::read(&[]).unwrap();
    let held = |source: [u8; 4]| Held {
        name: "lo".to_owned(),
        source: source.into(),
    };
    let mut path = footing(PathConfig::at("127.0.0.1:0", None), None);
    path.config.local = None;
    let mut step = |seat: Seat<'_>| {
        let step = path.step(&here, seat)?;
        let bound = step.socket.as_ref().map(PathSocket::bound);
        let became = (
            step.standing.clone(),
            bound.map(|bound| bound.map(|at| at.ip())),
        );
        path.take(step);
        Some(became)
    };
    let waiting = Standing {
        interface: None,
        missing: Some(Missing::Uplink),
    };
    assert_eq!(step(Seat::Waiting), Some((waiting.clone(), None)));
    assert_eq!(step(Seat::Waiting), None);
    let there = Standing {
        interface: Some("lo".to_owned()),
        missing: None,
    };
    let one = held([127, 0, 0, 1]);
    assert_eq!(
        step(Seat::Held(&one)),
        Some((there.clone(), Some(Some(one.source))))
    );
    assert_eq!(step(Seat::Held(&one)), None, "nothing has changed");
    // Another address of the interface: all of 127.0.0.0/8 are its own.
    let other = held([127, 0, 0, 2]);
    let became = step(Seat::Held(&other)).unwrap();
    assert_eq!(became.1, Some(Some(other.source)));
    assert_eq!(step(Seat::Waiting), Some((waiting, Some(None))));
}
