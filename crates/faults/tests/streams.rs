//! A short run of the schedules of streams, and tests that each invariant can be violated.

use polypath_faults::streams::{
    StreamFaultKind, StreamMutant, StreamOptions, StreamSchedule, StreamViolation, run_stream,
};
use polypath_faults::violation::Violation;
use polypath_faults::{Failure, run_many_streams};

/// Schedules of the short run.
const REDUCED: u64 = 150;
/// Schedules within which each mutant is detected.
const TRIES: u64 = 40;

#[test]
fn all_invariants_hold_and_all_faults_are_exercised() {
    let coverage = run_many_streams(0..REDUCED, StreamOptions::default(), &|_| {});
    let coverage = coverage.unwrap_or_else(|failures| panic!("{failures:#?}"));
    assert_eq!(coverage.schedules, REDUCED);
    assert!(coverage.completed > REDUCED * 3 / 4, "{coverage}");
    let exercised = [
        coverage.delivered / REDUCED / 1000,
        coverage.duplicates,
        coverage.failed / REDUCED,
        coverage.refused,
        coverage.named,
    ];
    assert!(exercised.iter().all(|count| *count > 0), "{coverage}");
    assert_eq!(coverage.faults.len(), 7, "{coverage}");
    for end in ["complete", "left", "orphaned"] {
        assert!(coverage.ends.contains_key(end), "{coverage}");
    }
}

#[test]
fn runs_are_reproducible_and_depend_on_the_seed() {
    let outcome = |seed| run_stream(seed, StreamOptions::default()).unwrap();
    assert_eq!(outcome(3), outcome(3));
    assert_ne!(outcome(3).digest, outcome(4).digest);
}

/// Schedules that once failed.
#[test]
fn schedules_that_found_defects_hold() {
    for seed in [365, 373] {
        run_stream(seed, StreamOptions::default()).unwrap();
    }
}

#[test]
fn faults_are_in_order_and_end_with_the_calm() {
    for seed in 0..200 {
        let schedule = StreamSchedule::draw(seed);
        assert!(schedule.faults.is_sorted_by_key(|fault| fault.at));
        let calm = schedule.calm_from();
        assert_eq!(schedule.outage_until(calm), None);
        assert_eq!(schedule.down_until(calm), None);
        assert_eq!(schedule.stalled_until(calm), None);
        for fault in &schedule.faults {
            if let StreamFaultKind::Outage(lasts) = fault.kind
                && lasts.as_nanos() > 0
            {
                assert!(schedule.outage_until(fault.at) >= Some(fault.until()));
            }
        }
    }
}

/// The first violation that a mutant causes.
fn violation(mutant: StreamMutant) -> StreamViolation {
    let options = StreamOptions {
        mutant,
        verbose: false,
    };
    let mut runs = (0..TRIES).map(|seed| run_stream(seed, options));
    let found = runs.find_map(|result| match result {
        Err(Failure::Violated {
            violation: Violation::Stream(violation),
            ..
        }) => Some(violation),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{mutant:?} is not detected"))
}

#[test]
fn every_mutant_is_detected() {
    use StreamViolation::{
        Failed, NeverEnded, OverCapacity, OverCredit, Slow, Stalled, StuckDeadline, WrongEnd,
        WrongOrder,
    };
    let detected = |mutant, is_expected: fn(&StreamViolation) -> bool| {
        let violation = violation(mutant);
        assert!(is_expected(&violation), "{mutant:?}: {violation}");
    };
    detected(StreamMutant::DeliversTwice, |v| {
        matches!(v, WrongOrder { .. })
    });
    for mutant in [
        StreamMutant::LosesPackets,
        StreamMutant::IgnoresNames,
        StreamMutant::NeverReplaces,
    ] {
        detected(mutant, |v| matches!(v, Stalled { .. }));
    }
    // The server forgets a packet, and no longer knows what the receiver buffers.
    detected(StreamMutant::OverstatesProgress, |v| {
        matches!(v, Stalled { .. } | Failed(_))
    });
    detected(StreamMutant::NeverGrows, |v| matches!(v, Slow { .. }));
    detected(StreamMutant::OverstatesCredit, |v| {
        matches!(v, OverCredit { .. })
    });
    for mutant in [StreamMutant::TakesTooMuch, StreamMutant::WritesTwice] {
        detected(mutant, |v| matches!(v, OverCapacity { .. }));
    }
    detected(StreamMutant::SkipsNumbers, |v| matches!(v, Failed(_)));
    detected(StreamMutant::EndsEarly, |v| matches!(v, WrongEnd(..)));
    detected(StreamMutant::IgnoresDeadline, |v| {
        matches!(v, StuckDeadline(_))
    });
    detected(StreamMutant::IgnoresEnds, |v| matches!(v, NeverEnded));
}
