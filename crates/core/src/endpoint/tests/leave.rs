//! The policy `single-path` that leaves a lossy or slow path.

use super::stage::Stage;
use super::*;
use crate::liveness::LivenessConfig;
use crate::policy::LeaveConfig;
use crate::repair::Share;

const BY_LOSS: LeaveConfig = LeaveConfig {
    loss: Some(Share::from_millionths(20_000)),
    delay: None,
};
const BY_DELAY: LeaveConfig = LeaveConfig {
    loss: None,
    delay: Some(Duration::from_millis(50)),
};
const BY_BOTH: LeaveConfig = LeaveConfig {
    loss: BY_LOSS.loss,
    delay: BY_DELAY.delay,
};

fn leaving(leave: LeaveConfig) -> EndpointConfig {
    let leave = Some(leave);
    EndpointConfig {
        paths: 3,
        liveness: Some(LivenessConfig::default()),
        ..config(PolicyConfig::SinglePath { path: 0, leave })
    }
}

/// The times in milliseconds after which a path that loses this share is left, of 40 seeds; in
/// order.
fn detection_times(loss: f64, limit: u64) -> Vec<Option<u64>> {
    let time = |seed| {
        let mut stage = Stage::of(&leaving(BY_LOSS), seed);
        stage.run(at(10_000));
        let from = stage.now;
        stage.paths[0].loss = loss;
        stage.run(from + MS * limit);
        let switch = stage.switches.first();
        switch.map(|time| time.since(from).0 / 1_000_000)
    };
    let mut times: Vec<_> = (0..40).map(time).collect();
    times.sort_unstable_by_key(|time| time.unwrap_or(u64::MAX));
    let left = times.iter().flatten().count();
    std::println!(
        "loses {:.1} %: left in {left} of 40 runs; median {:?} ms, nine of ten {:?} ms",
        loss * 100.0,
        times[20],
        times[36]
    );
    times
}

#[test]
fn a_lossy_path_is_left_within_seconds_and_nothing_is_lost_afterwards() {
    for seed in 0..20 {
        let mut stage = Stage::of(&leaving(BY_BOTH), seed);
        stage.run(at(5_000));
        assert_eq!((stage.switches.len(), stage.arrived), (0, stage.sent - 20));
        stage.paths[0].loss = 0.05;
        while stage.switches.is_empty() {
            stage.run(stage.now + MS * 10);
            assert!(stage.now < at(30_000));
        }
        // The packets in flight on the path may get lost.
        stage.run(stage.now + MS * 30);
        let (sent, arrived) = (stage.sent, stage.arrived);
        stage.run(stage.now + MS * 1_000);
        assert_eq!(stage.sent - sent, stage.arrived - arrived);
        assert_eq!(stage.ends[0].switches(), 1);
        assert_ne!(stage.ends[0].active(), Some(FIRST));
    }
    let times = detection_times(0.05, 60_000);
    assert!(times[20].unwrap() < 4_000, "{times:?}");
    assert!(times[36].unwrap() < 8_000, "{times:?}");
    let times = detection_times(0.2, 60_000);
    assert!(times[36].unwrap() < 2_500, "{times:?}");
}

#[test]
fn a_path_that_loses_a_quarter_of_the_limit_is_kept() {
    // Half of the limit is printed only: most runs leave the path.
    detection_times(0.01, 120_000);
    let times = detection_times(0.005, 120_000);
    // Two minutes each.
    let left = times.iter().flatten().count();
    assert!(left <= 2, "{times:?}");
}

#[test]
fn a_slow_path_is_left_and_used_again_when_it_is_fast() {
    let mut stage = Stage::of(&leaving(BY_DELAY), 1);
    stage.run(at(10_000));
    assert!(stage.switches.is_empty());
    stage.paths[0].later = (at(10_000), MS * 60);
    stage.run(at(30_000));
    // 40 ms of difference are less than the limit.
    assert!(stage.switches.is_empty());
    stage.paths[0].later = (at(30_000), MS * 80);
    stage.run(at(60_000));
    let [left] = stage.switches[..] else {
        panic!("{:?}", stage.switches)
    };
    std::println!("60 ms slower: left after {}", left.since(at(30_000)));
    assert!(left < at(30_000) + MS * 1_000, "{left:?}");
    stage.paths[0].later = (at(60_000), MS * 20);
    stage.run(at(120_000));
    let [_, back] = stage.switches[..] else {
        panic!("{:?}", stage.switches)
    };
    assert!(back < at(60_000) + MS * 5_000, "{back:?}");
    assert_eq!(stage.ends[0].active(), Some(FIRST));
}

#[test]
fn a_path_that_is_slow_only_in_use_does_not_flap() {
    let mut stage = Stage::of(&leaving(BY_DELAY), 1);
    let mut in_use = true;
    // The first path gets slower by 100 ms while it carries data, as one whose queue fills.
    while stage.now < at(1_200_000) {
        let is_used = stage.ends[0].active() == Some(FIRST);
        if is_used != in_use || stage.now == Time::ZERO {
            let delay = if is_used { MS * 120 } else { MS * 20 };
            stage.paths[0].later = (stage.now + MS * 200, delay);
            in_use = is_used;
        }
        stage.every = MS * 20;
        stage.run(stage.now.max(Time(1)) + MS * 20);
    }
    // Away for 5, 10, 20 s and so on up to 320 s.
    let left = stage.switches.len().div_ceil(2);
    std::println!("slow only in use: left {left} times in 20 minutes");
    assert!(stage.switches.len() <= 18, "{:?}", stage.switches);
}

#[test]
fn a_path_is_not_left_for_one_that_is_as_bad() {
    for seed in 0..10 {
        let mut stage = Stage::of(&leaving(BY_BOTH), seed).with(|path| path.loss = 0.05);
        stage.run(at(60_000));
        assert!(stage.switches.len() <= 6, "{:?}", stage.switches);
        let mut stage = Stage::of(&leaving(BY_BOTH), seed).with(|path| path.delay = MS * 90);
        stage.paths[0].delay = MS * 20;
        stage.paths[0].loss = 0.05;
        stage.run(at(60_000));
        assert!(stage.switches.is_empty(), "the others are slower");
    }
}

#[test]
fn limits_need_liveness_detection() {
    let without = EndpointConfig {
        liveness: None,
        ..leaving(BY_LOSS)
    };
    let error = Endpoint::<Packet>::new(&without).unwrap_err();
    assert_eq!(error, ConfigError::PolicyWithoutLiveness);
}
