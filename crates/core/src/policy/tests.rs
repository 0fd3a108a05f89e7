use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::frame::Epoch;
use crate::packet::{Dscp, Ecn, FlowId, IpVersion, PacketMeta};
use crate::rng::Seed;
use crate::tariff::Tariffs;
use crate::time::{Duration, Time};

/// One configuration of each policy.
fn all() -> [PolicyConfig; 9] {
    [
        PolicyConfig::single_path(0),
        PolicyConfig::DuplicateAcks { path: 0 },
        PolicyConfig::DuplicateAll {},
        PolicyConfig::Diversity(DiversityConfig::default()),
        PolicyConfig::probe_and_switch(0),
        PolicyConfig::RoundRobin {
            weights: Weights::default(),
        },
        PolicyConfig::DelayCentric(ReactiveConfig::default()),
        PolicyConfig::PredictiveDelayCentric(PredictiveConfig::default()),
        PolicyConfig::DelayGrowth(GrowthConfig::default()),
    ]
}

fn round_robin(weights: &[u8]) -> PolicyConfig {
    PolicyConfig::RoundRobin {
        weights: Weights::new(weights).unwrap(),
    }
}

fn context(paths: u8) -> PolicyContext {
    PolicyContext {
        paths,
        start: None,
        pair_interval: Duration::from_secs(1),
        epoch: Epoch::default(),
        tariffs: Tariffs::default(),
        acknowledges: false,
        stream: Seed(1).stream("policy"),
    }
}

fn packet(kind: Kind) -> PacketMeta {
    PacketMeta {
        version: IpVersion::V4,
        protocol: 6,
        flow: FlowId(1),
        kind,
        size: 1000,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        ports: None,
        class: None,
    }
}

fn paths(n: u8) -> Paths {
    Paths::trusted(PathSet::first(n))
}

fn plan(policy: &mut dyn PathPolicy, kind: Kind, n: u8) -> Plan {
    policy.route(Time::ZERO, &packet(kind), &paths(n), &mut |_| {})
}

#[test]
fn each_policy_routes_each_kind_of_packet_on_three_paths() {
    let all = PathSet::first(3);
    let second = PathSet::only(PathId(1));
    let none = PathSet::EMPTY;
    let probing = PolicyConfig::probe_and_switch(1);
    let golden = [
        (PolicyConfig::single_path(1), Kind::PureAck, second, none),
        (PolicyConfig::single_path(1), Kind::Data, second, none),
        (
            PolicyConfig::DuplicateAcks { path: 1 },
            Kind::PureAck,
            all,
            none,
        ),
        (
            PolicyConfig::DuplicateAcks { path: 1 },
            Kind::Control,
            all,
            none,
        ),
        (
            PolicyConfig::DuplicateAcks { path: 1 },
            Kind::Data,
            second,
            none,
        ),
        (
            PolicyConfig::DuplicateAcks { path: 1 },
            Kind::Opaque,
            second,
            none,
        ),
        (round_robin(&[0, 1]), Kind::PureAck, second, none),
        (round_robin(&[0, 1]), Kind::Data, second, none),
        (PolicyConfig::DuplicateAll {}, Kind::Data, all, none),
        (PolicyConfig::DuplicateAll {}, Kind::Opaque, all, none),
        (probing, Kind::PureAck, all, none),
        (probing, Kind::Control, all, none),
        (probing, Kind::Data, second, all.without(second)),
        (probing, Kind::Opaque, second, all.without(second)),
    ];
    for (config, kind, copies, probes) in golden {
        let mut policy = config.build(context(3));
        let expected = Plan {
            probes,
            ..Plan::copies(copies)
        };
        assert_eq!(
            plan(policy.as_mut(), kind, 3),
            expected,
            "{config:?} {kind:?}"
        );
    }
}

#[test]
fn the_properties_of_a_policy_are_those_of_its_plans() {
    let all_paths = PathSet::first(3);
    for config in all() {
        let mut policy = config.build(context(3));
        for kind in [Kind::PureAck, Kind::Control, Kind::Data, Kind::Opaque] {
            let plan = plan(policy.as_mut(), kind, 3);
            assert_eq!(
                plan.copies == all_paths,
                config.copies(kind),
                "{config:?} {kind:?}"
            );
        }
        let plan = plan(policy.as_mut(), Kind::Data, 3);
        assert_eq!(!plan.probes.is_empty(), config.probes(), "{config:?}");
        let used = plan.copies.or(plan.probes);
        assert_eq!(used == all_paths, config.uses_all_paths(), "{config:?}");
        if let Some(path) = config.fixed_path() {
            assert_eq!(plan.copies, PathSet::only(path), "{config:?}");
        }
        assert_eq!(config.check(3), Ok(()), "{config:?}");
    }
}

#[test]
fn a_policy_starts_in_the_epoch_and_on_the_path_of_its_context() {
    for config in all() {
        let policy = config.build(PolicyContext {
            start: Some(PathId(2)),
            epoch: Epoch(7),
            ..context(3)
        });
        assert!(
            policy.active().is_none_or(|path| path == PathId(2)),
            "{config:?}"
        );
        let epoch = if config.properties().switches { 7 } else { 0 };
        assert_eq!(policy.epoch(), Epoch(epoch), "{config:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn the_name_of_a_policy_is_the_kind_of_its_table() {
    use alloc::string::ToString;
    let schema = schemars::schema_for!(PolicyConfig).as_value().to_string();
    let in_time = PolicyConfig::InTime(RepairConfig::default());
    let all: alloc::vec::Vec<_> = all().into_iter().chain([in_time]).collect();
    for config in &all {
        let tag = alloc::format!("\"const\":\"{}\"", config.name());
        assert_eq!(schema.matches(&tag).count(), 1, "{tag} in {schema}");
    }
    assert_eq!(
        schema.matches("\"required\":[\"kind\"]").count(),
        all.len(),
        "{schema}"
    );
}

#[test]
fn an_unusable_path_carries_nothing() {
    let usable = PathSet::first(3).without(PathSet::only(PathId(1)));
    for config in all() {
        let mut policy = config.build(context(3));
        let plan = policy.route(
            Time::ZERO,
            &packet(Kind::Data),
            &Paths::trusted(usable),
            &mut |_| {},
        );
        assert!(
            !plan.copies.contains(PathId(1)) && !plan.probes.contains(PathId(1)),
            "{config:?}"
        );
    }
}

#[test]
fn a_switch_moves_data_once_and_old_requests_have_no_effect() {
    let mut policy = ProbeAndSwitch::new(0, &context(2));
    let mut actions = Vec::new();
    let to_second = Feedback::Switch {
        to: PathId(1),
        epoch: Epoch(1),
    };
    policy.handle_feedback(Time::ZERO, to_second, &mut |a| actions.push(a));
    policy.handle_feedback(Time::ZERO, to_second, &mut |a| actions.push(a));
    policy.handle_feedback(
        Time::ZERO,
        Feedback::Switch {
            to: PathId(0),
            epoch: Epoch(1),
        },
        &mut |a| {
            actions.push(a);
        },
    );
    assert_eq!(
        actions,
        [Action::Switched {
            from: PathId(0),
            to: PathId(1)
        }]
    );
    assert_eq!(policy.epoch(), Epoch(1));
    assert_eq!(
        plan(&mut policy, Kind::Data, 2).copies,
        PathSet::only(PathId(1))
    );
}

/// Live paths, of which only `usable` are wide enough for the packet.
fn wide_enough(usable: PathSet, all: u8) -> Paths {
    Paths {
        usable,
        copies: usable,
        ..paths(all)
    }
}

#[test]
fn a_packet_too_long_for_the_active_path_takes_another_and_leaves_it_active() {
    let (first, others) = (
        PathSet::only(PathId(0)),
        PathSet::first(3).without(PathSet::only(PathId(0))),
    );
    for config in [
        PolicyConfig::single_path(0),
        PolicyConfig::DuplicateAcks { path: 0 },
        PolicyConfig::probe_and_switch(0),
    ] {
        let mut policy = config.build(context(3));
        let mut actions = Vec::new();
        let mut data_over = |policy: &mut dyn PathPolicy, usable| {
            let paths = wide_enough(usable, 3);
            policy.route(Time::ZERO, &packet(Kind::Data), &paths, &mut |action| {
                actions.push(action);
            })
        };
        let long = data_over(policy.as_mut(), others);
        // Probes would compare the other paths, and a switch to the best of them would leave a
        // better one.
        let expected = Plan::copies(PathSet::only(PathId(1)));
        assert_eq!(long, expected, "{config:?}");
        let short = data_over(policy.as_mut(), PathSet::first(3));
        assert_eq!(short.copies, first, "{config:?}");
        assert_eq!(policy.active(), Some(PathId(0)), "{config:?}");
        assert_eq!(policy.epoch(), Epoch(0), "{config:?}");
        let is_switch = |action: &Action| matches!(action, Action::Switched { .. });
        assert!(!actions.iter().any(is_switch), "{actions:?}");
    }
}

#[test]
fn a_session_that_starts_with_a_long_packet_measures_narrow_paths_too() {
    let mut policy = ProbeAndSwitch::new(0, &context(2));
    let paths = wide_enough(PathSet::only(PathId(1)), 2);
    let mut actions = Vec::new();
    policy.route(Time::ZERO, &packet(Kind::Data), &paths, &mut |action| {
        actions.push(action);
    });
    let pairs = [0, 1].map(|path| Action::SendPair(PathId(path)));
    assert_eq!(actions, pairs);
}

/// Runs the policy until `until` and records its pairs.
fn run(policy: &mut ProbeAndSwitch, until: Time, pairs: &mut Vec<(Time, PathId)>) {
    while let Some(deadline) = policy.deadline().filter(|d| d.at <= until) {
        policy.handle_timeout(deadline.at, &paths(2), &mut |action| {
            if let Action::SendPair(path) = action {
                pairs.push((deadline.at, path));
            }
        });
        assert!(policy.deadline().is_none_or(|next| next.at > deadline.at));
    }
}

#[test]
fn pairs_are_sent_when_data_starts_and_while_it_flows() {
    let second = Duration::from_secs(1);
    let mut policy = ProbeAndSwitch::new(0, &context(2));
    let mut pairs = Vec::new();
    for tenth in 0..25 {
        let now = Time::ZERO + Duration::from_millis(100 * tenth);
        run(&mut policy, now, &mut pairs);
        policy.route(now, &packet(Kind::Data), &paths(2), &mut |action| {
            if let Action::SendPair(path) = action {
                pairs.push((now, path));
            }
        });
    }
    run(&mut policy, Time::ZERO + second * 60, &mut pairs);
    let (first, other) = (PathId(0), PathId(1));
    let at = |s| Time::ZERO + second * s;
    assert_eq!(
        pairs,
        [
            (at(0), first),
            (at(0), other),
            (at(1), other),
            (at(2), other),
            (at(3), other)
        ]
    );
    assert_eq!(policy.deadline(), None, "an idle session sends nothing");
}

#[test]
fn another_path_replaces_the_named_path_while_it_is_unusable() {
    let named = PathId(1);
    let without = PathSet::first(3).without(PathSet::only(named));
    for config in [
        PolicyConfig::single_path(1),
        PolicyConfig::DuplicateAcks { path: 1 },
    ] {
        let mut policy = config.build(context(3));
        let mut data_on = |usable| {
            let meta = packet(Kind::Data);
            let paths = Paths::trusted(usable);
            policy.route(Time::ZERO, &meta, &paths, &mut |_| {}).copies
        };
        assert_eq!(data_on(PathSet::first(3)), PathSet::only(named));
        assert_eq!(data_on(without), PathSet::only(PathId(0)));
        assert_eq!(data_on(PathSet::only(PathId(2))), PathSet::only(PathId(2)));
        assert_eq!(data_on(PathSet::first(3)), PathSet::only(named));
        assert_eq!(data_on(PathSet::EMPTY), PathSet::EMPTY);
    }
}

/// The paths of packets that find these paths usable.
fn turns(
    policy: &mut dyn PathPolicy,
    usable: impl IntoIterator<Item = PathSet>,
) -> Vec<Option<usize>> {
    let route = |usable| {
        let meta = packet(Kind::Data);
        let paths = Paths::trusted(usable);
        let plan = policy.route(Time::ZERO, &meta, &paths, &mut |_| {});
        assert!(plan.copies.len() <= 1 && plan.probes.is_empty());
        plan.copies.into_iter().next().map(PathId::index)
    };
    usable.into_iter().map(route).collect()
}

#[test]
fn round_robin_spreads_the_packets_of_a_path_evenly() {
    let turns_of = |weights: &[u8], count| {
        let mut policy = round_robin(weights).build(context(3));
        let paths = turns(policy.as_mut(), vec![PathSet::first(3); count]);
        paths.into_iter().flatten().collect::<Vec<_>>()
    };
    assert_eq!(turns_of(&[5, 1, 1], 7), [0, 0, 1, 0, 2, 0, 0]);
    assert_eq!(turns_of(&[], 6), [0, 1, 2, 0, 1, 2]);
    assert_eq!(turns_of(&[3], 5), [0, 1, 0, 2, 0], "1 if not listed");
    assert_eq!(turns_of(&[2, 0, 1], 6), [0, 2, 0, 0, 2, 0]);
}

#[test]
fn round_robin_uses_standby_paths_in_turn_while_no_other_is_usable() {
    let mut policy = round_robin(&[1, 0, 0]).build(context(3));
    let [all, standby] = [
        PathSet::first(3),
        PathSet::first(3).without(PathSet::only(PathId(0))),
    ];
    let usable = [all, all, standby, standby, standby, PathSet::EMPTY, all];
    let paths = turns(policy.as_mut(), usable);
    let expected = [0, 0, 1, 2, 1].map(Some);
    assert_eq!(paths, [&expected[..], &[None, Some(0)]].concat());
}

#[test]
fn impossible_weights_are_refused_with_key_and_remedy() {
    let refusal = |weights: &[u8], paths| {
        let error = round_robin(weights).check(paths).unwrap_err();
        alloc::format!("{}: {error}; {}", error.key("policy"), error.remedy())
    };
    let zero = "policy.weights: all weights are zero; a weight of zero is for a standby path; give \
                another path more";
    assert_eq!(refusal(&[0, 0], 2), zero);
    assert_eq!(
        refusal(&[1, 2, 3], 2),
        "policy.weights: there are 3 weights for 2 paths; remove those beyond the last path"
    );
    assert_eq!(round_robin(&[0, 0]).check(3), Ok(()), "1 for the third");
    assert_eq!(Weights::new(&[1; 65]), None);
}

proptest! {
    /// Each window of as many packets as the sum of the weights has as many packets on each path as
    /// its weight.
    #[test]
    fn each_cycle_of_round_robin_has_the_shares_of_the_weights(
        weights in proptest::collection::vec(0_u8..=20, 1..6),
    ) {
        let cycle = weights.iter().map(|weight| usize::from(*weight)).sum();
        prop_assume!(cycle > 0);
        let paths = u8::try_from(weights.len()).unwrap();
        let mut policy = round_robin(&weights).build(context(paths));
        let turns = turns(policy.as_mut(), vec![PathSet::first(paths); 3 * cycle]);
        for window in turns.windows(cycle) {
            for (path, weight) in weights.iter().enumerate() {
                let packets = window.iter().filter(|turn| **turn == Some(path));
                prop_assert_eq!(packets.count(), usize::from(*weight));
            }
        }
    }

    /// While paths leave and return, each carries its share of the packets for which it is usable,
    /// within (n - 1) / 2 packets.
    #[test]
    fn round_robin_keeps_shares_when_paths_leave_and_return(
        weights in proptest::collection::vec(prop_oneof![Just(0), 1_u8..=9, any::<u8>()], 2..7),
        phases in proptest::collection::vec((1_u64..64, 1_usize..40), 1..60),
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let paths = u8::try_from(weights.len()).unwrap();
        let mut policy = round_robin(&weights).build(context(paths));
        let (mut shares, mut packets) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
        for (mask, count) in phases {
            let is_usable = |path: &PathId| mask & (1 << path.0) != 0;
            let usable = PathSet::first(paths).into_iter().filter(is_usable);
            let usable = usable.fold(PathSet::EMPTY, PathSet::with);
            let share = shares_of_one_packet(&weights, usable);
            for turn in turns(policy.as_mut(), vec![usable; count]) {
                prop_assert_eq!(turn.is_none(), usable.is_empty());
                let Some(turn) = turn else { continue };
                prop_assert!(share[turn] > 0.0, "path {turn} is on standby");
                packets[turn] += 1.0;
                for (path, share) in share.iter().enumerate() {
                    shares[path] += share;
                    let ahead: f64 = packets[path] - shares[path];
                    let bound = f64::from(paths - 1) / 2.0 + 1e-6;
                    prop_assert!(ahead.abs() <= bound, "path {path}: {ahead} packets");
                }
            }
        }
    }
}

/// The share of each path of one packet: of the paths of weight zero only if no other is usable.
fn shares_of_one_packet(weights: &[u8], usable: PathSet) -> Vec<f64> {
    let is_usable = |path: usize| usable.contains(PathId(u8::try_from(path).unwrap()));
    let standby = (0..weights.len()).all(|path| !is_usable(path) || weights[path] == 0);
    let weight = |path: usize| match weights[path] {
        _ if !is_usable(path) => 0.0,
        0 if standby => 1.0,
        weight => f64::from(weight),
    };
    let all: Vec<f64> = (0..weights.len()).map(weight).collect();
    let sum: f64 = all.iter().sum();
    all.iter().map(|weight| weight / sum.max(1.0)).collect()
}

#[cfg(feature = "serde")]
#[test]
fn more_weights_than_an_endpoint_can_have_paths_are_refused() {
    use serde::Deserialize;
    use serde::de::value::{Error, SeqDeserializer};
    let read = |count| {
        let list = SeqDeserializer::<_, Error>::new(vec![3_u8; count].into_iter());
        Weights::deserialize(list).map_err(|error| alloc::format!("{error}"))
    };
    assert_eq!(read(64).unwrap().listed(), [3; 64]);
    assert_eq!(read(65).unwrap_err(), "more than 64 weights");
}
