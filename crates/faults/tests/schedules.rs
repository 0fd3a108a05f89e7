//! The reduced form of `make faults`, and that what it asserts can fail.

use polypath_faults::parcel::Host;
use polypath_faults::sabotage::Sabotage;
use polypath_faults::schedule::Ruse;
use polypath_faults::violation::Violation;
use polypath_faults::{Failure, Options, run, run_many};
use polypath_session::event::Reject;
use polypath_session::relay::Undelivered;

/// Schedules of the reduced form.
const REDUCED: u64 = 200;
/// Schedules within which a broken node is found out.
const TRIES: u64 = 40;

#[test]
fn what_must_hold_holds_and_everything_is_exercised() {
    let tally = run_many(0..REDUCED, Options::default(), &|_| {});
    let tally = tally.unwrap_or_else(|failures| panic!("{failures:#?}"));
    assert_eq!(tally.schedules, REDUCED);
    let exercised = [
        tally.promised / REDUCED,
        tally.downs,
        tally.losses,
        tally.corruptions,
        tally.duplications,
        tally.reorderings,
        tally.unreached,
        tally.restarts,
        tally.clocks_behind,
        tally.impostors,
        tally.moves,
        tally.followed,
        tally.handshakes / REDUCED,
        tally.relay_restarts,
        tally.relayed / REDUCED,
        tally.joins / REDUCED,
    ];
    let watch = tally.watch.clone().counts().map(|count| *count);
    assert!(watch.iter().all(|count| *count > 0), "{tally}");
    assert!(exercised.iter().all(|count| *count > 0), "{tally}");
    assert_eq!(tally.overflows, 0, "the network itself loses nothing");
    assert_eq!(tally.ruses.len(), Ruse::ALL.len(), "{tally}");
    for reason in Reject::ALL {
        let is_exercised = tally.rejected.contains_key(reason);
        // Datagrams come on paths that there are, an authentic one is a frame, and none is held back for 2048 others.
        let is_possible = !matches!(
            reason,
            Reject::UnknownPath | Reject::Malformed | Reject::BehindWindow
        );
        assert_eq!(is_exercised, is_possible, "{}: {tally}", reason.name());
    }
    for reason in Undelivered::ALL {
        assert!(tally.undelivered.contains_key(&reason), "{tally}");
    }
}

#[test]
fn a_seed_gives_the_same_run_and_another_seed_another() {
    let outcome = |seed| run(seed, Options::default()).unwrap();
    assert_eq!(outcome(3), outcome(3));
    assert_ne!(outcome(3).digest, outcome(4).digest);
}

#[test]
fn a_node_that_panics_is_a_failure_of_its_seed() {
    let sabotage = Sabotage::Panics;
    let options = Options {
        sabotage,
        ..Options::default()
    };
    let failures = run_many(5..6, options, &|_| {}).unwrap_err();
    let [(5, failure)] = &failures[..] else {
        panic!("{failures:?}");
    };
    assert_eq!(failure.to_string(), "seed 5: panicked: a node panics");
}

/// The first violation that a broken node brings about.
fn violation(sabotage: Sabotage) -> Violation {
    let options = Options {
        sabotage,
        ..Options::default()
    };
    let mut runs = (0..TRIES).map(|seed| run(seed, options));
    let found = runs.find_map(|result| match result {
        Err(Failure::Violated { violation, .. }) => Some(violation),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{sabotage:?} is not found out"))
}

#[test]
fn broken_nodes_are_found_out() {
    use Violation::{
        Acted, Amplified, Forged, Hoarded, Missing, Oversized, Read, Stuck, Twice, Unproven,
        Unsized,
    };
    let found = |sabotage, is_expected: fn(&Violation) -> bool| {
        let violation = violation(sabotage);
        assert!(is_expected(&violation), "{sabotage:?}: {violation}");
    };
    found(Sabotage::DeliversTwice, |v| matches!(v, Twice { .. }));
    found(Sabotage::DeliversForged, |v| matches!(v, Forged { .. }));
    found(Sabotage::AnswersStrangers, |v| matches!(v, Unproven { .. }));
    found(Sabotage::ActsOnForgeries, |v| matches!(v, Acted { .. }));
    found(Sabotage::SharesKeys, |v| {
        matches!(v, Forged { .. } | Read { .. })
    });
    found(Sabotage::Oversleeps, |v| matches!(v, Stuck { .. }));
    found(Sabotage::FollowsAnybody, |v| matches!(v, Unproven { .. }));
    found(Sabotage::BelievesHandshakes, |v| matches!(v, Acted { .. }));
    found(Sabotage::HidesRestart, |v| matches!(v, Missing { .. }));
    found(Sabotage::FollowsNobody, |v| matches!(v, Missing { .. }));
    found(Sabotage::IgnoresSilence, |v| matches!(v, Missing { .. }));
    found(Sabotage::AsksForNoSize, |v| matches!(v, Unsized { .. }));
    found(Sabotage::Exaggerates, |v| matches!(v, Oversized { .. }));
    let at_relay = |v: &Violation| {
        matches!(
            v,
            Acted {
                host: Host::Relay,
                ..
            }
        )
    };
    found(Sabotage::RelaysUnopened, at_relay);
    found(Sabotage::RelayAnswersStrangers, |v| {
        let host = Host::Relay;
        matches!(v, Acted { host: h, .. } | Unproven { host: h, .. } if *h == host)
    });
    found(Sabotage::RelaysTwice, |v| matches!(v, Amplified { .. }));
    found(Sabotage::Hoards, |v| matches!(v, Hoarded { .. }));
}
