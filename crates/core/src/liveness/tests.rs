use alloc::vec::Vec;

use super::*;
use bench::Bench;

mod bench;
mod properties;

const MS: Duration = Duration::from_millis(1);
const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

/// A round-trip time but between these milliseconds, where nothing is answered.
fn hole(rtt: Duration, from: u64, until: u64) -> impl Fn(Time) -> Option<Duration> {
    move |now| (now < at(from) || now >= at(until)).then_some(rtt)
}

#[test]
fn heartbeats_leave_fast_where_packets_go_and_seldom_elsewhere() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2).carrying(PathSet::only(FIRST));
    bench.run(at(10_000), |_, _| Some(MS * 40));
    let of = |path| bench.sent.iter().filter(|(_, p)| *p == path).count();
    assert_eq!(of(FIRST), 400, "one each 25 ms");
    // The second is unproven at first, and tried until the answer is there.
    assert_eq!(of(SECOND), 21, "one each 500 ms");
    assert_eq!(bench.told, []);
    let health = bench.watch.health(FIRST).unwrap();
    assert_eq!(health.rtt, Some(MS * 40));
    assert_eq!((health.sent, health.answered), (400, 398));
}

#[test]
fn before_the_first_answer_every_path_is_used_and_then_those_that_answered() {
    let mut bench = Bench::new(&LivenessConfig::default(), 3);
    assert_eq!(bench.watch.paths().usable, PathSet::first(3));
    let answers = |path: PathId, _| (path != SECOND).then_some(MS * (10 + u64::from(path.0) * 10));
    bench.run(at(15), answers);
    assert_eq!(bench.watch.paths().usable, PathSet::only(FIRST));
    bench.run(at(60_000), answers);
    let expected = PathSet::first(3).without(PathSet::only(SECOND));
    assert_eq!(bench.watch.paths().usable, expected);
    assert_eq!(bench.state(SECOND), PathState::Unproven);
    let tries = bench.sent.iter().filter(|(_, path)| *path == SECOND);
    assert!(tries.count() < 30, "they grow apart");
}

#[test]
fn a_silence_and_a_return_take_the_course_that_is_stated() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2).carrying(PathSet::first(2));
    let gap = hole(MS * 40, 5_001, 7_000);
    let fate = |path, now| {
        if path == FIRST {
            gap(now)
        } else {
            Some(MS * 40)
        }
    };
    bench.run(at(5_129), fate);
    assert_eq!(bench.state(FIRST), PathState::Live);
    bench.run(at(6_000), fate);
    assert_eq!(bench.watch.paths().usable, PathSet::only(SECOND));
    bench.run(at(20_000), fate);
    // The heartbeats of 5015, 5040 and 5065 ms are lost; the third is overdue 40 + 25 ms later. The first try
    // behind the hole leaves at 7390 ms and is answered at 7430 ms; 1 s of hold, and the next answer.
    assert_eq!(
        bench.changes(),
        [(5_130, FIRST, false), (8_445, FIRST, true)]
    );
    let Event::PathSilent { silence, rtt, .. } = bench.told[0].1 else {
        unreachable!()
    };
    assert_eq!((silence, rtt), (MS * 100, MS * 40));
    let Event::PathBack { outage, .. } = bench.told[1].1 else {
        unreachable!()
    };
    assert_eq!(outage, MS * (8_445 - 5_030));
    assert_eq!(bench.watch.paths().usable, PathSet::first(2));
}

#[test]
fn a_path_at_rest_does_not_die_unnoticed() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2);
    let gap = hole(MS * 40, 5_001, 100_000);
    bench.run(at(20_000), |path, now| {
        if path == FIRST {
            gap(now)
        } else {
            Some(MS * 40)
        }
    });
    let [(silent, FIRST, false)] = bench.changes()[..] else {
        panic!("{:?}", bench.told)
    };
    let stated = 500 + 2 * 25 + 2 * 65;
    assert!(silent <= 5_001 + stated, "{silent}");
    assert_eq!(bench.watch.paths().usable, PathSet::only(SECOND));
}

#[test]
fn where_no_path_lives_each_is_tried_and_the_first_to_return_is_used_at_once() {
    let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::first(2));
    let (short, long) = (hole(MS * 40, 2_000, 3_000), hole(MS * 40, 2_000, 9_000));
    let fate = |path, now| if path == FIRST { short(now) } else { long(now) };
    bench.run(at(2_500), fate);
    assert_eq!(bench.state(FIRST), PathState::Silent);
    assert_eq!(bench.state(SECOND), PathState::Silent);
    assert_eq!(bench.watch.paths().usable, PathSet::first(2));
    bench.run(at(3_600), fate);
    assert_eq!(bench.state(FIRST), PathState::Returning);
    assert_eq!(bench.watch.paths().usable, PathSet::only(FIRST));
    bench.run(at(30_000), fate);
    assert_eq!(bench.watch.paths().usable, PathSet::first(2));
}

#[test]
fn a_path_that_comes_and_goes_is_used_ever_less_often() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2).carrying(PathSet::first(2));
    // Up and down for 5 s each.
    let up = |now: Time| now.as_secs_f64() % 10.0 < 5.0;
    let fate = |path, now| (path == SECOND || up(now)).then_some(MS * 20);
    bench.run(at(600_000), fate);
    let changes = bench.changes();
    assert!(changes.iter().all(|(_, path, _)| *path == FIRST));
    // Used again after holds of 1 s, 2 s and 4 s; 8 s are more than it ever lasts.
    let back: Vec<_> = changes.iter().filter(|(.., back)| *back).collect();
    assert_eq!(back.len(), 3, "{changes:?}");
    // It stays up from now on.
    bench.run(at(700_000), |_, _| Some(MS * 20));
    assert_eq!(bench.watch.paths().usable, PathSet::first(2));
    // A return that lasted begins anew with the shortest hold.
    let gap = hole(MS * 20, 700_000, 701_000);
    bench.run(at(710_000), |path, now| {
        if path == FIRST {
            gap(now)
        } else {
            Some(MS * 20)
        }
    });
    let [.., (silent, _, false), (back, _, true)] = bench.changes()[..] else {
        panic!("{:?}", bench.changes())
    };
    assert!(back - silent < 2_600, "{silent} {back}");
}

#[test]
fn a_lossy_path_is_not_left_for_its_losses() {
    use crate::rng::Seed;
    let mut draws = Seed(7).stream("losses");
    let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::first(2));
    let mut fate = |path, _| {
        let lost = path == FIRST && draws.chance(0.3);
        (!lost).then_some(MS * 40)
    };
    bench.run(at(60_000), &mut fate);
    let learnt = bench.changes().len();
    bench.run(at(600_000), &mut fate);
    let health = bench.watch.health(FIRST).unwrap();
    assert!(
        health.loss.is_some_and(|loss| (0.15..0.45).contains(&loss)),
        "{health:?}"
    );
    assert!(learnt <= 10, "{:?}", bench.changes());
    // With twelve misses it is some 5 10^-7 at each of 21 600 heartbeats.
    assert_eq!(bench.changes().len(), learnt, "{:?}", bench.changes());
}

#[test]
fn what_was_sent_before_the_other_end_could_be_reached_counts_for_nothing() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 1);
    bench.run(at(60_000), |_, _| None);
    let gap = bench.watch.deadline().unwrap().at.since(bench.now);
    assert!(gap > MS * 100, "tries are apart");
    bench.watch.on_reachable(bench.now, PathSet::only(FIRST));
    assert_eq!(bench.watch.deadline().unwrap().at, bench.now);
    bench.run(at(61_000), |_, _| Some(MS));
    let health = bench.watch.health(FIRST).unwrap();
    assert_eq!((health.state, health.loss), (PathState::Live, Some(0.0)));
}

#[test]
fn a_path_that_can_be_reached_takes_nothing_from_the_others() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2);
    bench.run(at(60_000), |_, _| None);
    // The answer to a try of the second path is under way, and the first becomes reachable.
    let tried = |bench: &Bench| {
        bench
            .sent
            .iter()
            .rev()
            .find(|(_, path)| *path == SECOND)
            .copied()
    };
    let before = tried(&bench);
    let answers = |path, _| (path == SECOND).then_some(MS * 40);
    while tried(&bench) == before {
        bench.run(bench.now + MS, answers);
    }
    bench.run(bench.now + MS * 20, answers);
    bench.watch.on_reachable(bench.now, PathSet::only(FIRST));
    bench.run(bench.now + MS * 21, answers);
    assert_eq!(bench.state(SECOND), PathState::Live);
    assert_eq!(bench.state(FIRST), PathState::Unproven);
}

#[test]
fn whoever_is_late_himself_does_not_blame_the_path() {
    let answers = |_, _| Some(MS * 40);
    let mut bench = Bench::new(&LivenessConfig::default(), 1).carrying(PathSet::only(FIRST));
    bench.run(at(5_000), answers);
    // For 600 ms nobody wakes the machine; what was under way has come in time.
    let before = bench.sent.len();
    bench.watch.on_driver_behind(at(5_600));
    bench.run(at(5_599), answers);
    assert_eq!(bench.sent.len(), before, "nothing can leave in the past");
    bench.run(at(10_000), answers);
    assert_eq!(bench.told, []);
    assert_eq!(bench.watch.health(FIRST).unwrap().rtt, Some(MS * 40));
}

#[test]
fn what_nobody_asked_is_no_answer() {
    let mut watch = Liveness::new(&LivenessConfig::default(), 1);
    assert_eq!(watch.on_reply(at(1), FIRST, 0), None);
    assert_eq!(watch.on_reply(at(1), SECOND, 0), None);
    assert_eq!(watch.health(FIRST).unwrap().state, PathState::Unproven);
    assert_eq!(watch.health(SECOND), None);
}

#[test]
fn impossible_configurations_are_told_with_their_keys() {
    assert_eq!(LivenessConfig::default().problems().count(), 0);
    let broken = LivenessConfig {
        interval: MS * 9,
        standby: MS * 9,
        misses: 1,
        margin: Duration::ZERO,
        retry: MS * 9,
        hold: Duration::ZERO,
        longest_hold: Duration::ZERO,
    };
    let keys = |config: LivenessConfig| {
        config
            .problems()
            .map(LivenessError::key)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(broken), ["interval", "misses", "margin", "hold"]);
    let inverted = LivenessConfig {
        standby: MS,
        retry: MS,
        longest_hold: MS,
        misses: 21,
        ..LivenessConfig::default()
    };
    assert_eq!(
        keys(inverted),
        ["standby", "misses", "retry", "longest_hold"]
    );
}
