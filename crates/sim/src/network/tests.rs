mod between_senders;
mod shared;

use super::*;
use crate::world::{PortInput, WorldOutput};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_link::DropReason;
use polypath_scenario::Scenario;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A packet with a number.
#[derive(Clone, Debug, PartialEq)]
struct Numbered(usize, usize);

impl Payload for Numbered {
    fn len(&self) -> usize {
        self.1
    }
}

const QUIET: &str = r#"
schema = 1
name = "quiet"
schemes = ["tcp"]
[transfer]
size = "10 kB"
count = 1
[[path]]
name = "short"
[[path.link]]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[path.link]]
rate = "5 Mbit/s"
delay = "3 ms"
queue = "2 packets"
[[path]]
name = "long"
[[path.link]]
rate = "10 Mbit/s"
delay = "100 ms"
queue = "50 packets"
"#;

fn scenario(text: &str, change: impl FnOnce(&mut Scenario)) -> Scenario {
    let mut scenario = Scenario::parse(text, "test.toml", &[]).unwrap();
    change(&mut scenario);
    scenario
}

fn port(path: u8, side: Side) -> PortId {
    PortId {
        path: PathId(path),
        side,
    }
}

/// Sends packets of 1000 B at 0 into a port; returns what happens to them, and when.
fn send(
    world: &mut World<Numbered>,
    into: PortId,
    count: usize,
) -> Vec<(u64, WorldOutput<Numbered>)> {
    let mut seen = Vec::new();
    for number in 0..count {
        let payload = Numbered(number, 1000);
        let input = Wake::Input(PortInput {
            port: into,
            payload,
        });
        step(world, Time::ZERO, input, &mut |o| seen.push((0, o)));
    }
    while let Some(deadline) = world.deadline() {
        let at = deadline.at;
        let next = step(world, at, Wake::Timeout, &mut |o| seen.push((at.0, o)));
        assert!(next.is_none_or(|d| d.at > at));
    }
    seen
}

#[test]
fn a_packet_leaves_at_the_other_end_of_its_path_after_its_links() {
    let scenario = scenario(QUIET, |_| {});
    let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
    let deliver = |side, path| WorldOutput::Deliver {
        port: port(path, side),
        payload: Numbered(0, 1000),
    };
    // 0.8 ms + 20 ms + 1.6 ms + 3 ms one way or the other; 0.8 ms + 100 ms on the other path.
    for (side, other) in [(Side::Server, Side::Client), (Side::Client, Side::Server)] {
        let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
        let seen = send(&mut world, port(0, side), 1);
        assert_eq!(seen, [(25_400_000, deliver(other, 0))]);
    }
    let seen = send(&mut world, port(1, Side::Server), 1);
    assert_eq!(seen, [(100_800_000, deliver(Side::Client, 1))]);
}

#[test]
fn forty_milliseconds_more_on_a_link_are_forty_more_on_the_way() {
    let delays = [20, 60].map(|ms| {
        let scenario = scenario(QUIET, |s| {
            s.paths[0].links[0].delay = Duration::from_millis(ms);
        });
        let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
        send(&mut world, port(0, Side::Client), 1)[0].0
    });
    assert_eq!(delays[1] - delays[0], 40 * MS);
}

#[test]
fn dropped_packets_are_returned_with_link_and_reason() {
    let scenario = scenario(QUIET, |_| {});
    let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
    // The second link takes two packets and is half as fast as the first: every other packet comes
    // at the instant at which one has left, which still has its place then.
    let seen = send(&mut world, port(0, Side::Server), 10);
    let (mut delivered, mut dropped) = (Vec::new(), Vec::new());
    for (_, output) in seen {
        match output {
            WorldOutput::Deliver { payload, .. } => delivered.push(payload.0),
            WorldOutput::Dropped {
                link,
                reason,
                payload,
            } => {
                assert_eq!(reason, DropReason::QueueFull);
                let name = world.links().find(|l| l.id == link).unwrap().name.clone();
                assert_eq!(name.towards, Some(Side::Client));
                assert_eq!(name.name, "short/link.1");
                dropped.push(payload.0);
            }
        }
    }
    assert!(delivered.is_sorted() && dropped.is_sorted());
    assert_eq!(delivered.len() + dropped.len(), 10);
    assert_eq!(
        dropped,
        [2, 4, 6, 8],
        "every other packet, once two are there"
    );
}

#[test]
fn a_packet_for_no_port_disappears() {
    let scenario = scenario(QUIET, |_| {});
    let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
    assert_eq!(send(&mut world, port(7, Side::Server), 1), []);
}

const LOADED: &str = r#"
schema = 1
name = "loaded"
schemes = ["tcp"]
[transfer]
size = "10 kB"
count = 1
[background.some]
hosts = 4
host_link = { rate = "10 Mbit/s", delay = "5 ms", queue = "50 packets" }
tcp = { idle = "100 ms", file = { mu = 9.0, sigma = 1.0 } }
udp = { peak = "800 kbit/s", on = "1 s", off = "1 s", packet = "1000 B" }
[[path]]
name = "a"
background = "some"
[[path.link]]
repeat = 4
rate = "10 Mbit/s"
delay = "5 ms"
queue = "20 packets"
[[path]]
name = "b"
background = "some"
[[path.link]]
repeat = 4
rate = "10 Mbit/s"
delay = "5 ms"
queue = "20 packets"
"#;

/// The bytes that each link of a path carried in 20 s, woken at multiples of `every`.
fn carried(scenario: &Scenario, path: u8, every: u64) -> Vec<u64> {
    let mut world = build::<Numbered>(scenario, Seed(1)).unwrap();
    for wake in 1..=20_000 / every {
        world.run_until(Time(wake * every * MS), &mut |_| {});
    }
    let links = world.links().filter(|l| l.name.path == Some(PathId(path)));
    links.map(|l| l.counters.bytes_transmitted).collect()
}

#[test]
fn background_loads_the_inner_links_alike_and_no_others() {
    let scenario = scenario(LOADED, |_| {});
    let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
    world.run_until(Time(200_000 * MS), &mut |_| {});
    let loads = |inner: bool| -> Vec<f64> {
        let links = world
            .links()
            .filter(|l| l.name.towards.is_some() && l.name.inner == inner);
        links.map(|l| l.counters.load(l.rate, 200.0)).collect()
    };
    assert!(loads(false).iter().all(|load| *load == 0.0));
    let inner = loads(true);
    let mean = inner.iter().sum::<f64>() / inner.len() as f64;
    assert_eq!(inner.len(), 2 * 2 * 2);
    // 4 sources of 0.4 Mbit/s and 4 sessions that send 13 kB about every 0.3 s.
    assert!((0.2..0.4).contains(&mean), "{mean}");
    assert!(
        inner.iter().all(|load| (load / mean - 1.0).abs() < 0.15),
        "{inner:?}"
    );
    let sinks = world.background();
    assert!(sinks.tcp > 0 && sinks.udp > 0, "{sinks:?}");
}

#[test]
fn late_wakes_do_not_change_the_background() {
    let scenario = scenario(LOADED, |_| {});
    assert_eq!(carried(&scenario, 0, 1), carried(&scenario, 0, 50));
}

#[test]
fn a_changed_path_leaves_the_background_of_the_others_as_it_is() {
    let before = scenario(LOADED, |_| {});
    let after = scenario(LOADED, |s| {
        s.paths[1].links[0].delay = Duration::from_millis(50);
    });
    assert_eq!(carried(&before, 0, 50), carried(&after, 0, 50));
    assert_ne!(carried(&before, 1, 50), carried(&after, 1, 50));
}

#[test]
fn background_needs_two_inner_nodes() {
    let mut scenario = scenario(LOADED, |_| {});
    scenario.paths[0].links[0].repeat = 2;
    let error = build::<Numbered>(&scenario, Seed(1)).unwrap_err();
    assert_eq!(error, BuildError::TooFewLinks("a".into()));
}

proptest! {
    #[test]
    fn every_packet_leaves_or_is_dropped_once_and_in_order(
        steps in proptest::collection::vec((0_u64..3, 0_u8..2, any::<bool>(), 1_usize..1500), 1..200),
        loss in 0.0..0.5,
    ) {
        let scenario = scenario(LOADED, |s| s.paths[0].links[0].loss = loss);
        let mut world = build::<Numbered>(&scenario, Seed(1)).unwrap();
        let mut outputs = Vec::new();
        let mut now = Time::ZERO;
        for (number, &(wait, path, to_client, size)) in steps.iter().enumerate() {
            now += Duration::from_millis(wait);
            let side = if to_client { Side::Server } else { Side::Client };
            let input = PortInput { port: port(path, side), payload: Numbered(number, size) };
            step(&mut world, now, Wake::Input(input), &mut |o| outputs.push(o));
        }
        world.run_until(now + Duration::from_secs(2), &mut |o| outputs.push(o));
        let mut seen = vec![0; steps.len()];
        let mut last = std::collections::BTreeMap::new();
        for output in outputs {
            match output {
                WorldOutput::Dropped { payload, .. } => seen[payload.0] += 1,
                WorldOutput::Deliver { port: at, payload } => {
                    let (_, path, to_client, _) = steps[payload.0];
                    let side = if to_client { Side::Client } else { Side::Server };
                    prop_assert_eq!(at, port(path, side));
                    prop_assert!(last.insert(at, payload.0).is_none_or(|l| l < payload.0));
                    seen[payload.0] += 1;
                }
            }
        }
        prop_assert!(seen.iter().all(|n| *n == 1));
    }
}
