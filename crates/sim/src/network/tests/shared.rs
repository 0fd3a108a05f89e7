//! Links that paths share, backgrounds that differ by direction, and copies of a network.

use super::*;
use crate::world::path_load;

fn path(name: &str, inner: &str) -> String {
    let link = |name: &str, more: &str| {
        format!(
            "[[path.link]]\nname = \"{name}\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"20 packets\"\n{more}\n"
        )
    };
    let shared = link("first", "shared = true") + &link("second", inner);
    format!(
        "[[path]]\nname = \"{name}\"\nbackground = \"some\"\n{shared}{}",
        link("own", "repeat = 3")
    )
}

/// Two paths over one first link, and over one second one with `inner`.
fn sharing(inner: &str) -> Scenario {
    let head = &LOADED[..LOADED.find("[[path]]").unwrap()];
    let text = format!("{head}{}{}", path("a", inner), path("b", inner));
    Scenario::parse(&text, "shared.toml", &[]).unwrap()
}

#[test]
fn packets_of_two_paths_wait_in_one_queue() {
    let mut quiet = sharing("shared = true");
    quiet.background = polypath_scenario::Background::Off;
    let mut world = build::<Numbered>(&quiet, Seed(1)).unwrap();
    let mut left = Vec::new();
    for (number, id) in [(0, 0), (1, 1)] {
        let payload = Numbered(number, 1000);
        let input = PortInput {
            port: port(id, Side::Server),
            payload,
        };
        world.handle_input(Time::ZERO, input, &mut |_| {});
    }
    while let Some(at) = world.run_until_output(Time(MS * 1000), &mut |o| left.push(o)) {
        left.push(WorldOutput::Dropped {
            link: crate::LinkId(0),
            reason: DropReason::QueueFull,
            payload: Numbered(usize::try_from(at.0).unwrap(), 0),
        });
    }
    let times: Vec<usize> = left
        .iter()
        .filter_map(|o| match o {
            WorldOutput::Dropped { payload, .. } => Some(payload.0),
            WorldOutput::Deliver { .. } => None,
        })
        .collect();
    assert_eq!(
        times,
        [29_000_000, 29_800_000],
        "the second waits for the first, 0.8 ms"
    );
    let crossed = |name: &str| -> Vec<u64> {
        let links = world.links().filter(|l| l.name.name == name);
        links.map(|l| l.counters.packets_delivered).collect()
    };
    assert_eq!(
        crossed("first.0"),
        [2, 0],
        "one link, both packets, one way"
    );
    assert_eq!(crossed("a/own.0"), [1, 0]);
}

#[test]
fn shared_links_carry_both_backgrounds_and_belong_to_no_path() {
    let load = |scenario: &Scenario, name: &str| {
        let mut world = build::<Numbered>(scenario, Seed(1)).unwrap();
        world.run_until(Time(100_000 * MS), &mut |_| {});
        let loads: Vec<_> = world
            .links()
            .map(|l| (l.name.clone(), l.counters.load(l.rate, 100.0)))
            .collect();
        let of_path =
            path_load(loads.iter().map(|(n, l)| (n, *l)), PathId(0), Side::Client).unwrap();
        let found = loads
            .iter()
            .find(|(n, _)| n.name == name && n.towards == Some(Side::Client));
        (found.unwrap().1, of_path)
    };
    let (shared, own) = load(&sharing("shared = true"), "second.0");
    let (apart, alone) = load(&sharing(""), "a/second.0");
    assert!((1.5..2.5).contains(&(shared / apart)), "{shared} {apart}");
    assert!(
        (0.7..1.3).contains(&(own / alone)),
        "{own} {alone}: of the links that are not shared"
    );
}

#[test]
fn the_way_back_has_a_background_of_its_own() {
    let mut scenario = scenario(LOADED, |_| {});
    if let polypath_scenario::Background::Profiles(profiles) = &mut scenario.background {
        let mut light = profiles["some"].clone();
        light.tcp = None;
        light.udp.as_mut().unwrap().off = Duration::from_secs(3);
        profiles.insert("light".into(), light);
    }
    scenario.paths[0].background_back = Some("light".into());
    let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
    world.run_until(Time(200_000 * MS), &mut |_| {});
    let loads: Vec<_> = world
        .links()
        .map(|l| (l.name.clone(), l.counters.load(l.rate, 200.0)))
        .collect();
    let [there, back] = [Side::Client, Side::Server]
        .map(|side| path_load(loads.iter().map(|(n, l)| (n, *l)), PathId(0), side).unwrap());
    assert!(back < 0.5 * there, "{there} {back}");
}

#[test]
fn a_copy_continues_alike_and_independently() {
    let scenario = scenario(LOADED, |_| {});
    let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
    world.run_until(Time(5000 * MS), &mut |_| {});
    let (mut copy, mut other) = (world.clone(), world.clone());
    let payload = Numbered(1, 1500);
    let input = PortInput {
        port: port(0, Side::Server),
        payload,
    };
    other.handle_input(Time(5000 * MS), input, &mut |_| {});
    let counters = |world: &mut World<Numbered>| -> Vec<_> {
        world.run_until(Time(20_000 * MS), &mut |_| {});
        world.links().map(|l| l.counters).collect()
    };
    let of_other = counters(&mut other);
    let of_world = counters(&mut world);
    assert_eq!(counters(&mut copy), of_world);
    assert_ne!(of_other, of_world, "what happens in a copy stays there");
}
