//! The rule that regards the growth of delays.

use super::*;

fn growth() -> DelayCentricConfig {
    DelayCentricConfig::DelayGrowth(GrowthConfig::default())
}

/// The share of 200 seeds with which data has left the first path of `network` at its end.
fn left(network: impl Fn(DelayCentric) -> Network) -> f64 {
    let moved = (0..200).filter(|seed| {
        let network = network(growth().build(context(2, *seed)));
        network.policy.current() != PathId(0)
    });
    moved.count() as f64 / 200.0
}

/// Runs until `until` while the delay of the first path grows by `permille` us each ms.
fn grow(network: &mut Network, until: Time, permille: u64) {
    while network.now < until {
        network.run(network.now + MS * 5);
        let first = network.round_trips[0].as_mut().unwrap();
        *first += Duration::from_micros(5 * permille);
    }
}

/// A load of 4/3 of the rate: a quarter of it has to leave.
#[test]
fn data_leaves_at_the_rate_of_the_excess() {
    let share = left(|policy| {
        let mut network = Network::new(policy, &[20, 20]);
        network.run(at(3000));
        grow(&mut network, at(4000), 333);
        network
    });
    // The integral of 1/4 over reaction and round-trip time, which grows from 20 to 353 ms, is 1.5
    // from the first 10 ms on, beyond which the other path is better: 1 - exp(-1.5).
    assert!((0.68..0.88).contains(&share), "{share}");
}

#[test]
fn data_stays_where_the_delay_does_not_grow_and_no_other_is_lower() {
    let share = left(|policy| {
        let mut network = Network::new(policy, &[25, 20]);
        network.run(at(60_000));
        network
    });
    assert!(share.abs() < 1e-9, "{share}");
}

#[test]
fn data_leaves_a_constant_high_delay_with_patience() {
    let after = |seconds: u64| {
        left(|policy| {
            let mut network = Network::new(policy, &[200, 20]);
            network.run(at(seconds * 1000));
            network
        })
    };
    // 1 - exp(-.9 t / 20 s), from the first measurement after 1 s on.
    let (soon, late) = (after(3), after(21));
    assert!((0.02..0.2).contains(&soon), "{soon}");
    assert!((0.45..0.75).contains(&late), "{late}");
}

/// Data finds out about a path that no heartbeat has measured yet.
#[test]
fn data_leaves_a_queue_that_fills_for_an_unknown_path() {
    let share = left(|policy| {
        let mut network = Network::new(policy, &[20, 20]);
        grow(&mut network, at(400), 1000);
        network
    });
    // The integral of 1/2 over reaction and round-trip time is 1.2: 1 - exp(-1.2).
    assert!((0.58..0.82).contains(&share), "{share}");
}

#[test]
fn data_leaves_a_silent_path_at_once() {
    let share = left(|policy| {
        let mut network = Network::new(policy, &[20, 25]);
        network.run(at(5000));
        network.round_trips[0] = None;
        network.run(at(6500));
        network
    });
    assert!((share - 1.0).abs() < 1e-9, "{share}");
}

#[test]
fn spans_have_a_length() {
    let with = |change: fn(&mut GrowthConfig)| {
        let mut config = GrowthConfig::default();
        change(&mut config);
        let errors = DelayCentricConfig::DelayGrowth(config).errors();
        errors.map(|error| error.key()).collect::<Vec<_>>()
    };
    assert_eq!(with(|_| ()), Vec::<String>::new());
    assert_eq!(with(|config| config.window = Duration::ZERO), ["window"]);
    assert_eq!(
        with(|config| config.reaction = Duration::ZERO),
        ["reaction"]
    );
    assert_eq!(
        with(|config| config.patience = Duration::ZERO),
        ["patience"]
    );
}
