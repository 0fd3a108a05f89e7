//! The rules of II.B and II.C alone.

use super::*;
use crate::estimate::{Macd, Srtt};

/// The estimates of a path after these round-trip times in milliseconds.
fn measured(times: &[u64]) -> Estimates {
    let first = MS * times[0];
    let mut estimates = Estimates {
        srtt: Srtt::new(first),
        macd: Macd::new(first),
        growth: None,
    };
    for &time in &times[1..] {
        estimates.srtt.update(MS * time);
        estimates.macd.update(MS * time);
    }
    estimates
}

fn leaves(config: DelayCentricConfig, current: &[u64], other: &[u64]) -> bool {
    let other = measured(other);
    let better = config.better(&measured(current), [(PathId(1), &other)].into_iter());
    better.is_some()
}

#[test]
fn the_reactive_rule_requires_more_than_the_hysteresis() {
    assert!(leaves(pure(10), &[31], &[20]));
    assert!(!leaves(pure(10), &[30], &[20]));
    assert!(leaves(pure(0), &[21], &[20]));
    assert!(!leaves(pure(0), &[20], &[20]));
    // One eighth of 100 ms is 12.5 ms.
    assert!(leaves(pure(10), &[20, 120], &[20]));
    assert!(!leaves(pure(10), &[20, 90], &[20]));
}

#[test]
fn the_predictive_rule_requires_its_three_conditions() {
    let rules = [TrendRule::Original, TrendRule::Modified].map(predictive);
    for rule in rules {
        assert!(leaves(rule, &[80, 90], &[20, 20]));
        assert!(!leaves(rule, &[40, 60], &[20, 20]), "(iii)");
        assert!(!leaves(rule, &[80, 90], &[100, 95]), "(i)");
        assert!(!leaves(rule, &[200, 100], &[20, 20]), "(ii): it falls");
    }
    let [original, modified] = rules;
    let (slow, fast) = ([100, 110], [20, 60]);
    assert!(leaves(original, &slow, &fast));
    assert!(!leaves(modified, &slow, &fast), "the other rises more");
    let (falling, faster) = ([120, 110], [100, 20]);
    assert!(!leaves(original, &falling, &faster));
    assert!(leaves(modified, &falling, &faster), "the other falls more");
}

#[test]
fn the_best_of_several_better_paths_is_selected() {
    let others = [60, 20, 20, 40].map(|time| measured(&[time]));
    let others = others.iter().enumerate();
    let others = others.map(|(number, path)| (PathId(u8::try_from(number).unwrap()), path));
    let best = pure(10).better(&measured(&[100]), others);
    assert_eq!(best, Some(PathId(1)));
}
