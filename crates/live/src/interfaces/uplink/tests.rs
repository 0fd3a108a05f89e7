use proptest::prelude::*;

use super::*;
use crate::interfaces::network::{Address, Route};

/// An interface of a test: up, with default routes of `metric`.
#[derive(Clone, Copy)]
struct TestLink<'a> {
    index: u32,
    name: &'a str,
    addresses: &'a [&'a str],
    metric: u32,
}

/// A shorthand for a [`TestLink`].
const fn link<'a>(
    index: u32,
    name: &'a str,
    addresses: &'a [&'a str],
    metric: u32,
) -> TestLink<'a> {
    TestLink {
        index,
        name,
        addresses,
        metric,
    }
}

fn network(links: &[TestLink<'_>]) -> Network {
    let mut network = Network::default();
    for TestLink {
        index,
        name,
        addresses,
        metric,
    } in links
    {
        network.links.push(Link {
            index: *index,
            name: (*name).to_owned(),
            is_up: true,
            ..Link::default()
        });
        network.addresses.extend(addresses.iter().map(|ip| Address {
            link: *index,
            ip: ip.parse().unwrap(),
            is_routable: true,
            is_secondary: false,
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

const REMOTE: &str = "192.0.2.1";

fn names(uplinks: &[Uplink]) -> Vec<&str> {
    uplinks.iter().map(|uplink| &*uplink.name).collect()
}

/// The uplink of each path, by name.
fn assigned(assignment: &UplinkAssignment) -> Vec<Option<&str>> {
    let uplinks = assignment.paths.iter().map(|path| path.current.as_ref());
    uplinks
        .map(|uplink| uplink.map(|uplink| &*uplink.name))
        .collect()
}

#[test]
fn an_uplink_is_up_has_an_address_and_a_route_and_is_no_nodes_tun_device() {
    let (own, none): (&[&str], &[&str]) = (&["10.0.0.1"], &[]);
    let mut network = network(&[
        link(1, "lo", own, 0),
        link(2, "eth0", own, 100),
        link(3, "down0", own, 0),
        link(4, "bare0", none, 0),
        link(5, "pp0", own, 0),
        link(6, "pp7", own, 0),
        link(7, "six0", &["2001:db8::1"], 0),
        link(8, "near0", own, 0),
        link(9, "wwan0", own, 50),
    ]);
    network.links[0].is_loopback = true;
    network.links[2].is_up = false;
    network.links[5].alias = TUN_ALIAS.to_owned();
    network
        .addresses
        .iter_mut()
        .find(|a| a.link == 8)
        .unwrap()
        .is_routable = false;
    assert_eq!(
        names(&all(&network, &[REMOTE])),
        ["wwan0", "eth0"],
        "the lowest metric first"
    );
    network.routes.retain(|route| route.link != 9);
    assert_eq!(names(&all(&network, &[REMOTE])), ["eth0"]);
    let no_address = "no routable address of the family of the target of a path";
    assert_eq!(
        obstacles(&network, &targets(&[REMOTE]), |name| name != "pp0"),
        [
            "down0: down or without a carrier".to_owned(),
            format!("bare0: {no_address}"),
            "pp0: excluded by `auto`".to_owned(),
            format!("six0: {no_address}"),
            format!("near0: {no_address}"),
            "wwan0: no route to the target of a path".to_owned(),
        ]
    );
    assert_eq!(names(&all(&network, &["2001:db8::9"])), ["six0"]);
}

#[test]
fn the_preferred_source_matches_the_targets_scope_and_is_primary() {
    let own = ["fd00::1", "2001:db8::1", "2001:db8::2", "10.0.0.1"];
    let mut network = network(&[link(2, "eth0", &own, 0)]);
    network.addresses[1].is_secondary = true;
    let sources = |to| sources(&network, 2, targets(&[to])[0]);
    assert_eq!(
        sources("2001:db9::1"),
        targets(&["2001:db8::2", "2001:db8::1", "fd00::1"])
    );
    assert_eq!(sources("fd00::9")[0], targets(&["fd00::1"])[0]);
    assert_eq!(sources(REMOTE), targets(&["10.0.0.1"]));
}

#[test]
fn a_returning_uplink_gets_its_former_path() {
    let (one, two, three) = (
        link(2, "one", &["10.0.1.1"], 1),
        link(3, "two", &["10.0.2.1"], 2),
        link(4, "three", &["10.0.3.1"], 3),
    );
    let existing = |links: &[TestLink<'_>]| all(&network(links), &[REMOTE, REMOTE, REMOTE]);
    let mut assignment = UplinkAssignment::new(3);
    assert!(assignment.assign(&existing(&[two, one])).is_empty());
    assert_eq!(assigned(&assignment), [Some("one"), Some("two"), None]);
    assignment.assign(&existing(&[two]));
    assert_eq!(assigned(&assignment), [None, Some("two"), None]);
    assignment.assign(&existing(&[two, three]));
    assert_eq!(assigned(&assignment), [None, Some("two"), Some("three")]);
    // Another interface of the same name, such as a modem that was plugged in again.
    let again = link(9, "one", &["10.0.1.7"], 9);
    assignment.assign(&existing(&[two, three, again]));
    assert_eq!(
        assigned(&assignment),
        [Some("one"), Some("two"), Some("three")]
    );
    assert_eq!(assignment.of(0).unwrap().source, targets(&["10.0.1.7"])[0]);
    let four = link(5, "four", &["10.0.4.1"], 0);
    assert_eq!(
        assignment.assign(&existing(&[two, three, again, four])),
        ["four"]
    );
    assert_eq!(
        assigned(&assignment),
        [Some("one"), Some("two"), Some("three")]
    );
}

#[test]
fn a_source_address_is_kept_while_it_exists() {
    let existing = |own: &[&str]| all(&network(&[link(2, "eth0", own, 0)]), &[REMOTE]);
    let mut assignment = UplinkAssignment::new(1);
    let mut source = |own: &[&str]| {
        assignment.assign(&existing(own));
        assignment.of(0).map(|uplink| uplink.source.to_string())
    };
    assert_eq!(source(&["10.0.0.1"]).unwrap(), "10.0.0.1");
    assert_eq!(source(&["10.0.0.9", "10.0.0.1"]).unwrap(), "10.0.0.1");
    assert_eq!(source(&["10.0.0.9"]).unwrap(), "10.0.0.9");
    assert_eq!(source(&[]), None);
}

#[test]
fn a_deprecated_source_address_is_replaced() {
    let own = ["2001:db8:1::1", "2001:db8:2::1"];
    let mut assignment = UplinkAssignment::new(1);
    let mut source = |own: &[&str], deprecated: &[usize]| {
        let mut network = network(&[link(2, "eth0", own, 0)]);
        for index in deprecated {
            network.addresses[*index].is_deprecated = true;
        }
        assignment.assign(&all(&network, &["2001:db9::1"]));
        assignment.of(0).unwrap().source.to_string()
    };
    assert_eq!(source(&own[..1], &[]), own[0]);
    assert_eq!(source(&own[..1], &[0]), own[0], "no other address exists");
    assert_eq!(
        source(&own, &[0, 1]),
        own[0],
        "the other address is not better"
    );
    assert_eq!(source(&own, &[0]), own[1]);
    assert_eq!(source(&own, &[]), own[1], "it is kept");
}

#[test]
fn an_uplink_that_can_carry_one_path_only_gets_that_path() {
    let both = link(2, "both", &["10.0.1.1", "2001:db8::1"], 1);
    let four = link(3, "four", &["10.0.2.1"], 2);
    let mut assignment = UplinkAssignment::new(2);
    assignment.assign(&all(&network(&[both, four]), &[REMOTE, "2001:db8::9"]));
    assert_eq!(assigned(&assignment), [Some("four"), Some("both")]);
}

/// Eight interfaces that may exist: for each the paths, of four, that it can carry, and its metric.
fn links() -> impl Strategy<Value = Vec<Option<([bool; 4], u32)>>> {
    let link = (any::<[bool; 4]>(), 0..4_u32);
    prop::collection::vec(prop::option::weighted(0.6, link), 8)
}

fn uplinks_of(links: &[Option<([bool; 4], u32)>]) -> Vec<Uplink> {
    let links = links.iter().enumerate();
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
    fn the_assignment_is_maximal_and_stable(steps in prop::collection::vec(links(), 1..12)) {
        let _lock = crate::test_lock::shared();
        let mut assignment = UplinkAssignment::new(4);
        for step in steps {
            let uplinks = uplinks_of(&step);
            let before = assignment.clone();
            let surplus = assignment.assign(&uplinks);
            let carries = |name: &str, path| uplinks.iter().any(|u| u.name == name && u.carries(path));
            let now = assigned(&assignment);
            for (path, name) in now.iter().enumerate() {
                let Some(name) = *name else { continue };
                prop_assert!(carries(name, path), "{name} cannot carry path {path}");
                let twice = now.iter().filter(|other| **other == Some(name)).count();
                prop_assert_eq!(twice, 1, "{} has several paths", name);
                prop_assert!(!surplus.iter().any(|surplus| surplus == name));
            }
            for (path, had) in assigned(&before).into_iter().enumerate() {
                if let Some(had) = had.filter(|had| carries(had, path)) {
                    prop_assert_eq!(now[path], Some(had), "an uplink that stays keeps its path");
                }
            }
            for name in &surplus {
                let idle = (0..4).find(|path| now[*path].is_none() && carries(name, *path));
                prop_assert_eq!(idle, None, "{} has no path, and a path waits", name);
            }
            let known = uplinks.iter().filter(|u| now.contains(&Some(&*u.name))).count();
            prop_assert_eq!(known + surplus.len(), uplinks.len());
            let decided = assignment.clone();
            prop_assert_eq!(assignment.assign(&uplinks), surplus, "nothing changes");
            prop_assert_eq!(&assignment, &decided);
        }
    }
}
