//! The policy over scripted paths.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::frame::PathId;
use crate::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketMeta};
use crate::rng::Seed;
use crate::tariff::Tariffs;

mod flows;
mod growth;
mod network;
mod properties;
mod rules;

use network::Network;

const MS: Duration = Duration::from_millis(1);
/// The interval between data packets.
const INTERVAL: Duration = Duration::from_millis(10);

fn pure(hysteresis: u64) -> DelayCentricConfig {
    DelayCentricConfig::DelayCentric(ReactiveConfig {
        hysteresis: MS * hysteresis,
        ..ReactiveConfig::default()
    })
}

fn guarded(least: u64, most: u64) -> DelayCentricConfig {
    with_guard(GuardKind::Confirm, least, most)
}

fn holding(least: u64, most: u64) -> DelayCentricConfig {
    with_guard(GuardKind::Hold, least, most)
}

fn with_guard(kind: GuardKind, least: u64, most: u64) -> DelayCentricConfig {
    let guard = Guard {
        least: MS * least,
        most: MS * most,
        kind,
    };
    DelayCentricConfig::DelayCentric(ReactiveConfig {
        hysteresis: MS * 10,
        guard,
        ..ReactiveConfig::default()
    })
}

fn predictive(trend: TrendRule) -> DelayCentricConfig {
    DelayCentricConfig::PredictiveDelayCentric(PredictiveConfig {
        threshold: MS * 70,
        trend,
        ..PredictiveConfig::default()
    })
}

fn policy(config: DelayCentricConfig, paths: u8) -> DelayCentric {
    config.build(context(paths, 1))
}

fn context(paths: u8, seed: u64) -> PolicyContext {
    PolicyContext {
        paths,
        start: None,
        pair_interval: Duration::from_secs(1),
        epoch: Epoch::default(),
        tariffs: Tariffs::default(),
        acknowledges: true,
        stream: Seed(seed).stream("delay-centric"),
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

fn packet() -> PacketMeta {
    PacketMeta {
        version: IpVersion::V4,
        protocol: 17,
        flow: FlowId(1),
        kind: Kind::Opaque,
        size: 250,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: None,
        class: None,
    }
}

/// The switches if the first path becomes slow after 3 s and fast again after 6 s.
fn switch_history(config: DelayCentricConfig) -> String {
    let mut network = Network::new(policy(config, 2), &[20, 25]);
    network.run(at(3000));
    network.round_trips[0] = Some(MS * 120);
    network.run(at(6000));
    network.round_trips[0] = Some(MS * 12);
    network.run(at(60_000));
    let actions = network.actions.iter();
    let lines = actions.filter_map(|(at, action)| match action {
        Action::Switched { from, to } => {
            Some(format!("{} ms: {} to {}\n", at.0 / 1_000_000, from.0, to.0))
        }
        _ => None,
    });
    lines.collect()
}

/// The same seed gives the same switches on every platform.
#[test]
fn switch_times_are_golden() {
    let kinds = [
        ("pure", pure(10)),
        ("guard time of 1 s", guarded(1000, 1000)),
        ("guard time of 1 to 4 s", guarded(1000, 4000)),
        ("held for 1 s", holding(1000, 1000)),
        ("predictive", predictive(TrendRule::Modified)),
    ];
    let histories = kinds.map(|(name, config)| format!("{name}\n{}", switch_history(config)));
    insta::assert_snapshot!(histories.concat(), @"
    pure
    3140 ms: 0 to 1
    33629 ms: 1 to 0
    guard time of 1 s
    4140 ms: 0 to 1
    35986 ms: 1 to 0
    guard time of 1 to 4 s
    5092 ms: 0 to 1
    37891 ms: 1 to 0
    held for 1 s
    3140 ms: 0 to 1
    34986 ms: 1 to 0
    predictive
    3130 ms: 0 to 1
    ");
}

#[test]
fn heartbeats_measure_the_path_without_data_at_random_intervals() {
    let mut network = Network::new(policy(pure(10), 3), &[20, 20, 25]);
    network.run(at(60_000));
    for path in [PathId(1), PathId(2)] {
        let sent = network.heartbeats(path);
        let gaps: Vec<Duration> = sent.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert!(gaps.len() > 50 && gaps.iter().all(|gap| (MS * 500..=MS * 1500).contains(gap)));
        let mean = gaps.iter().map(|gap| gap.as_secs_f64()).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.15, "{mean}");
    }
    assert!(network.heartbeats(PathId(0)).is_empty(), "it has data");
    network.interval = None;
    network.run(at(70_000));
    assert!(!network.heartbeats(PathId(0)).is_empty(), "it has none");
}

/// Answers to the heartbeats of liveness measure the path with data if data is not acknowledged.
#[test]
fn answers_of_liveness_measure_the_path_that_carries_data() {
    let unacknowledged = PolicyContext {
        acknowledges: false,
        ..context(2, 1)
    };
    let mut policy = pure(10).build(unacknowledged);
    let answer = |policy: &mut DelayCentric, ms, path, latest| {
        let health = Feedback::Health {
            path,
            rtt: MS,
            latest: MS * latest,
            lost: 0,
        };
        policy.handle_feedback(at(ms), health, &mut |_| {});
        policy.delay(path)
    };
    let (used, other) = (PathId(0), PathId(1));
    assert_eq!(answer(&mut policy, 0, used, 30), None, "no data yet");
    policy.route(
        at(1),
        &packet(),
        &Paths::trusted(PathSet::first(2)),
        &mut |_| {},
    );
    assert_eq!(answer(&mut policy, 31, used, 30), Some(MS * 30));
    assert_eq!(answer(&mut policy, 32, other, 20), None, "it has no data");
    assert_eq!(
        answer(&mut policy, 600, used, 90),
        Some(MS * 30),
        "no more data"
    );
}

#[test]
fn the_destination_of_a_pending_switch_has_fast_heartbeats() {
    let mut network = Network::new(policy(guarded(2000, 2000), 3), &[120, 20, 115]);
    network.run(at(8000));
    let (_, switched) = network.switches()[0];
    let fast = |path| {
        let sent = network.heartbeats(path);
        let gaps = sent.windows(2).map(|pair| pair[1].since(pair[0]));
        gaps.filter(|gap| *gap == MS * 20).count()
    };
    assert_eq!(switched, PathId(1));
    assert!((90..=100).contains(&fast(PathId(1))), "{}", fast(PathId(1)));
    assert_eq!(fast(PathId(2)), 0);
}

/// A guard time with heartbeats that wait for their answers, which take 100 ms.
#[test]
fn a_heartbeat_that_waits_follows_the_answer_to_the_one_before() {
    let heartbeats = Heartbeats {
        wait: true,
        ..Heartbeats::default()
    };
    let guard = Guard {
        least: MS * 2000,
        most: MS * 2000,
        ..Guard::default()
    };
    let waiting = DelayCentricConfig::DelayCentric(ReactiveConfig {
        guard,
        heartbeats,
        ..ReactiveConfig::default()
    });
    let mut network = Network::new(policy(waiting, 2), &[200, 100]);
    network.run(at(8000));
    let (switched, to) = network.switches()[0];
    assert_eq!(to, PathId(1));
    let sent = network.heartbeats(PathId(1));
    let before = sent.iter().filter(|at| **at < switched);
    let gaps = sent.windows(2).map(|pair| pair[1].since(pair[0]));
    let fast = gaps.clone().filter(|gap| *gap == MS * 120).count();
    // 2 s of 120 ms each: the round trip and the short interval.
    assert!((15..=17).contains(&fast), "{fast}");
    assert!(
        gaps.clone().all(|gap| gap >= MS * 120),
        "one is in flight at most"
    );
    assert!(before.count() > fast);
    // A path that does not answer gets one an interval after each timeout.
    network.round_trips[0] = None;
    let from = network.heartbeats(PathId(0)).len();
    network.run(at(28_000));
    let sent = &network.heartbeats(PathId(0))[from..];
    let gaps = sent.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.clone().count() > 5);
    let range = MS * 1500..=MS * 2500;
    assert!(gaps.skip(1).all(|gap| range.contains(&gap)), "{sent:?}");
}

/// The new path becomes worse immediately after the switch.
#[test]
fn a_holding_guard_time_permits_the_first_switch_and_delays_the_next() {
    let mut network = Network::new(policy(holding(2000, 2000), 3), &[120, 20, 115]);
    while network.switches().is_empty() {
        network.run(network.now + MS);
    }
    let (first, to) = network.switches()[0];
    assert!(
        first < at(2000),
        "the first answer to a heartbeat is enough"
    );
    assert_eq!(to, PathId(1));
    network.round_trips = [Some(MS * 20), Some(MS * 300), Some(MS * 40)].to_vec();
    network.run(first + MS * 1999);
    assert_eq!(network.switches().len(), 1);
    assert!(network.policy.is_in_guard_time());
    let fast = |path| {
        let sent = network.heartbeats(path);
        let gaps = sent.windows(2).map(|pair| pair[1].since(pair[0]));
        gaps.filter(|gap| *gap == MS * 20).count()
    };
    for path in [PathId(0), PathId(2)] {
        assert!((95..=100).contains(&fast(path)), "{}", fast(path));
    }
    network.run(first + MS * 2000);
    assert_eq!(network.switches()[1], (first + MS * 2000, PathId(0)));
}

/// The second path stops being better before the guard time ends.
#[test]
fn a_switch_is_cancelled_if_the_rule_no_longer_holds_after_the_guard_time() {
    let mut network = Network::new(policy(guarded(1000, 1000), 2), &[100, 20]);
    while !network.policy.is_in_guard_time() {
        network.run(network.now + MS * 10);
    }
    network.run(network.now + MS * 500);
    network.round_trips = [Some(MS * 20), Some(MS * 100)].to_vec();
    network.run(network.now + MS * 2000);
    assert_eq!(network.switches(), []);
    assert!(!network.policy.is_in_guard_time());
    assert_eq!(network.policy.current(), PathId(0));
}

/// The last answer took 5 ms; then the path stops answering.
#[test]
fn a_stale_estimate_attracts_no_data() {
    let mut network = Network::new(policy(guarded(4000, 4000), 2), &[20, 5]);
    network.run(at(4000));
    network.round_trips[1] = None;
    network.run(at(7000));
    assert_eq!(
        network.policy.delay(PathId(1)),
        None,
        "the estimate is discarded"
    );
    network.round_trips[0] = Some(MS * 900);
    network.run(at(30_000));
    assert_eq!(network.switches(), []);
    network.round_trips[1] = Some(MS * 5);
    network.run(at(40_000));
    assert_eq!(network.policy.current(), PathId(1), "it came back");
}

#[test]
fn data_leaves_an_unusable_path_with_the_next_packet() {
    let mut policy = policy(pure(10), 3);
    let usable = PathSet::first(3).without(PathSet::only(PathId(0)));
    let plan = policy.route(Time::ZERO, &packet(), &Paths::trusted(usable), &mut |_| {});
    assert_eq!(plan.copies, PathSet::only(PathId(1)));
    let none = Paths::trusted(PathSet::EMPTY);
    let plan = policy.route(Time::ZERO, &packet(), &none, &mut |_| {});
    assert_eq!(plan, Plan::default());
}

#[test]
fn a_packet_too_long_for_the_current_path_takes_the_best_wide_path_and_keeps_estimates() {
    let mut network = Network::new(policy(pure(10), 3), &[10, 40, 20]);
    network.run(at(20_000));
    let policy = &mut network.policy;
    let before = [0, 1, 2].map(|path| policy.delay(PathId(path)));
    assert!(before.iter().all(Option::is_some), "{before:?}");
    let usable = PathSet::first(3).without(PathSet::only(PathId(0)));
    let narrowed = Paths {
        usable,
        copies: usable,
        ..Paths::trusted(PathSet::first(3))
    };
    let mut actions = Vec::new();
    let plan = policy.route(network.now, &packet(), &narrowed, &mut |a| actions.push(a));
    assert_eq!(plan.copies, PathSet::only(PathId(2)));
    assert_eq!((policy.current(), actions), (PathId(0), Vec::new()));
    assert_eq!([0, 1, 2].map(|path| policy.delay(PathId(path))), before);
    let all = Paths::trusted(PathSet::first(3));
    let plan = policy.route(network.now, &packet(), &all, &mut |_| {});
    assert_eq!(plan.copies, PathSet::only(PathId(0)));
}

#[test]
fn estimates_from_before_an_outage_attract_no_data_afterwards() {
    let mut network = Network::new(policy(pure(10), 2), &[20, 15]);
    network.run(at(5000));
    assert!(network.policy.delay(PathId(1)).is_some());
    network.usable = PathSet::only(PathId(0));
    network.interval = Some(MS * 500);
    network.round_trips[0] = Some(MS * 40);
    network.run(at(3_605_000));
    assert_eq!(network.policy.delay(PathId(1)), None);
    network.usable = PathSet::first(2);
    network.interval = Some(INTERVAL);
    let before = network.heartbeats(PathId(1)).len();
    network.run(at(3_610_000));
    let heartbeat = network.heartbeats(PathId(1))[before];
    let data = network.sent.iter().find(|(_, path)| *path == PathId(1));
    let (data, _) = data.expect("it is better by 25 ms");
    assert!(*data >= heartbeat + MS * 15, "{data} after {heartbeat}");
}

#[test]
fn intervals_have_a_length_and_an_order() {
    assert_eq!(pure(10).check(), Ok(()));
    assert_eq!(guarded(1000, 1000).check(), Ok(()));
    let (least, most) = (MS * 4000, MS * 1000);
    let part = "guard";
    let wrong = DelayCentricError::Order { part, least, most };
    assert_eq!(guarded(4000, 1000).check(), Err(wrong));
    let short = Duration::from_micros(999);
    let with = |change: fn(&mut Heartbeats, Duration)| {
        let mut heartbeats = Heartbeats::default();
        change(&mut heartbeats, short);
        let config = DelayCentricConfig::DelayCentric(ReactiveConfig {
            hysteresis: MS,
            heartbeats,
            ..ReactiveConfig::default()
        });
        config.errors().collect::<Vec<_>>()
    };
    let too_short = |key| DelayCentricError::Short { key, span: short };
    let found = with(|heartbeats, short| heartbeats.least = short);
    assert_eq!(found, [too_short("heartbeats.least")]);
    let found = with(|heartbeats, short| heartbeats.in_guard = short);
    assert_eq!(found, [too_short("heartbeats.in_guard")]);
    let found = with(|heartbeats, short| heartbeats.timeout = short);
    assert_eq!(found, [too_short("heartbeats.timeout")]);
    let (part, least) = ("heartbeats", MS * 500);
    let wrong = DelayCentricError::Order {
        part,
        least,
        most: short,
    };
    assert_eq!(with(|heartbeats, short| heartbeats.most = short), [wrong]);
}
