//! Paths of different costs: a costly one carries what the free ones do not.

use alloc::vec;
use alloc::vec::Vec;

use super::network::{Network, TestPath};
use super::*;
use crate::class::{Class, Treatment};
use crate::units::Rate;

/// A free path and a costly one.
const COSTS: [Tariff; 2] = [cost(0), cost(1)];

const fn cost(cost: u8) -> Tariff {
    Tariff {
        cost,
        ..Tariff::FREE
    }
}

fn network(paths: [TestPath; 2], tariffs: &[Tariff], seed: u64) -> Network {
    Network::with_tariffs(policy(200, 10), paths.into(), seed, [tariffs; 2])
}

/// The slower path is free: the faster one is hardly used, whatever the order of the paths.
#[test]
fn a_costly_path_is_idle_while_a_free_one_suffices() {
    for (slow, costly) in [(0, SECOND), (1, FIRST)] {
        let delays = [[60, 20], [20, 60]][slow];
        let paths = delays.map(|delay| TestPath::new(delay, never));
        let tariffs = [[cost(0), cost(1)], [cost(1), cost(0)]][slow];
        let mut network = network(paths, &tariffs, 1);
        network.stream(30);
        let share = network.share(costly, 0..31);
        std::println!("idle: {:.3} % of the bytes", share * 100.0);
        assert!(share < 0.005, "{share}");
        assert!(network.late(MS * 200) < 1e-6);
    }
}

/// A free path also repairs what it loses, as long as there is time for another repair.
#[test]
fn losses_of_a_free_path_are_repaired_in_time_at_a_small_cost() {
    for seed in 1..=3 {
        let paths = [TestPath::new(20, random), TestPath::new(30, never)];
        let mut network = network(paths, &COSTS, seed);
        network.stream(60);
        let (share, late) = (network.share(SECOND, 0..61), network.late(MS * 200));
        std::println!(
            "2 % losses: {:.3} % of the bytes, {:.3} % late",
            share * 100.0,
            late * 100.0
        );
        assert!(share < 0.02, "{share}");
        assert!(late <= 0.000_2, "{late}");
    }
}

/// A free path that fails is replaced at once, and used again when it is back.
#[test]
fn a_costly_path_takes_over_and_returns_the_data() {
    let dead = |_: &mut Stream, now: Time| now >= at(10_000) && now < at(12_000);
    for seed in 1..=3 {
        let paths = [TestPath::new(20, dead), TestPath::new(30, never)];
        let mut network = network(paths, &COSTS, seed);
        network.stream(40);
        assert!(
            network.late(MS * 200) <= 0.000_2,
            "{}",
            network.late(MS * 200)
        );
        let [before, meanwhile, after] =
            [2..10, 11..12, 20..40].map(|seconds| network.share(SECOND, seconds));
        std::println!("an outage: {before:.4} before, {meanwhile:.3} in it, {after:.4} after");
        assert!(before < 0.005 && after < 0.005, "{before}, {after}");
        assert!(meanwhile > 0.95, "{meanwhile}");
        assert!(network.moves[0] < at(10_100), "{:?}", network.moves);
        assert_eq!(network.moves.len(), 2, "{:?}", network.moves);
        // Reports go where packets arrive: what has arrived is not taken for lost.
        let spent = network.statistics();
        let repairs = spent.repairs;
        std::println!("{repairs} repairs, {} given up", spent.given_up);
        assert!(repairs < 100, "{repairs}");
        assert_eq!(spent.given_up + spent.unaffordable, 0, "{spent:?}");
    }
}

/// A costly path that loses much itself repairs its losses while it replaces a free one.
#[test]
fn a_costly_path_repairs_its_own_losses() {
    let dead = |_: &mut Stream, now: Time| is_dead(now, 2);
    for seed in 1..=3 {
        let lossy = |stream: &mut Stream, _: Time| stream.chance(0.03);
        let paths = [TestPath::new(20, dead), TestPath::new(30, lossy)];
        let mut network = network(paths, &COSTS, seed);
        network.stream(40);
        let late = network.late(MS * 200);
        std::println!("{:.3} % late", late * 100.0);
        assert!(late <= 0.000_4, "{late}");
    }
}

/// A free path that loses packets which no repair would deliver in time does not suffice; where
/// none does, packets get copies on the costly one.
#[test]
fn losses_that_cannot_be_repaired_cost_more() {
    let tight = |paths: [TestPath; 2]| {
        let mut network = Network::with_tariffs(policy(50, 100), paths.into(), 1, [&COSTS; 2]);
        network.stream(30);
        (network.late(MS * 50), network.share(SECOND, 5..31))
    };
    let (late, share) = tight([TestPath::new(20, random), TestPath::new(30, never)]);
    std::println!("{:.3} % late, {share:.2} on the costly path", late * 100.0);
    assert!(late < 0.002 && share > 0.45, "{late}, {share}");
    let (late, share) = tight(randomly_lossy());
    std::println!("{:.3} % late, {share:.2} on the costly path", late * 100.0);
    assert!(
        late < 0.002 && (0.4..0.6).contains(&share),
        "{late}, {share}"
    );
    let (_, share) = tight([TestPath::new(20, never), TestPath::new(30, never)]);
    assert!(share < 0.005, "{share}");
}

/// Two free paths that lose less than [`MAX_UNREPAIRED`](crate::repair::MAX_UNREPAIRED) suffice
/// without time for a repair, also where all their packets have copies.
#[test]
fn copies_do_not_make_a_free_path_seem_worse() {
    let rarely = |delay| TestPath::new(delay, |stream, _| stream.chance(0.001));
    for seed in 1..=3 {
        let paths = vec![rarely(20), rarely(30), TestPath::new(25, never)];
        let tariffs = [cost(0), cost(0), cost(1)];
        let mut network = Network::with_tariffs(policy(60, 100), paths, seed, [&tariffs; 2]);
        network.stream(60);
        let share = network.share(PathId(2), 5..61);
        std::println!("copies: {:.3} % on the costly path", share * 100.0);
        assert!(share < 0.02, "{share}");
    }
}

/// Without time for a repair, copies go on the costly path if the second free one delivers too late.
#[test]
fn copies_cost_more_where_a_free_one_would_be_late() {
    let tariffs = [cost(0), cost(0), cost(1)];
    let paths = vec![
        TestPath::new(20, random),
        TestPath::new(80, never),
        TestPath::new(30, never),
    ];
    let mut network = Network::with_tariffs(policy(60, 100), paths, 1, [&tariffs; 2]);
    network.stream(40);
    let (late, share) = (network.late(MS * 60), network.share(PathId(2), 5..41));
    std::println!("{late:.5} late, {share:.2} on the costly path");
    assert!(late < 0.002 && share > 0.4, "{late}, {share}");
}

/// The deadline of a class, shorter than that of the policy, does not make a free path insufficient:
/// its packets get no copies on the costly path.
#[test]
fn the_deadline_of_a_class_makes_no_path_costly() {
    let everything = Class {
        name: "everything".into(),
        dscp: Vec::new(),
        protocol: None,
        ports: Vec::new(),
        treatment: Treatment::Media,
        deadline: Some(MS * 50),
    };
    let end = EndpointConfig {
        classes: [everything].into_iter().collect(),
        tariffs: COSTS.into_iter().collect(),
        ..config(PolicyConfig::InTime(policy(200, 10)))
    };
    let paths = [TestPath::new(20, random), TestPath::new(30, never)];
    let mut network = Network::with_config(&end, paths.into(), 1);
    network.stream(30);
    let share = network.share(SECOND, 2..31);
    std::println!("{:.3} % on the costly path", share * 100.0);
    assert!(share < 0.02, "{share}");
}

/// Of two free paths that do not suffice, one may be much worse: data is on the costly one.
#[test]
fn a_costly_path_is_tried_beside_several_free_ones() {
    let lossy = |delay| TestPath::new(delay, |stream, _| stream.chance(0.08));
    let paths = vec![lossy(20), lossy(22), TestPath::new(60, never)];
    let tariffs = [cost(0), cost(0), cost(1)];
    let mut network = Network::with_tariffs(policy(200, 10), paths, 1, [&tariffs; 2]);
    network.stream(30);
    let (late, share) = (network.late(MS * 200), network.share(PathId(2), 5..31));
    std::println!("{:.3} % late, {share:.2} on the costly path", late * 100.0);
    assert!(late < 0.002 && share > 0.5, "{late}, {share}");
}

/// The free path carries two thirds: the costly one gets the rest, and not the whole stream.
#[test]
fn a_costly_path_carries_the_excess_alone() {
    let free = TestPath::limited(20, Rate::from_mbits(4));
    let costly = TestPath::limited(30, Rate::from_mbits(20));
    let mut network = network([free, costly], &COSTS, 1);
    network.interval = Duration(1344 * 8 * 1_000_000 / 6000);
    network.stream(40);
    let late = network.late(MS * 200);
    let share = network.share(SECOND, 10..40);
    std::println!(
        "6 Mbit/s, 4 free: {share:.3} on the costly path, {:.3} % late",
        late * 100.0
    );
    assert!(late <= 0.002, "{late}");
    // Of 6.27 Mbit/s with headers, 2.27 exceed the free path: .36.
    assert!((0.34..0.45).contains(&share), "{share}");
}

/// TCP takes what it gets, and so gets the free path alone.
#[test]
fn segments_use_the_free_path_alone() {
    let paths = [10, 10].map(|rate| TestPath::limited(20, Rate::from_mbits(rate)));
    let mut network = network(paths, &COSTS, 1);
    network.kind = Kind::Data;
    network.interval = Duration(1344 * 8 * 1_000_000 / 24_000);
    network.stream(20);
    let share = network.share(SECOND, 5..20);
    std::println!("TCP: {share:.4} on the costly path");
    assert!(share < 0.02, "{share}");
    let arrived = network.arrived.iter().flatten().count() as f64;
    let goodput = arrived / network.sent.len() as f64 * 24.0;
    assert!(goodput > 9.0, "{goodput} Mbit/s");
}

/// A free path that loses more than can be repaired does not suffice.
#[test]
fn a_free_path_that_loses_too_much_is_left() {
    let lossy = TestPath::new(20, |stream, _| stream.chance(0.15));
    let mut network = network([lossy, TestPath::new(30, never)], &COSTS, 1);
    network.stream(30);
    assert_eq!(network.ends[0].active(), Some(SECOND));
    assert!(network.late(MS * 200) < 0.002, "{}", network.late(MS * 200));
}

/// Without a difference of costs nothing differs.
#[test]
fn equal_costs_are_no_costs() {
    let bytes = |tariffs: &[Tariff]| {
        let mut network = network(randomly_lossy(), tariffs, 1);
        network.stream(10);
        network.path_bytes
    };
    assert_eq!(bytes(&[]), bytes(&[cost(3), cost(3)]));
}
