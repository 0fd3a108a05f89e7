//! Queues and recorded rates in a network: waiting packets, marks, and unlimited queues.

use polypath_core::frame::{PathId, Payload};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_link::{DropReason, MAX_PACKETS};
use polypath_scenario::Scenario;
use polypath_sim::{PortId, PortInput, Side, World, WorldOutput, network};
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
struct Packet {
    number: usize,
    ecn: Ecn,
}

impl Payload for Packet {
    fn len(&self) -> usize {
        1000
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// Two links, the second with a tenth of the rate and with `queue`.
fn world(queue: &str) -> World<Packet> {
    let text = format!(
        r#"schema = 1
name = "queues"
schemes = ["tcp"]
transfer = {{ size = "10 kB", count = 1 }}
[[path]]
name = "p"
[[path.link]]
rate = "100 Mbit/s"
delay = "1 ms"
queue = "unlimited"
[[path.link]]
delay = "5 ms"
{queue}
"#
    );
    let mut files = |_: &str| Ok(b"1\n2\n5\n".to_vec());
    let scenario = Scenario::parse_with(&text, "s.toml", &[], &mut files).unwrap();
    network::build(&scenario, Seed(1)).unwrap()
}

fn input(number: usize, ecn: Ecn) -> Wake<PortInput<Packet>> {
    Wake::Input(PortInput {
        port: PortId {
            path: PathId(0),
            side: Side::Server,
        },
        payload: Packet { number, ecn },
    })
}

/// Sends a packet every `gap` and returns the packets that leave the network, with their times.
/// With `punctual` the world is woken at all its deadlines, otherwise only with inputs and at the
/// end.
fn send(
    world: &mut World<Packet>,
    count: usize,
    gap: Duration,
    ecn: Ecn,
    punctual: bool,
) -> Vec<(Time, Packet)> {
    let mut seen = Vec::new();
    let mut now = Time::ZERO;
    for number in 0..count {
        while punctual && let Some(due) = world.deadline().filter(|d| d.at <= now) {
            step(world, due.at, Wake::Timeout, &mut |o| {
                see(&mut seen, due.at, o);
            });
        }
        step(world, now, input(number, ecn), &mut |o| {
            see(&mut seen, now, o);
        });
        now += gap;
    }
    while let Some(due) = world.deadline() {
        step(world, due.at, Wake::Timeout, &mut |o| {
            see(&mut seen, due.at, o);
        });
    }
    seen
}

fn see(seen: &mut Vec<(Time, Packet)>, at: Time, output: WorldOutput<Packet>) {
    if let WorldOutput::Deliver { payload, .. } = output {
        seen.push((at, payload));
    }
}

fn numbers(seen: &[(Time, Packet)]) -> Vec<usize> {
    seen.iter().map(|(_, packet)| packet.number).collect()
}

const CODEL: &str = "rate = \"10 Mbit/s\"\nqueue = { kind = \"codel\", limit = \"1000 packets\" }";

proptest! {
    /// A late driver changes nothing inside the world.
    #[test]
    fn a_link_that_holds_packets_does_not_care_how_often_it_is_woken(
        gap in 100_u64..2000,
        count in 1_usize..600,
        codel: bool,
        traced: bool,
    ) {
        let queue = if codel { "{ kind = \"codel\", limit = \"100 packets\" }" } else { "\"100 packets\"" };
        let rate = if traced { "trace = \"t\"" } else { "rate = \"10 Mbit/s\"" };
        let text = format!("{rate}\nqueue = {queue}");
        let gap = Duration::from_micros(gap);
        let [often, rarely] = [true, false].map(|punctual| {
            let mut world = world(&text);
            let seen = send(&mut world, count, gap, Ecn::NotEct, punctual);
            let counters: Vec<_> = world.links().map(|link| link.counters).collect();
            (numbers(&seen), counters, world.next_departure())
        });
        prop_assert_eq!(&often, &rarely);
        prop_assert!(often.0.is_sorted());
        prop_assert_eq!(often.2, None);
    }
}

#[test]
fn codel_drops_what_stays_and_marks_what_can_be_marked() {
    let gap = Duration::from_micros(600);
    let mut plain = world(CODEL);
    let delivered = send(&mut plain, 3000, gap, Ecn::Ect0, true);
    let marking = CODEL.replace("packets\"", "packets\", ecn = true");
    let mut world = world(&marking);
    let marked = send(&mut world, 3000, gap, Ecn::Ect0, true);
    let drops =
        |world: &World<Packet>| world.links().map(|l| l.counters.drops.sojourn).sum::<u64>();
    assert_eq!(delivered.len() as u64, 3000 - drops(&plain));
    assert!(drops(&plain) > 10);
    assert!(delivered.iter().all(|(_, packet)| packet.ecn == Ecn::Ect0));
    assert_eq!((marked.len(), drops(&world)), (3000, 0));
    let ce = marked.iter().filter(|(_, p)| p.ecn == Ecn::Ce).count() as u64;
    assert!(ce > 10);
    let counted = world
        .links()
        .map(|l| l.counters.packets_marked)
        .sum::<u64>();
    assert_eq!(ce, counted);
}

#[test]
fn a_recorded_rate_delivers_at_its_opportunities() {
    let mut world = world("trace = \"t\"\nqueue = \"unlimited\"");
    // They arrive at the second link 1.08 ms, 1.16 ms and so on after the start; opportunities are
    // at 1, 2, 5, 6, 7, 10 ms, of 1500 B each.
    let seen = send(&mut world, 6, Duration::ZERO, Ecn::NotEct, true);
    let ms: Vec<f64> = seen
        .iter()
        .map(|(at, _)| at.as_secs_f64() * 1e3 - 5.0)
        .collect();
    assert_eq!(ms, [2.0, 5.0, 5.0, 6.0, 7.0, 7.0]);
}

#[test]
fn a_queue_without_end_is_named_when_it_overflows() {
    let mut world = world("rate = \"1 bit/s\"\nqueue = \"unlimited\"");
    let mut overflowed = 0;
    let mut out = |output: WorldOutput<Packet>| {
        if let WorldOutput::Dropped { reason, .. } = output {
            assert_eq!(reason, DropReason::Overflow);
            overflowed += 1;
        }
    };
    let mut now = Time::ZERO;
    for number in 0..MAX_PACKETS as usize + 2 {
        step(&mut world, now, input(number, Ecn::NotEct), &mut out);
        now += Duration::from_micros(80);
    }
    world.run_until(now + Duration::from_millis(2), &mut out);
    assert_eq!(overflowed, 2);
    let overflow = world.overflow().expect("an overflow").to_string();
    assert!(
        overflow.starts_with("the queue of link `p/link.1` held 1048576 packets at 83."),
        "{overflow}"
    );
}
