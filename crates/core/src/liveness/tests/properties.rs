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

/// The fates of heartbeats in turn: a byte above `lost` is none, else as many times 4 ms.
fn fate_of(fates: &[u8], lost: u8) -> impl FnMut(PathId, Time) -> Option<Duration> {
    let mut turn = fates.iter().cycle();
    move |_, _| {
        let fate = *turn.next().unwrap();
        (fate < lost).then_some(MS * (u64::from(fate) * 4))
    }
}

/// As many returns in `span` as the holds allow: each that does not last doubles the next hold.
fn most_returns(config: &LivenessConfig, span: Duration) -> u64 {
    let doublings = u64::from((config.longest_hold.0 / config.hold.0).ilog2()) + 1;
    (span.0 / config.longest_hold.0 + 1) * (doublings + 1) + 1
}

proptest! {
    /// Whatever is answered, a path that does not live is never used beside one that does, and there is
    /// always a path; the bench itself checks that deadlines move on.
    #[test]
    fn no_silent_path_is_used_beside_a_live_one(
        config in configs(), fates in prop::collection::vec(any::<u8>(), 1..100), lost in 1_u8..,
    ) {
        let mut bench = Bench::new(&config, 3).carrying(PathSet::only(FIRST));
        let mut fate = fate_of(&fates, lost);
        for second in 1..20 {
            bench.run(at(second * 500), &mut fate);
            let usable = bench.watch.paths().usable;
            prop_assert!(!usable.is_empty());
            let states: Vec<_> = (0..3).map(|path| bench.state(PathId(path))).collect();
            let lives = states.contains(&PathState::Live);
            for path in usable {
                let state = states[path.index()];
                prop_assert!(!lives || state == PathState::Live, "{path:?} in {states:?}");
            }
            for path in &bench.watch.paths {
                prop_assert!(path.buffered() <= CAPACITY);
            }
        }
    }

    /// A path that answers everything is never left, if only its round-trip times stay within the bound
    /// that the module states.
    #[test]
    fn a_path_that_answers_everything_is_never_left(
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
        prop_assert_eq!(&bench.told, &[]);
    }

    /// A path that goes dead is left within the stated bound.
    #[test]
    fn a_dead_path_is_left_in_time(
        config in configs(), rtt in 0_u64..500, dead in 20_000_u64..21_000, busy in any::<bool>(),
    ) {
        let carried = if busy { PathSet::only(FIRST) } else { PathSet::EMPTY };
        let mut bench = Bench::new(&config, 1).carrying(carried);
        let gap = hole(MS * rtt, dead, u64::MAX);
        bench.run(at(dead), |_, now| gap(now));
        let path = &bench.watch.paths[0];
        let (rounds, needed) = (path.round_trip().unwrap(), path.needed() as u64);
        let timeout = rounds.timeout(config.margin);
        // An idle path may be on its way from RTTVAR = RTT / 2 still.
        let limit = if busy {
            config.interval * needed + timeout
        } else {
            config.standby + config.interval * (needed - 1) + timeout * 2
        };
        bench.run(at(dead) + limit, |_, now| gap(now));
        prop_assert_eq!(bench.state(FIRST), PathState::Silent);
    }

    /// However a path comes and goes, it is used again only as often as its holds allow.
    #[test]
    fn no_path_flaps(
        config in configs(), fates in prop::collection::vec(any::<u8>(), 1..300), lost in 1_u8..,
        ups in prop::collection::vec((1_u64..9_000, 1_u64..3_000), 1..30),
    ) {
        let mut bench = Bench::new(&config, 1).carrying(PathSet::only(FIRST));
        let mut fate = fate_of(&fates, lost);
        let mut end = 0;
        for (up, down) in ups.iter().cycle().take(60) {
            end += up;
            bench.run(at(end), &mut fate);
            end += down;
            bench.run(at(end), |_, _| None);
        }
        let returns = bench.changes().iter().filter(|(.., back)| *back).count() as u64;
        let most = most_returns(&config, at(end).since(Time::ZERO));
        prop_assert!(returns <= most, "{returns} of {most}");
        prop_assert!(bench.changes().len() as u64 <= 2 * returns + 2);
    }
}
