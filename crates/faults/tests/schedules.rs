//! A short run of `make faults`, and tests that each invariant can be violated.

use polypath_faults::coverage::Coverage;
use polypath_faults::datagram::Host;
use polypath_faults::mutants::Mutant;
use polypath_faults::schedule::{
    AttackKind, CONGESTION_FROM, DELAY_CENTRIC_FROM, FLOW_SCOPE_FROM, FRAGMENTS_FROM, IN_TIME_FROM,
    ROUND_ROBIN_FROM, ReactionKind, SPACING_FROM,
};
use polypath_faults::violation::Violation;
use polypath_faults::{Failure, Options, run, run_many};
use polypath_session::event::Reject;
use polypath_session::relay::Undelivered;

/// Schedules of the short run.
const REDUCED: u64 = 200;
/// Schedules within which each mutant is detected.
const TRIES: u64 = 40;

#[test]
fn all_invariants_hold_and_all_faults_are_exercised() {
    let coverage = run_many(0..REDUCED, Options::default(), &|_| {});
    let coverage = coverage.unwrap_or_else(|failures| panic!("{failures:#?}"));
    assert_eq!(coverage.schedules, REDUCED);
    let exercised = [
        coverage.required / REDUCED,
        coverage.outage_losses,
        coverage.losses,
        coverage.corruptions,
        coverage.duplications,
        coverage.reorderings,
        coverage.marks,
        coverage.rewrites,
        coverage.marked,
        coverage.unreachable,
        coverage.restarts,
        coverage.clocks_behind,
        coverage.impostors,
        coverage.moves,
        coverage.learned,
        coverage.kept_timestamps,
        coverage.handshakes / REDUCED,
        coverage.relay_restarts,
        coverage.forwarded / REDUCED,
        coverage.relay_handshakes / REDUCED,
    ];
    // The policy that signals congestion, and splits packets, is in later schedules.
    let mut paths = coverage.paths.clone();
    (paths.congestion_marks, paths.congestion_drops) = (1, 1);
    (paths.fragments, paths.spacing_feedback) = (1, 1);
    let watch = paths.counts().map(|count| *count);
    assert!(watch.iter().all(|count| *count > 0), "{coverage}");
    assert!(exercised.iter().all(|count| *count > 0), "{coverage}");
    assert_eq!(coverage.overflows, 0, "no queue of the network overflows");
    let attacks = AttackKind::ALL.len() + 1;
    assert_eq!(coverage.attacks.len(), attacks, "{coverage}");
    assert_eq!(coverage.reactions.len(), ReactionKind::ALL.len());
    // Of 60 initiations at most 40 are admitted at once; some receivers are down.
    let exhausted = coverage.cookies_required / 20;
    let reactions = coverage.reactions[&ReactionKind::Exhaust];
    assert!(exhausted * 4 > reactions * 3, "{coverage}");
    for reason in Reject::ALL {
        let is_exercised = coverage.rejected.contains_key(reason);
        // Datagrams arrive on existing paths, authentic ones contain frames, and none is delayed by
        // 2048 others. Both nodes have the same pre-shared key, and no response is forged. Only
        // sessions with relays answer no initiations. The network marks ECN-capable datagrams only.
        let is_possible = !matches!(
            reason,
            Reject::UnknownPath
                | Reject::Malformed
                | Reject::BehindWindow
                | Reject::WrongResponse
                | Reject::TooManyResponses
                | Reject::UnexpectedInitiation
                | Reject::WrongMark
        );
        assert_eq!(is_exercised, is_possible, "{}: {coverage}", reason.name());
    }
    let by_relays = &coverage.rejected_by_relays;
    assert!(by_relays.contains_key(&Reject::UnexpectedInitiation));
    assert!(by_relays.contains_key(&Reject::CookieRequired));
    for reason in Undelivered::ALL {
        assert!(coverage.not_forwarded.contains_key(&reason), "{coverage}");
    }
}

/// Runs a quarter of the reduced number of schedules from the seed `first` on.
fn check_from(first: u64) -> Coverage {
    let seeds = first..first + REDUCED / 4;
    let coverage = run_many(seeds, Options::default(), &|_| {});
    let coverage = coverage.unwrap_or_else(|failures| panic!("{failures:#?}"));
    assert!(coverage.required > REDUCED, "{coverage}");
    coverage
}

#[test]
fn all_invariants_hold_with_in_time() {
    check_from(IN_TIME_FROM);
}

#[test]
fn all_invariants_hold_with_round_robin() {
    check_from(ROUND_ROBIN_FROM);
}

#[test]
fn all_invariants_hold_with_delay_centric() {
    check_from(DELAY_CENTRIC_FROM);
}

#[test]
fn all_invariants_hold_with_flows_that_choose_by_themselves() {
    check_from(FLOW_SCOPE_FROM);
}

#[test]
fn all_invariants_hold_with_spaced_packets() {
    let coverage = check_from(SPACING_FROM);
    assert!(coverage.paths.spacing_feedback > REDUCED, "{coverage}");
}

#[test]
fn all_invariants_hold_with_fragments() {
    let coverage = check_from(FRAGMENTS_FROM);
    assert!(coverage.paths.fragments > REDUCED, "{coverage}");
}

#[test]
fn all_invariants_hold_with_congestion() {
    let coverage = check_from(CONGESTION_FROM);
    let paths = &coverage.paths;
    assert!(
        paths.congestion_marks > 0 && paths.congestion_drops > 0,
        "{coverage}"
    );
    assert!(coverage.marked > REDUCED, "{coverage}");
}

#[test]
fn runs_are_reproducible_and_depend_on_the_seed() {
    let outcome = |seed| run(seed, Options::default()).unwrap();
    assert_eq!(outcome(3), outcome(3));
    assert_ne!(outcome(3).digest, outcome(4).digest);
}

#[test]
fn a_panic_is_reported_with_its_seed() {
    let mutant = Mutant::Panics;
    let options = Options {
        mutant,
        ..Options::default()
    };
    let failures = run_many(5..6, options, &|_| {}).unwrap_err();
    let [(5, failure)] = &failures[..] else {
        panic!("{failures:?}");
    };
    assert_eq!(failure.to_string(), "seed 5: panicked: a node panics");
}

/// The first violation that a mutant causes in the schedules from the seed `first` on.
fn violation(mutant: Mutant, first: u64) -> Violation {
    let options = Options {
        mutant,
        ..Options::default()
    };
    let seeds = first..first + TRIES;
    let mut runs = seeds.map(|seed| run(seed, options));
    let found = runs.find_map(|result| match result {
        Err(Failure::Violated { violation, .. }) => Some(violation),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{mutant:?} is not detected"))
}

/// Checks that a mutant violates what is expected, in the schedules from the seed `first` on.
fn detected_from(first: u64, mutant: Mutant, is_expected: fn(&Violation) -> bool) {
    let violation = violation(mutant, first);
    assert!(is_expected(&violation), "{mutant:?}: {violation}");
}

fn detected(mutant: Mutant, is_expected: fn(&Violation) -> bool) {
    detected_from(0, mutant, is_expected);
}

#[test]
fn every_mutant_is_detected() {
    use Violation::{
        ActedOnForgery, Amplified, DeliveredToImpostor, DuplicateDelivery, ExceededCeiling,
        ForgedDelivery, MisdirectedCookie, Missing, MtuNotFound, MtuTooLarge, OverCapacity,
        SentOnClosedPath, StuckDeadline, UnprovenDestination,
    };
    detected(Mutant::DeliversTwice, |v| {
        matches!(v, DuplicateDelivery { .. })
    });
    detected(Mutant::DeliversCorrupted, |v| {
        matches!(v, ForgedDelivery { .. })
    });
    detected(Mutant::RepliesToRejected, |v| {
        matches!(v, UnprovenDestination { .. })
    });
    detected(Mutant::SendsOnRejected, |v| {
        matches!(v, ActedOnForgery { .. })
    });
    detected(Mutant::MisdirectsCookies, |v| {
        matches!(v, MisdirectedCookie { .. })
    });
    detected(Mutant::ImpostorHasKey, |v| {
        matches!(v, ForgedDelivery { .. } | DeliveredToImpostor { .. })
    });
    detected(Mutant::IgnoresDeadline, |v| {
        matches!(v, StuckDeadline { .. })
    });
    detected(Mutant::LearnsUnauthenticated, |v| {
        matches!(v, UnprovenDestination { .. })
    });
    detected(Mutant::LearnsFromInitiation, |v| {
        matches!(v, ActedOnForgery { .. } | UnprovenDestination { .. })
    });
    detected(Mutant::ReusesInstance, |v| matches!(v, Missing { .. }));
    detected(Mutant::ForgetsTimestamp, |v| {
        matches!(v, ActedOnForgery { .. })
    });
    for mutant in [
        Mutant::IgnoresEvidence,
        Mutant::IgnoresSessionMac,
        Mutant::IgnoresCookies,
    ] {
        detected_from(100, mutant, |v| matches!(v, Missing { .. }));
    }
    detected_from(50, Mutant::AnswersFirstCopy, |v| {
        matches!(v, Missing { .. })
    });
    detected_from(60, Mutant::RejoinsRelayLate, |v| {
        matches!(v, Missing { .. })
    });
    detected(Mutant::NeverFollows, |v| matches!(v, Missing { .. }));
    detected(Mutant::IgnoresLiveness, |v| matches!(v, Missing { .. }));
    detected(Mutant::NoMtuDiscovery, |v| matches!(v, MtuNotFound { .. }));
    detected(Mutant::SendsOnClosedPath, |v| {
        matches!(v, SentOnClosedPath { .. })
    });
    detected(Mutant::SendsOnPathClosedByPeer, |v| {
        matches!(v, SentOnClosedPath { .. })
    });
    detected(Mutant::IgnoresCeiling, |v| {
        matches!(v, ExceededCeiling { .. })
    });
    detected(Mutant::OverstatesMtu, |v| matches!(v, MtuTooLarge { .. }));
    let at_relay = |v: &Violation| {
        matches!(
            v,
            ActedOnForgery {
                host: Host::Relay,
                ..
            }
        )
    };
    detected(Mutant::RelaysUnauthenticated, at_relay);
    detected(Mutant::RelayRepliesToRejected, |v| {
        let host = Host::Relay;
        matches!(v, ActedOnForgery { host: h, .. } | UnprovenDestination { host: h, .. } if *h == host)
    });
    detected(Mutant::RelaysTwice, |v| matches!(v, Amplified { .. }));
    detected(Mutant::OverstatesMemory, |v| {
        matches!(v, OverCapacity { .. })
    });
}

#[test]
fn every_mutant_of_ecn_fields_is_detected() {
    use Violation::{LostMark, MarkWouldBeLost, Missing, WrongEcn};
    detected(Mutant::CarriesUnmarkable, |v| {
        matches!(v, Missing { .. } | MarkWouldBeLost { .. })
    });
    detected(Mutant::InventsMarks, |v| matches!(v, WrongEcn { .. }));
    detected_from(CONGESTION_FROM, Mutant::LosesMarks, |v| {
        matches!(v, LostMark { .. })
    });
    detected(Mutant::OverstatesEcn, |v| {
        matches!(v, MarkWouldBeLost { .. })
    });
}
