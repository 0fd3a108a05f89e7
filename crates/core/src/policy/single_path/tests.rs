use super::*;
use crate::policy::{PolicyConfig, PolicyError};
use crate::repair::Share;

const LIMITS: LeaveConfig = LeaveConfig {
    loss: Some(Share::from_millionths(20_000)),
    delay: Some(Duration::from_millis(50)),
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A path with this number of heartbeats, of which the last `lost` were lost.
fn path(heartbeats: u32, lost: u32, rtt: u64) -> Quality {
    let mut quality = Quality::default();
    (0..heartbeats - lost - 1).for_each(|_| quality.on_answer(ms(rtt), 0));
    quality.on_answer(ms(rtt), lost);
    quality
}

#[test]
fn a_path_is_worse_if_it_exceeds_a_limit_and_the_other_does_not() {
    let clean = path(quality::LEAST_OF_OTHER, 0, 40);
    let worse = |path: &Quality, other: &Quality| path.is_worse_than(other, &LIMITS);
    assert!(worse(&path(50, 3, 40), &clean));
    assert!(!worse(&path(49, 3, 40), &clean), "too few heartbeats");
    assert!(!worse(&path(50, 2, 40), &clean), "two may be chance");
    assert!(!worse(&path(128, 4, 40), &clean));
    assert!(worse(&path(128, 5, 40), &clean));
    assert!(!worse(&path(50, 3, 40), &path(7, 0, 40)), "hardly known");
    assert!(worse(&path(100, 10, 40), &path(100, 5, 40)), "half as many");
    assert!(!worse(&path(100, 10, 40), &path(100, 6, 40)));
    assert!(worse(&path(100, 10, 40), &path(100, 0, 90)));
    assert!(!worse(&path(100, 10, 40), &path(100, 0, 91)), "slower");
    assert!(worse(&path(10, 0, 91), &clean), "slow");
    assert!(!worse(&path(10, 0, 90), &clean));
    assert!(!worse(&path(10, 0, 91), &path(100, 10, 40)), "lossier");
    assert!(!worse(&path(10, 0, 91), &Quality::default()), "unknown");
}

#[test]
fn a_path_has_recovered_at_half_of_the_limits() {
    let used = path(100, 0, 40);
    let recovered = |path: &Quality| path.has_recovered(&used, &LIMITS);
    assert!(recovered(&path(100, 1, 65)));
    assert!(!recovered(&path(100, 2, 65)));
    assert!(!recovered(&path(100, 1, 66)));
    assert!(!recovered(&path(49, 0, 40)), "too few heartbeats");
}

#[test]
fn the_window_has_the_newest_heartbeats() {
    let mut quality = path(100, 20, 40);
    (0..128).for_each(|_| quality.on_answer(ms(40), 0));
    assert_eq!(quality.share(), Share::default());
    quality.on_answer(ms(40), 1_000_000);
    assert_eq!(
        quality.share(),
        Share::from_millionths(992_187),
        "127 of 128"
    );
}

#[test]
fn impossible_limits_are_refused_with_key_and_remedy() {
    let refusal = |loss: Option<u32>, delay| {
        let loss = loss.map(Share::from_millionths);
        let leave = Some(LeaveConfig { loss, delay });
        let result = PolicyConfig::SinglePath { path: 0, leave }.check(2);
        result.err().map(|error: PolicyError| {
            alloc::format!("{}: {error}; {}", error.key("policy"), error.remedy())
        })
    };
    let some = |text: &str| Some(alloc::string::String::from(text));
    assert_eq!(
        refusal(None, None),
        some(
            "policy.leave: `leave` states no limit; give `loss`, `delay` or both: \
             leave = { loss = 0.02, delay = \"50 ms\" }"
        )
    );
    for loss in [0, 999, 500_001] {
        let expected = "policy.leave.loss: `loss` must be 0.001 to 0.5; use for example 0.02";
        assert_eq!(refusal(Some(loss), None), some(expected));
    }
    let delays = "policy.leave.delay: `delay` must be 5ms to 10s";
    for delay in [4, 10_001] {
        let found = refusal(Some(20_000), Some(ms(delay))).unwrap();
        assert!(
            found.starts_with("policy.leave.delay: `delay` must be"),
            "{found} {delays}"
        );
    }
    assert_eq!(refusal(Some(1_000), Some(ms(5))), None);
}
