//! The holds of paths that come and go.

use super::*;
use crate::rng::{Seed, Stream};

const RTT: Duration = Duration::from_millis(40);
const ONE_WAY: Duration = Duration::from_millis(20);

/// The spans in milliseconds in which a path fades, until `end`: both their lengths and the times
/// between them are exponential with these means.
fn fades(draws: &mut Stream, length: f64, between: f64, end: f64) -> Vec<(f64, f64)> {
    let mut from = draws.exponential(between);
    core::iter::from_fn(|| {
        let until = from + draws.exponential(length);
        let fade = (from, until);
        from = until + draws.exponential(between);
        Some(fade)
    })
    .take_while(|fade| fade.0 < end)
    .collect()
}

/// Runs the bench until `end`, and returns the share of the time in which the first path is used
/// alone, sampled every 10 ms.
fn share_in_use(
    bench: &mut Bench,
    end: Time,
    outcome: &mut impl FnMut(PathId, Time) -> Option<Duration>,
) -> f64 {
    let (mut used, mut samples) = (0_u32, 0_u32);
    while bench.now < end {
        bench.run(bench.now + MS * 10, &mut *outcome);
        samples += 1;
        used += u32::from(bench.liveness.paths().usable.contains(FIRST));
    }
    f64::from(used) / f64::from(samples)
}

#[test]
fn a_path_that_fades_for_a_moment_at_times_is_used_most_of_the_time() {
    for seed in 1..=5 {
        let draws = &mut Seed(seed).stream("fades");
        let fades = fades(draws, 50.0, 1_617.0, 600_000.0);
        let is_faded = |at: Time| {
            let at = at.as_secs_f64() * 1e3;
            let next = fades.partition_point(|(from, _)| *from <= at);
            next > 0 && at < fades[next - 1].1
        };
        // A fade loses what crosses the path in either direction.
        let mut outcome = |path, now| {
            let is_lost = path == FIRST && (is_faded(now) || is_faded(now + ONE_WAY));
            (!is_lost).then_some(RTT)
        };
        let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::only(FIRST));
        let share = share_in_use(&mut bench, at(600_000), &mut outcome);
        let silences = bench.liveness.health(FIRST).unwrap().silences;
        assert!(silences > 20, "{silences}");
        assert!(share > 0.75, "seed {seed}: {share}, {silences} silences");
    }
}

#[test]
fn a_path_that_flaps_is_hardly_used() {
    for (up, down) in [(3.0, 1.0), (5.0, 5.0), (8.0, 3.0)] {
        let is_up = |now: Time| now.as_secs_f64() % (up + down) < up;
        let mut outcome = |path, now| (path == SECOND || is_up(now)).then_some(MS * 20);
        let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::only(FIRST));
        // After an hour the hold has doubled as often as it can.
        bench.run(at(3_600_000), &mut outcome);
        let before = bench.liveness.health(FIRST).unwrap().silences;
        let share = share_in_use(&mut bench, at(7_200_000), &mut outcome);
        let silences = bench.liveness.health(FIRST).unwrap().silences - before;
        assert!(share < 0.1, "{up}: {share}");
        assert!(silences <= 45, "{up}: {silences}");
    }
}

/// Three returns that do not last, and one that lasts, whose silence is as long as given.
fn hold_after_a_return_of(lasted: u64, silence: u64) -> u64 {
    let mut bench = Bench::new(&LivenessConfig::default(), 2).carrying(PathSet::first(2));
    // Holds of 1 s and 2 s, of which the second is followed by the return.
    let outages = [
        (5_000, 10_000),
        (12_500, 17_500),
        (20_500 + lasted, 20_500 + lasted + silence),
    ];
    bench.run(at(60_000), |path, now| {
        let is_out = outages
            .iter()
            .any(|(from, until)| now >= at(*from) && now < at(*until));
        (path == SECOND || !is_out).then_some(MS * 20)
    });
    let backs: Vec<_> = bench
        .changes()
        .iter()
        .filter(|c| c.2)
        .map(|c| c.0)
        .collect();
    let [.., last] = backs[..] else { panic!() };
    (last - (20_500 + lasted + silence)) / 1000
}

#[test]
fn a_return_lasts_by_its_hold_or_by_its_silence() {
    // The hold of the return is 2 s.
    assert_eq!(hold_after_a_return_of(17_000, 10_000), 1, "8 x 2 s");
    assert_eq!(hold_after_a_return_of(12_000, 1_000), 1, "8 x 1.5 s");
    assert_eq!(hold_after_a_return_of(12_000, 10_000), 4);
    assert_eq!(hold_after_a_return_of(3_000, 1_000), 4);
}
