use proptest::prelude::*;

use super::*;
use crate::interfaces::network::{Address, Route};

/// A network of interfaces that are up, each with its number, its name, its addresses and the metric of its default
/// routes.
fn network(links: &[(u32, &str, &[&str], u32)]) -> Network {
    let mut network = Network::default();
    for (index, name, addresses, metric) in links {
        network.links.push(Link {
            index: *index,
            name: (*name).to_owned(),
            is_up: true,
            ..Link::default()
        });
        network.addresses.extend(addresses.iter().map(|ip| Address {
            link: *index,
            ip: ip.parse().unwrap(),
            is_wide: true,
            is_second_choice: false,
            is_deprecated: false,
        }));
        network
            .routes
            .extend(["0.0.0.0/0", "::/0"].map(|any| Route {
                link: *index,
                destination: any.parse().unwrap(),
                metric: *metric,
            }));
    }
    network
}

fn targets(targets: &[&str]) -> Vec<IpAddr> {
    targets.iter().map(|ip| ip.parse().unwrap()).collect()
}

fn all(network: &Network, to: &[&str]) -> Vec<Uplink> {
    uplinks(network, &targets(to), |name| name != "pp0")
}

const FAR: &str = "192.0.2.1";

fn names(uplinks: &[Uplink]) -> Vec<&str> {
    uplinks.iter().map(|uplink| &*uplink.name).collect()
}

/// What each path has, by name.
fn held(choice: &Choice) -> Vec<Option<&str>> {
    let held = choice.paths.iter().map(|place| place.held.as_ref());
    held.map(|held| held.map(|held| &*held.name)).collect()
}

#[test]
fn an_uplink_is_up_with_an_address_and_a_route_and_is_no_tunnel_of_a_node() {
    let (own, none): (&[&str], &[&str]) = (&["10.0.0.1"], &[]);
    let mut network = network(&[
        (1, "lo", own, 0),
        (2, "eth0", own, 100),
        (3, "down0", own, 0),
        (4, "bare0", none, 0),
        (5, "pp0", own, 0),
        (6, "pp7", own, 0),
        (7, "six0", &["2001:db8::1"], 0),
        (8, "near0", own, 0),
        (9, "wwan0", own, 50),
    ]);
    network.links[0].is_loopback = true;
    network.links[2].is_up = false;
    network.links[5].alias = TUN_NOTE.to_owned();
    network
        .addresses
        .iter_mut()
        .find(|a| a.link == 8)
        .unwrap()
        .is_wide = false;
    assert_eq!(
        names(&all(&network, &[FAR])),
        ["wwan0", "eth0"],
        "the lowest metric first"
    );
    network.routes.retain(|route| route.link != 9);
    assert_eq!(names(&all(&network, &[FAR])), ["eth0"]);
    let no_address = "no address beyond its link, of the family of where a path leads";
    assert_eq!(
        others(&network, &targets(&[FAR]), |name| name != "pp0"),
        [
            "down0: down, or without a carrier".to_owned(),
            format!("bare0: {no_address}"),
            "pp0: left out by `auto`".to_owned(),
            format!("six0: {no_address}"),
            format!("near0: {no_address}"),
            "wwan0: no route by it to where a path leads".to_owned(),
        ]
    );
    assert_eq!(names(&all(&network, &["2001:db8::9"])), ["six0"]);
}

#[test]
fn the_address_to_send_from_is_the_first_that_reaches_and_is_no_second_choice() {
    let own = ["fd00::1", "2001:db8::1", "2001:db8::2", "10.0.0.1"];
    let mut network = network(&[(2, "eth0", &own, 0)]);
    network.addresses[1].is_second_choice = true;
    let sources = |to| sources(&network, 2, targets(&[to])[0]);
    assert_eq!(
        sources("2001:db9::1"),
        targets(&["2001:db8::2", "2001:db8::1", "fd00::1"])
    );
    assert_eq!(sources("fd00::9")[0], targets(&["fd00::1"])[0]);
    assert_eq!(sources(FAR), targets(&["10.0.0.1"]));
}

#[test]
fn one_that_comes_back_has_its_path_again_and_one_that_is_new_leaves_it_to_it() {
    let (one, two, three) = (
        (2, "one", &["10.0.1.1"] as &[&str], 1),
        (3, "two", &["10.0.2.1"] as &[&str], 2),
        (4, "three", &["10.0.3.1"] as &[&str], 3),
    );
    let there = |links: &[_]| all(&network(links), &[FAR, FAR, FAR]);
    let mut choice = Choice::new(3);
    assert!(choice.decide(&there(&[two, one])).is_empty());
    assert_eq!(held(&choice), [Some("one"), Some("two"), None]);
    choice.decide(&there(&[two]));
    assert_eq!(held(&choice), [None, Some("two"), None]);
    choice.decide(&there(&[two, three]));
    assert_eq!(held(&choice), [None, Some("two"), Some("three")]);
    // As another of its name, as that of a modem that was plugged in again.
    let again = (9, "one", &["10.0.1.7"] as &[&str], 9);
    choice.decide(&there(&[two, three, again]));
    assert_eq!(held(&choice), [Some("one"), Some("two"), Some("three")]);
    assert_eq!(choice.held(0).unwrap().source, targets(&["10.0.1.7"])[0]);
    let four = (5, "four", &["10.0.4.1"] as &[&str], 0);
    assert_eq!(choice.decide(&there(&[two, three, again, four])), ["four"]);
    assert_eq!(held(&choice), [Some("one"), Some("two"), Some("three")]);
}

#[test]
fn an_address_is_kept_while_it_is_there() {
    let there = |own: &[&str]| all(&network(&[(2, "eth0", own, 0)]), &[FAR]);
    let mut choice = Choice::new(1);
    let mut source = |own: &[&str]| {
        choice.decide(&there(own));
        choice.held(0).map(|held| held.source.to_string())
    };
    assert_eq!(source(&["10.0.0.1"]).unwrap(), "10.0.0.1");
    assert_eq!(source(&["10.0.0.9", "10.0.0.1"]).unwrap(), "10.0.0.1");
    assert_eq!(source(&["10.0.0.9"]).unwrap(), "10.0.0.9");
    assert_eq!(source(&[]), None);
}

#[test]
fn a_deprecated_address_gives_way_to_one_that_is_not() {
    let own = ["2001:db8:1::1", "2001:db8:2::1"];
    let mut choice = Choice::new(1);
    let mut source = |own: &[&str], deprecated: &[usize]| {
        let mut network = network(&[(2, "eth0", own, 0)]);
        for index in deprecated {
            network.addresses[*index].is_deprecated = true;
        }
        choice.decide(&all(&network, &["2001:db9::1"]));
        choice.held(0).unwrap().source.to_string()
    };
    assert_eq!(source(&own[..1], &[]), own[0]);
    assert_eq!(source(&own[..1], &[0]), own[0], "there is no other");
    assert_eq!(source(&own, &[0, 1]), own[0], "the other is no better");
    assert_eq!(source(&own, &[0]), own[1]);
    assert_eq!(source(&own, &[]), own[1], "and is kept");
}

#[test]
fn one_that_carries_a_single_path_gets_that_one() {
    let both = (2, "both", &["10.0.1.1", "2001:db8::1"] as &[&str], 1);
    let four = (3, "four", &["10.0.2.1"] as &[&str], 2);
    let mut choice = Choice::new(2);
    choice.decide(&all(&network(&[both, four]), &[FAR, "2001:db8::9"]));
    assert_eq!(held(&choice), [Some("four"), Some("both")]);
}

/// Which of eight interfaces are there: which of four paths each can carry, and its metric.
fn there() -> impl Strategy<Value = Vec<Option<([bool; 4], u32)>>> {
    let link = (any::<[bool; 4]>(), 0..4_u32);
    prop::collection::vec(prop::option::weighted(0.6, link), 8)
}

fn made(there: &[Option<([bool; 4], u32)>]) -> Vec<Uplink> {
    let links = there.iter().enumerate();
    let mut uplinks: Vec<_> = links
        .filter_map(|(number, link)| {
            let (carried, metric) = (*link)?;
            let octet = u8::try_from(number).unwrap();
            let source = IpAddr::from([10, 0, octet, 1]);
            let sources = carried.map(|carried| if carried { vec![source] } else { vec![] });
            Some(Uplink {
                deprecated: Vec::new(),
                name: format!("eth{number}"),
                metric,
                sources: sources.to_vec(),
            })
        })
        .collect();
    uplinks.sort_by(|a, b| (a.metric, &a.name).cmp(&(b.metric, &b.name)));
    uplinks
}

proptest! {
    #[test]
    fn whatever_comes_and_goes(steps in prop::collection::vec(there(), 1..12)) {
        let _busy = crate::test_lock::shared();
        let mut choice = Choice::new(4);
        for step in steps {
            let uplinks = made(&step);
            let before = choice.clone();
            let left = choice.decide(&uplinks);
            let carries = |name: &str, path| uplinks.iter().any(|u| u.name == name && u.carries(path));
            let now = held(&choice);
            for (path, name) in now.iter().enumerate() {
                let Some(name) = *name else { continue };
                prop_assert!(carries(name, path), "{name} cannot carry path {path}");
                let twice = now.iter().filter(|other| **other == Some(name)).count();
                prop_assert_eq!(twice, 1, "{} is with several paths", name);
                prop_assert!(!left.iter().any(|left| left == name));
            }
            for (path, had) in held(&before).into_iter().enumerate() {
                if let Some(had) = had.filter(|had| carries(had, path)) {
                    prop_assert_eq!(now[path], Some(had), "one that stays keeps its path");
                }
            }
            for name in &left {
                let idle = (0..4).find(|path| now[*path].is_none() && carries(name, *path));
                prop_assert_eq!(idle, None, "{} is left, and a path waits", name);
            }
            let known = uplinks.iter().filter(|u| now.contains(&Some(&*u.name))).count();
            prop_assert_eq!(known + left.len(), uplinks.len());
            let decided = choice.clone();
            prop_assert_eq!(choice.decide(&uplinks), left, "nothing has changed");
            prop_assert_eq!(&choice, &decided);
        }
    }
}
