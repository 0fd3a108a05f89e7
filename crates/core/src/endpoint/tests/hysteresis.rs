//! Probe and switch with and without hysteresis, over two paths with jitter and losses.

use super::stage::Stage;
use super::*;
use alloc::format;
use alloc::vec::Vec;

const PAPER: PolicyConfig = PolicyConfig::probe_and_switch(0);
const STEADY: PolicyConfig = PAPER.or_hysteresis(true);

/// Prints the smallest and largest of `values`.
fn print_range<T: Ord + core::fmt::Display>(name: &str, values: &[T]) {
    let (least, most) = (values.iter().min(), values.iter().max());
    std::println!("{name}: {} to {}", least.unwrap(), most.unwrap());
}

#[test]
fn two_equal_paths_with_jitter_hardly_switch() {
    for jitter in [50, 200, 500, 800] {
        let (mut all_before, mut all_after) = (Vec::new(), Vec::new());
        for seed in 0..20 {
            let stage = |policy| {
                Stage::new(policy, seed).with(|path| path.jitter = Duration::from_micros(jitter))
            };
            let (before, after) = (
                stage(PAPER).switches_until(at(10_000)),
                stage(STEADY).switches_until(at(10_000)),
            );
            assert!(after <= 3, "{jitter} us: {after}, without {before}");
            all_before.push(before);
            all_after.push(after);
        }
        print_range(
            &format!("switches, jitter of {jitter} us, paper's form"),
            &all_before,
        );
        print_range(
            &format!("switches, jitter of {jitter} us, hysteresis"),
            &all_after,
        );
    }
}

#[test]
fn hosts_that_take_longer_for_data_hardly_switch() {
    let mut all_before = Vec::new();
    for seed in 0..20 {
        let stage = |policy| {
            Stage::new(policy, seed).with(|path| {
                path.byte = Duration::from_nanos(1);
                path.delay = Duration::ZERO;
                path.processing = Duration::from_micros(50);
            })
        };
        let before = stage(PAPER).switches_until(at(10_000));
        let after = stage(STEADY).switches_until(at(10_000));
        assert!(before > 200, "{before}");
        assert_eq!(after, 0);
        all_before.push(before);
    }
    print_range("switches, slow hosts, paper's form", &all_before);
}

#[test]
fn independent_losses_hardly_switch() {
    for rate in [1, 2, 5, 20] {
        let (mut all_before, mut all_after) = (Vec::new(), Vec::new());
        for seed in 0..20 {
            let stage = |policy| {
                let mut stage = Stage::new(policy, seed).with(|path| path.loss = 0.02);
                stage.every = MS * rate;
                stage
            };
            let (before, after) = (
                stage(PAPER).switches_until(at(38_000)),
                stage(STEADY).switches_until(at(38_000)),
            );
            assert!(after <= 10, "{after}, without {before}");
            all_before.push(before);
            all_after.push(after);
        }
        print_range(
            &format!("switches, 2 % lost, a packet in {rate} ms, paper's form"),
            &all_before,
        );
        print_range(
            &format!("switches, 2 % lost, a packet in {rate} ms, hysteresis"),
            &all_after,
        );
    }
}

#[test]
fn a_path_that_becomes_congested_is_left_within_a_second() {
    let mut times = Vec::new();
    for (every, offset) in [1, 2, 5, 20]
        .into_iter()
        .flat_map(|e| (0..7).map(move |o| (e, o)))
    {
        for switched in [false, true] {
            let mut stage =
                Stage::new(STEADY, offset).with(|path| path.jitter = Duration::from_micros(200));
            stage.every = MS * every;
            let mut from = at(10_000 + 3 * offset);
            if switched {
                // The path to which data has just moved becomes congested.
                stage.paths[0].later = (from, MS * 80);
                stage.run(from + MS * 1_500);
                from += MS * 1_500;
                stage.paths[0].later = (from, MS * 20);
                stage.paths[1].later = (from, MS * 80);
            } else {
                stage.paths[0].later = (from, MS * 80);
            }
            let before = stage.switches.len();
            stage.run(from + MS * 1_000);
            assert_eq!(stage.switches.len() - before, 1, "{:?}", stage.switches);
            if !switched {
                times.push(stage.switches[before].since(from));
            }
        }
    }
    print_range("time until a congested path is left", &times);
}

#[test]
fn the_path_with_fewer_losses_is_found() {
    let mut times = Vec::new();
    for seed in 0..10 {
        let mut stage = Stage::new(STEADY, seed);
        stage.paths[0].loss = 0.05;
        stage.run(at(30_000));
        assert_eq!(stage.switches.len(), 1, "{:?}", stage.switches);
        assert!(stage.switches[0] < at(2_000), "{:?}", stage.switches);
        times.push(stage.switches[0].since(Time::ZERO));
    }
    print_range("time until a path is left that loses 5 %", &times);
}

#[test]
fn a_path_that_is_always_a_little_faster_is_found() {
    for seed in 0..10 {
        let mut stage =
            Stage::new(STEADY, seed).with(|path| path.jitter = Duration::from_micros(200));
        stage.paths[0].delay = MS * 23;
        stage.run(at(30_000));
        assert_eq!(stage.switches.len(), 1, "{:?}", stage.switches);
        assert!(stage.switches[0] < at(1_000), "{:?}", stage.switches);
    }
}

#[test]
fn hysteresis_starts_with_a_reload_and_on_the_active_path() {
    let mut stage = Stage::new(PAPER, 1).with(|path| path.jitter = Duration::from_micros(500));
    stage.run(at(5_000));
    let before = stage.switches.len();
    assert!(before > 50, "{before}");
    for end in [1, 0] {
        let adjustment = Adjustment::new(&config(STEADY)).unwrap();
        stage.wake(end, Wake::Input(Input::Adjust(adjustment)));
    }
    // A request that is on its way still counts.
    stage.run(at(15_000));
    let switches = stage.switches.len() - before;
    assert!(switches <= 4, "{switches}");
    assert!(stage.ends.iter().all(|end| end.policy() == STEADY));
}
