use alloc::vec;
use proptest::prelude::*;

use super::*;

fn configs() -> impl Strategy<Value = DelayCentricConfig> {
    prop_oneof![
        Just(pure(10)),
        Just(guarded(1000, 1000)),
        Just(guarded(1000, 4000)),
        Just(holding(1000, 4000)),
        Just(predictive(TrendRule::Original)),
        Just(predictive(TrendRule::Modified)),
        Just(DelayCentricConfig::DelayGrowth(GrowthConfig::default())),
    ]
}

/// The round-trip times of two to five paths in milliseconds, second by second; 0 is a dead path.
fn courses() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let time = prop_oneof![1 => Just(0_u64), 6 => 1_u64..900];
    (2_usize..6).prop_flat_map(move |paths| {
        prop::collection::vec(prop::collection::vec(time.clone(), paths), 1..12)
    })
}

fn drive(config: DelayCentricConfig, course: &[Vec<u64>], seed: u64) -> Network {
    let paths = u8::try_from(course[0].len()).unwrap();
    let policy = config.build(context(paths, seed));
    let mut network = Network::new(policy, &course[0]);
    for times in course {
        let alive = |&ms: &u64| (ms > 0).then(|| MS * ms);
        network.round_trips = times.iter().map(alive).collect();
        network.run(network.now + MS * 1000);
    }
    network
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// On arbitrary paths, deadlines are in the future (the network checks this), data uses one
    /// path at a time, and each switch reports its old and new path.
    #[test]
    fn data_uses_one_path_and_every_switch_is_reported(
        config in configs(), course in courses(), seed in any::<u64>(),
    ) {
        let network = drive(config, &course, seed);
        let mut current = PathId(0);
        for (_, action) in &network.actions {
            if let Action::Switched { from, to } = *action {
                prop_assert_eq!(from, current);
                prop_assert_ne!(from, to);
                current = to;
            }
        }
        prop_assert_eq!(network.policy.current(), current);
        let count = network.sent.len() as u64;
        prop_assert_eq!(count, course.len() as u64 * 100 + 1, "each packet once");
        let switches = u32::try_from(network.switches().len()).unwrap();
        prop_assert_eq!(network.policy.epoch(), Epoch(switches));
    }

    /// While no path is better than another by more than the hysteresis, data stays on its path.
    #[test]
    fn within_the_hysteresis_nothing_switches(
        low in 10_u64..500, course in prop::collection::vec(prop::collection::vec(0_u64..=10, 3), 1..15),
        seed in any::<u64>(), is_guarded in any::<bool>(),
    ) {
        let course: Vec<Vec<u64>> =
            course.iter().map(|times| times.iter().map(|ms| low + ms).collect()).collect();
        let config = if is_guarded { guarded(1000, 4000) } else { pure(10) };
        prop_assert_eq!(drive(config, &course, seed).switches(), []);
    }

    /// Data leaves a dead path for a live one at most the timeout after the first unanswered
    /// packet.
    #[test]
    fn no_dead_path_has_data_for_longer_than_the_timeout(
        config in configs(), paths in 2_usize..5, rtt in 1_u64..400, seed in any::<u64>(),
    ) {
        let mut network = drive(config, &[&vec![rtt; paths][..]; 5].map(<[u64]>::to_vec), seed);
        let dead = network.policy.current();
        network.round_trips[dead.index()] = None;
        let died = network.now;
        network.run(died + MS * 20_000);
        // Packets in flight at its death are still answered; the timeout counts from the packet
        // after the last answer.
        let last = died + MS * rtt + INTERVAL + Heartbeats::default().timeout;
        let late = network.sent.iter().filter(|(at, path)| *path == dead && *at > last);
        prop_assert_eq!(late.count(), 0);
        prop_assert_ne!(network.policy.current(), dead);
    }

    /// Consecutive switches are at least the minimum guard time apart.
    #[test]
    fn switches_are_a_guard_time_apart(course in courses(), holds in any::<bool>(), seed in any::<u64>()) {
        let alive: Vec<Vec<u64>> =
            course.iter().map(|times| times.iter().map(|&ms| ms.clamp(1, 400)).collect()).collect();
        let config = if holds { holding(1000, 4000) } else { guarded(1000, 4000) };
        let switches = drive(config, &alive, seed).switches();
        for pair in switches.windows(2) {
            prop_assert!(pair[1].0.since(pair[0].0) >= MS * 1000);
        }
    }
}
