use alloc::vec::Vec;

use super::*;
use bench::Bench;

mod bench;
mod properties;
mod returns;

const MS: Duration = Duration::from_millis(1);
const FIRST: PathId = PathId(0);
const SECOND: PathId = PathId(1);

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

/// The round-trip time `rtt`, with an outage between these milliseconds.
fn outage_between(rtt: Duration, from: u64, until: u64) -> impl Fn(Time) -> Option<Duration> {
    move |now| (now < at(from) || now >= at(until)).then_some(rtt)
}

#[test]
fn heartbeats_are_fast_on_busy_paths_and_slow_on_idle_ones() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2).carrying(PathSet::only(FIRST));
    bench.run(at(10_000), |_, _| Some(MS * 40));
    let of = |path| bench.sent.iter().filter(|(_, p)| *p == path).count();
    assert_eq!(of(FIRST), 400, "one per 25 ms");
    // The second path is unproven and retried until its first reply.
    assert_eq!(of(SECOND), 21, "one per 500 ms");
    assert_eq!(bench.events, []);
    let health = bench.liveness.health(FIRST).unwrap();
    assert_eq!(health.rtt, Some(MS * 40));
    assert_eq!((health.sent, health.answered), (400, 398));
}

#[test]
fn all_paths_are_usable_before_the_first_reply_and_then_those_that_replied() {
    let mut bench = Bench::new(&LivenessConfig::default(), 3);
    assert_eq!(bench.liveness.paths().usable, PathSet::first(3));
    let answers = |path: PathId, _| (path != SECOND).then_some(MS * (10 + u64::from(path.0) * 10));
    bench.run(at(15), answers);
    assert_eq!(bench.liveness.paths().usable, PathSet::only(FIRST));
    bench.run(at(60_000), answers);
    let expected = PathSet::first(3).without(PathSet::only(SECOND));
    assert_eq!(bench.liveness.paths().usable, expected);
    assert_eq!(bench.state(SECOND), PathState::Unproven);
    let tries = bench.sent.iter().filter(|(_, path)| *path == SECOND);
    assert!(tries.count() < 30, "retries back off");
}

#[test]
fn silence_and_return_follow_the_documented_timing() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2).carrying(PathSet::first(2));
    let gap = outage_between(MS * 40, 5_001, 7_000);
    let outcome = |path, now| {
        if path == FIRST {
            gap(now)
        } else {
            Some(MS * 40)
        }
    };
    bench.run(at(5_129), outcome);
    assert_eq!(bench.state(FIRST), PathState::Live);
    bench.run(at(6_000), outcome);
    assert_eq!(bench.liveness.paths().usable, PathSet::only(SECOND));
    bench.run(at(20_000), outcome);
    // The heartbeats of 5015, 5040 and 5065 ms are lost; the third is overdue 40 + 25 ms later. The
    // first retry after the outage is sent at 7390 ms and answered at 7430 ms; then follow 1 s of
    // hold and the next reply.
    assert_eq!(
        bench.changes(),
        [(5_130, FIRST, false), (8_445, FIRST, true)]
    );
    let Event::PathSilent { silence, rtt, .. } = bench.events[0].1 else {
        unreachable!()
    };
    assert_eq!((silence, rtt), (MS * 100, MS * 40));
    let Event::PathBack { outage, .. } = bench.events[1].1 else {
        unreachable!()
    };
    assert_eq!(outage, MS * (8_445 - 5_030));
    assert_eq!(bench.liveness.paths().usable, PathSet::first(2));
}

#[test]
fn the_failure_of_an_idle_path_is_detected() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2);
    let gap = outage_between(MS * 40, 5_001, 100_000);
    bench.run(at(20_000), |path, now| {
        if path == FIRST {
            gap(now)
        } else {
            Some(MS * 40)
        }
    });
    let [(silent, FIRST, false)] = bench.changes()[..] else {
        panic!("{:?}", bench.events)
    };
    let bound = 500 + 2 * 25 + 2 * 65;
    assert!(silent <= 5_001 + bound, "{silent}");
    assert_eq!(bench.liveness.paths().usable, PathSet::only(SECOND));
}

#[test]
fn without_live_paths_all_are_used_and_the_first_to_return_is_used_at_once() {
    let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::first(2));
    let (short, long) = (
        outage_between(MS * 40, 2_000, 3_000),
        outage_between(MS * 40, 2_000, 9_000),
    );
    let outcome = |path, now| if path == FIRST { short(now) } else { long(now) };
    bench.run(at(2_500), outcome);
    assert_eq!(bench.state(FIRST), PathState::Silent);
    assert_eq!(bench.state(SECOND), PathState::Silent);
    assert_eq!(bench.liveness.paths().usable, PathSet::first(2));
    bench.run(at(3_600), outcome);
    assert_eq!(bench.state(FIRST), PathState::Returning);
    assert_eq!(bench.liveness.paths().usable, PathSet::only(FIRST));
    bench.run(at(30_000), outcome);
    assert_eq!(bench.liveness.paths().usable, PathSet::first(2));
}

#[test]
fn the_hold_of_an_unstable_path_doubles() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2).carrying(PathSet::first(2));
    // Up and down for 5 s each.
    let up = |now: Time| now.as_secs_f64() % 10.0 < 5.0;
    let outcome = |path, now| (path == SECOND || up(now)).then_some(MS * 20);
    bench.run(at(600_000), outcome);
    let changes = bench.changes();
    assert!(changes.iter().all(|(_, path, _)| *path == FIRST));
    // It returns after holds of 1 s, 2 s and 4 s; it is never up for as long as 8 s.
    let back: Vec<_> = changes.iter().filter(|(.., back)| *back).collect();
    assert_eq!(back.len(), 3, "{changes:?}");
    // It stays up from now on.
    bench.run(at(700_000), |_, _| Some(MS * 20));
    assert_eq!(bench.liveness.paths().usable, PathSet::first(2));
    // A return that lasts resets the hold.
    let gap = outage_between(MS * 20, 700_000, 701_000);
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
fn a_return_that_fails_is_reported_with_the_time_since_its_last_answer() {
    let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::first(2));
    let other = |path: PathId| (path == SECOND).then_some(MS * 20);
    bench.run(at(2_000), |_, _| Some(MS * 20));
    bench.run(at(2_500), |path, _| other(path));
    assert_eq!(bench.state(FIRST), PathState::Silent);
    while bench.state(FIRST) != PathState::Returning {
        bench.run(bench.now + MS, |_, _| Some(MS * 20));
    }
    let returned = bench.now;
    bench.run(returned + MS * 400, |path, _| other(path));
    assert_eq!(bench.state(FIRST), PathState::Silent);
    let [(_, Event::PathSilent { path: FIRST, .. }), (then, last)] = bench.events[..] else {
        panic!("{:?}", bench.events)
    };
    let Event::PathSilentAgain {
        path: FIRST,
        silence,
        rtt,
    } = last
    else {
        panic!("{last:?}")
    };
    assert_eq!(rtt, MS * 20);
    let expected = then.since(returned);
    assert!(
        silence >= expected && silence <= expected + MS,
        "{silence:?}"
    );
    assert!(silence < MS * 200, "{silence:?}");
}

#[test]
fn a_lossy_path_stays_live() {
    use crate::rng::Seed;
    let mut draws = Seed(7).stream("losses");
    let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::first(2));
    let mut outcome = |path, _| {
        let lost = path == FIRST && draws.chance(0.3);
        (!lost).then_some(MS * 40)
    };
    bench.run(at(60_000), &mut outcome);
    let initial = bench.changes().len();
    bench.run(at(600_000), &mut outcome);
    let health = bench.liveness.health(FIRST).unwrap();
    assert!(
        health.loss.is_some_and(|loss| (0.15..0.45).contains(&loss)),
        "{health:?}"
    );
    assert!(initial <= 10, "{:?}", bench.changes());
    // Twelve consecutive misses have a probability of about 5e-7 at each of 21 600 heartbeats.
    assert_eq!(bench.changes().len(), initial, "{:?}", bench.changes());
}

#[test]
fn heartbeats_sent_before_the_peer_is_reachable_do_not_count() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 1);
    bench.run(at(60_000), |_, _| None);
    let gap = bench.liveness.deadline().unwrap().at.since(bench.now);
    assert!(gap > MS * 100, "retries have backed off");
    bench.liveness.on_reachable(bench.now, PathSet::only(FIRST));
    assert_eq!(bench.liveness.deadline().unwrap().at, bench.now);
    bench.run(at(61_000), |_, _| Some(MS));
    let health = bench.liveness.health(FIRST).unwrap();
    assert_eq!((health.state, health.loss), (PathState::Live, Some(0.0)));
}

#[test]
fn a_newly_reachable_path_does_not_affect_the_others() {
    let config = LivenessConfig::default();
    let mut bench = Bench::new(&config, 2);
    bench.run(at(60_000), |_, _| None);
    // The first path becomes reachable while a reply on the second path is in flight.
    let last_retry = |bench: &Bench| {
        bench
            .sent
            .iter()
            .rev()
            .find(|(_, path)| *path == SECOND)
            .copied()
    };
    let before = last_retry(&bench);
    let answers = |path, _| (path == SECOND).then_some(MS * 40);
    while last_retry(&bench) == before {
        bench.run(bench.now + MS, answers);
    }
    bench.run(bench.now + MS * 20, answers);
    bench.liveness.on_reachable(bench.now, PathSet::only(FIRST));
    bench.run(bench.now + MS * 21, answers);
    assert_eq!(bench.state(SECOND), PathState::Live);
    assert_eq!(bench.state(FIRST), PathState::Unproven);
}

#[test]
fn a_late_driver_does_not_silence_a_path() {
    let answers = |_, _| Some(MS * 40);
    let mut bench = Bench::new(&LivenessConfig::default(), 1).carrying(PathSet::only(FIRST));
    bench.run(at(5_000), answers);
    // The machine is not woken for 600 ms; the replies in flight arrive in time.
    let before = bench.sent.len();
    bench.liveness.on_driver_behind(at(5_600));
    bench.run(at(5_599), answers);
    assert_eq!(bench.sent.len(), before, "no heartbeat is sent in the past");
    bench.run(at(10_000), answers);
    assert_eq!(bench.events, []);
    assert_eq!(bench.liveness.health(FIRST).unwrap().rtt, Some(MS * 40));
}

#[test]
fn unsolicited_replies_are_ignored() {
    let mut liveness = Liveness::new(&LivenessConfig::default(), 1);
    assert_eq!(liveness.on_reply(at(1), FIRST, 0), None);
    assert_eq!(liveness.on_reply(at(1), SECOND, 0), None);
    assert_eq!(liveness.health(FIRST).unwrap().state, PathState::Unproven);
    assert_eq!(liveness.health(SECOND), None);
}

#[test]
fn configuration_errors_name_their_keys() {
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
