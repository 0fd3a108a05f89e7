//! Flows with choices of their own.

use alloc::collections::BTreeSet;

use proptest::prelude::*;

use super::super::flows::MAX_FLOWS;
use super::*;

/// The policy, by flow.
fn by_flow(config: DelayCentricConfig) -> DelayCentricConfig {
    config.with_scope(Scope::Flow)
}

/// Flows over two paths, of which the first becomes slow after 5 s.
fn flows(config: DelayCentricConfig, count: u64) -> Network {
    let mut network = Network::new(policy(by_flow(config), 2), &[20, 25]);
    network.flows = count;
    network.interval = Some(MS);
    network.run(at(5000));
    network.round_trips[0] = Some(MS * 120);
    network
}

/// The times at which flows moved.
fn moves(network: &Network) -> Vec<Time> {
    let moved = |(at, action): &(Time, Action)| match action {
        Action::FlowSwitched { .. } => Some(*at),
        _ => None,
    };
    network.actions.iter().filter_map(moved).collect()
}

#[test]
fn each_flow_waits_for_a_guard_time_of_its_own() {
    let mut network = flows(guarded(1000, 4000), 20);
    network.run(at(15_000));
    let moves = moves(&network);
    assert_eq!(moves.len(), 20);
    let different: BTreeSet<Time> = moves.iter().copied().collect();
    assert!(different.len() >= 18, "{moves:?}");
    let spread = different.last().unwrap().since(*different.first().unwrap());
    assert!(spread > MS * 2000, "{spread}");
    let on = |path| network.policy.flows_on(PathId(path));
    assert_eq!((on(0), on(1)), (Some(0), Some(20)));
}

#[test]
fn without_a_guard_time_all_flows_move_with_the_same_measurement() {
    let mut network = flows(pure(10), 20);
    network.run(at(15_000));
    let moves = moves(&network);
    assert_eq!(moves.len(), 20);
    assert!(moves.iter().all(|at| *at == moves[0]), "{moves:?}");
    assert_eq!(network.policy.current(), PathId(1), "for new flows, too");
}

#[test]
fn each_flow_uses_one_path_at_a_time() {
    let mut network = flows(guarded(1000, 4000), 7);
    network.run(at(15_000));
    for flow in (0..7).map(FlowId) {
        let sent = network.sent.iter().zip(&network.flow_of);
        let paths = sent
            .filter(|(_, of)| **of == flow)
            .map(|((_, path), _)| *path);
        let mut paths: Vec<PathId> = paths.collect();
        paths.dedup();
        assert_eq!(paths, [PathId(0), PathId(1)], "{flow:?}");
    }
}

#[test]
fn all_flows_leave_a_silent_path_at_once() {
    let mut network = flows(guarded(4000, 4000), 10);
    network.round_trips[0] = None;
    network.run(at(8000));
    let on = |path| network.policy.flows_on(PathId(path));
    assert_eq!((on(0), on(1)), (Some(0), Some(10)));
    let moves = moves(&network);
    assert!(moves.iter().all(|at| *at == moves[0]), "{moves:?}");
    assert!(!network.policy.is_in_guard_time());
}

#[test]
fn a_flow_leaves_a_path_that_is_not_live_with_its_next_packet() {
    let mut network = flows(guarded(1000, 1000), 3);
    network.usable = PathSet::only(PathId(1));
    let before = network.sent.len();
    network.run(network.now + MS * 10);
    let paths = network.sent[before..].iter().skip(1);
    assert!(paths.clone().count() > 5);
    assert!(paths.clone().all(|(_, path)| *path == PathId(1)));
}

#[test]
fn flows_that_send_nothing_are_forgotten() {
    let mut network = flows(pure(10), 30);
    assert_eq!(network.policy.flows_on(PathId(0)), Some(30));
    network.flows = 2;
    network.round_trips[0] = Some(MS * 20);
    network.run(at(20_000));
    assert_eq!(network.policy.flows_on(PathId(0)), Some(2));
}

#[test]
fn flows_stay_where_they_were_under_another_configuration() {
    let mut network = flows(guarded(100, 900), 30);
    network.run(at(5700));
    let counts = |policy: &DelayCentric| [0, 1].map(|path| policy.flows_on(PathId(path)));
    let before = counts(&network.policy);
    assert!(!before.contains(&Some(0)), "{before:?}");
    let mut other = policy(by_flow(pure(20)), 2);
    other.resume_flows(network.policy.flow_paths());
    assert_eq!(counts(&other), before);
}

/// Those beyond the limit follow the choice for new flows.
#[test]
fn the_number_of_flows_with_choices_of_their_own_is_limited() {
    let mut network = Network::new(policy(by_flow(pure(10)), 2), &[20, 25]);
    network.flows = MAX_FLOWS as u64 + 100;
    network.interval = Some(Duration::from_micros(100));
    network.run(at(900));
    assert_eq!(network.policy.flows_on(PathId(0)), Some(MAX_FLOWS));
    network.round_trips[0] = Some(MS * 120);
    network.run(at(6000));
    assert_eq!(network.policy.flows_on(PathId(1)), Some(MAX_FLOWS));
    let late = &network.sent[network.sent.len() - 1000..];
    assert!(late.iter().all(|(_, path)| *path == PathId(1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// On arbitrary paths, deadlines are in the future (the network checks this), and every flow
    /// uses the path to which it moved last.
    #[test]
    fn a_flow_is_where_it_moved(
        times in prop::collection::vec((0_u64..400, 0_u64..400), 1..8),
        guard in prop_oneof![Just(pure(10)), Just(guarded(100, 900)), Just(holding(100, 900)),
            Just(predictive(TrendRule::Modified)),
            Just(DelayCentricConfig::DelayGrowth(GrowthConfig::default()))],
        seed in any::<u64>(),
    ) {
        let policy = by_flow(guard).build(context(2, seed));
        let mut network = Network::new(policy, &[20, 25]);
        network.flows = 5;
        for (first, second) in times {
            network.round_trips = [first, second].map(|ms| (ms > 5).then(|| MS * ms)).to_vec();
            network.run(network.now + MS * 1500);
        }
        let on = [0, 1].map(|path| network.policy.flows_on(PathId(path)).unwrap());
        prop_assert_eq!(on[0] + on[1], 5);
        let moved = network.actions.iter().filter_map(|(_, action)| match action {
            Action::FlowSwitched { from, to } => Some((from.index(), to.index())),
            _ => None,
        });
        let mut counted = [5, 0];
        for (from, to) in moved {
            counted[from] -= 1;
            counted[to] += 1;
        }
        prop_assert_eq!(counted, on);
    }
}
