use alloc::vec::Vec;

use super::*;
use crate::frame::Epoch;
use crate::packet::{Ecn, FlowId, IpVersion, PacketMeta};
use crate::rng::Seed;
use crate::time::{Duration, Time};

/// One configuration of each policy.
fn all() -> [PolicyConfig; 6] {
    [
        PolicyConfig::SinglePath { path: 0 },
        PolicyConfig::DuplicateAcks { path: 0 },
        PolicyConfig::DuplicateAll {},
        PolicyConfig::ProbeAndSwitch { path: 0 },
        PolicyConfig::DelayCentric(ReactiveConfig::default()),
        PolicyConfig::PredictiveDelayCentric(PredictiveConfig::default()),
    ]
}

fn context(paths: u8) -> PolicyContext {
    PolicyContext {
        paths,
        start: None,
        pair_interval: Duration::from_secs(1),
        epoch: Epoch::default(),
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
    let probing = PolicyConfig::ProbeAndSwitch { path: 1 };
    let golden = [
        (
            PolicyConfig::SinglePath { path: 1 },
            Kind::PureAck,
            second,
            none,
        ),
        (
            PolicyConfig::SinglePath { path: 1 },
            Kind::Data,
            second,
            none,
        ),
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
        (PolicyConfig::DuplicateAll {}, Kind::Data, all, none),
        (PolicyConfig::DuplicateAll {}, Kind::Opaque, all, none),
        (probing, Kind::PureAck, all, none),
        (probing, Kind::Control, all, none),
        (probing, Kind::Data, second, all.without(second)),
        (probing, Kind::Opaque, second, all.without(second)),
    ];
    for (config, kind, copies, probes) in golden {
        let mut policy = config.build(context(3));
        let expected = Plan { copies, probes };
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
    for config in all() {
        let tag = alloc::format!("\"const\":\"{}\"", config.name());
        assert_eq!(schema.matches(&tag).count(), 1, "{tag} in {schema}");
    }
    assert_eq!(
        schema.matches("\"required\":[\"kind\"]").count(),
        all().len(),
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
        PolicyConfig::SinglePath { path: 0 },
        PolicyConfig::DuplicateAcks { path: 0 },
        PolicyConfig::ProbeAndSwitch { path: 0 },
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
        let expected = Plan {
            copies: PathSet::only(PathId(1)),
            probes: PathSet::EMPTY,
        };
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
        PolicyConfig::SinglePath { path: 1 },
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
