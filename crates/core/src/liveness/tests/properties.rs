use proptest::prelude::*;

use super::super::outstanding::CAPACITY;
use super::*;

fn configs() -> impl Strategy<Value = LivenessConfig> {
    let (interval, standby, misses) = (10_u64..100, 1_u64..20, 2_u32..6);
    let (margin, retry, hold, longer) = (1_u64..100, 1_u64..50, 1_u64..3000, 1_u64..20);
    (interval, standby, misses, margin, retry, hold, longer).prop_map(
        |(interval, standby, misses, margin, retry, hold, longer)| LivenessConfig {
            interval: MS * interval,
            standby: MS * (interval * standby),
            misses,
            margin: MS * margin,
            retry: MS * (interval * retry),
            hold: MS * hold,
            longest_hold: MS * (hold * longer),
        },
    )
}

/// The outcomes of heartbeats in turn: a byte below `lost` is a round-trip time in units of 4 ms,
/// others are losses.
fn outcomes_of(outcomes: &[u8], lost: u8) -> impl FnMut(PathId, Time) -> Option<Duration> {
    let mut turn = outcomes.iter().cycle();
    move |_, _| {
        let outcome = *turn.next().unwrap();
        (outcome < lost).then_some(MS * (u64::from(outcome) * 4))
    }
}

/// The maximum number of returns in `span`: one that does not last doubles the next hold, and one
/// that lasts does so for a multiple of its hold or of the shortest silence.
fn max_returns(config: &LivenessConfig, span: Duration) -> u64 {
    let doublings = u64::from((config.longest_hold.0 / config.hold.0).ilog2()) + 1;
    let silence = config.interval * u64::from(config.misses - 1);
    let lasting = config.hold + config.hold.min(silence) * LASTING;
    let apart = lasting.min(config.longest_hold).0;
    (span.0 / apart + 1) * (doublings + 1) + 1
}

proptest! {
    /// For any replies, a path that is not live is never used together with a live one, and there
    /// is always a usable path; the bench itself checks that deadlines advance.
    #[test]
    fn no_silent_path_is_used_together_with_a_live_one(
        config in configs(), outcomes in prop::collection::vec(any::<u8>(), 1..100), lost in 1_u8..,
    ) {
        let mut bench = Bench::new(&config, 3).carrying(PathSet::only(FIRST));
        let mut outcome = outcomes_of(&outcomes, lost);
        for second in 1..20 {
            bench.run(at(second * 500), &mut outcome);
            let usable = bench.liveness.paths().usable;
            prop_assert!(!usable.is_empty());
            let states: Vec<_> = (0..3).map(|path| bench.state(PathId(path))).collect();
            let any_live = states.contains(&PathState::Live);
            for path in usable {
                let state = states[path.index()];
                prop_assert!(!any_live || state == PathState::Live, "{path:?} in {states:?}");
            }
            for path in &bench.liveness.paths {
                prop_assert!(path.buffered() <= CAPACITY);
            }
        }
    }

    /// A path that answers every heartbeat is never abandoned while its round-trip times stay
    /// within the bound of the module documentation.
    #[test]
    fn a_path_that_answers_everything_is_never_silent(
        config in configs(), least in 0_u64..2_000,
        jitter in prop::collection::vec(0.0..1.0_f64, 1..200), busy in any::<bool>(),
    ) {
        let bound = config.margin + config.interval * u64::from(config.misses - 1);
        let carried = if busy { PathSet::only(FIRST) } else { PathSet::EMPTY };
        let mut bench = Bench::new(&config, 1).carrying(carried);
        let mut turn = jitter.iter().cycle();
        bench.run(at(30_000), |_, _| {
            // Smoothing rounds down by some nanoseconds.
            let below = bound.as_secs_f64() * turn.next().unwrap() - 1e-6;
            Some(MS * least + Duration::from_secs_f64(below))
        });
        prop_assert_eq!(&bench.events, &[]);
    }

    /// A path that fails is silent within the documented bound.
    #[test]
    fn a_failed_path_is_silent_in_time(
        config in configs(), rtt in 0_u64..500, dead in 20_000_u64..21_000, busy in any::<bool>(),
    ) {
        let carried = if busy { PathSet::only(FIRST) } else { PathSet::EMPTY };
        let mut bench = Bench::new(&config, 1).carrying(carried);
        let gap = outage_between(MS * rtt, dead, u64::MAX);
        bench.run(at(dead), |_, now| gap(now));
        let path = &bench.liveness.paths[0];
        let (round_trip, needed) = (path.round_trip().unwrap(), path.needed() as u64);
        let timeout = round_trip.timeout(config.margin);
        // On an idle path RTTVAR may still be decaying from RTT / 2.
        let limit = if busy {
            config.interval * needed + timeout
        } else {
            config.standby + config.interval * (needed - 1) + timeout * 2
        };
        bench.run(at(dead) + limit, |_, now| gap(now));
        prop_assert_eq!(bench.state(FIRST), PathState::Silent);
    }

    /// A path that changes state repeatedly returns at most as often as its holds allow.
    #[test]
    fn no_path_flaps(
        config in configs(), outcomes in prop::collection::vec(any::<u8>(), 1..300), lost in 1_u8..,
        ups in prop::collection::vec((1_u64..9_000, 1_u64..3_000), 1..30),
    ) {
        let mut bench = Bench::new(&config, 1).carrying(PathSet::only(FIRST));
        let mut outcome = outcomes_of(&outcomes, lost);
        let mut end = 0;
        for (up, down) in ups.iter().cycle().take(60) {
            end += up;
            bench.run(at(end), &mut outcome);
            end += down;
            bench.run(at(end), |_, _| None);
        }
        let returns = bench.changes().iter().filter(|(.., back)| *back).count() as u64;
        let max = max_returns(&config, at(end).since(Time::ZERO));
        prop_assert!(returns <= max, "{returns} of {max}");
        prop_assert!(bench.changes().len() as u64 <= 2 * returns + 2);
    }
}
