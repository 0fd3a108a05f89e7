//! Many schedules on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::coverage::{Coverage, Total};
use crate::run::{Failure, Options, Outcome, run};
use crate::streams::{StreamCoverage, StreamOptions, run_stream};

/// The interval of seeds whose schedules are run twice, to compare both runs.
const REPEAT_EVERY: u64 = 100;

/// Runs the schedules of all seeds of a range on every core; calls `progress` with the number of
/// completed schedules after each.
///
/// # Errors
/// The failures, in the order of their seeds; no schedule starts after the first failure.
pub fn run_many(
    seeds: Range<u64>,
    options: Options,
    progress: &(impl Fn(u64) + Sync),
) -> Result<Coverage, Vec<(u64, Failure)>> {
    run_all(seeds, &|seed| run(seed, options), progress)
}

/// Runs the schedules of streams of all seeds of a range, as [`run_many`] does.
///
/// # Errors
/// As [`run_many`].
pub fn run_many_streams(
    seeds: Range<u64>,
    options: StreamOptions,
    progress: &(impl Fn(u64) + Sync),
) -> Result<StreamCoverage, Vec<(u64, Failure)>> {
    run_all(seeds, &|seed| run_stream(seed, options), progress)
}

fn run_all<C: Total + PartialEq + Send>(
    seeds: Range<u64>,
    run: &(impl Fn(u64) -> Result<Outcome<C>, Failure> + Sync),
    progress: &(impl Fn(u64) + Sync),
) -> Result<C, Vec<(u64, Failure)>> {
    let (next, done) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let has_failed = AtomicBool::new(false);
    let (total, failures) = (Mutex::new(C::default()), Mutex::new(Vec::new()));
    let work = || {
        while !has_failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            match run_checked(seed, run) {
                Ok(outcome) => {
                    lock(&total).add(&outcome.coverage);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
                Err(failure) => {
                    has_failed.store(true, Ordering::Relaxed);
                    lock(&failures).push((seed, failure));
                }
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut failures = failures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    failures.sort_by_key(|(seed, _)| *seed);
    if failures.is_empty() {
        return Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    Err(failures)
}

/// Runs a schedule, and repeats one in [`REPEAT_EVERY`].
fn run_checked<C: PartialEq>(
    seed: u64,
    run: &impl Fn(u64) -> Result<Outcome<C>, Failure>,
) -> Result<Outcome<C>, Failure> {
    let outcome = run(seed)?;
    if seed.is_multiple_of(REPEAT_EVERY) && run(seed)? != outcome {
        return Err(Failure::Differs { seed });
    }
    Ok(outcome)
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::catch_panic;

    fn outcome(digest: u64) -> Outcome<Coverage> {
        let schedules = 1;
        let coverage = Coverage {
            schedules,
            ..Coverage::default()
        };
        Outcome { coverage, digest }
    }

    #[test]
    fn a_panic_is_a_failure_that_names_its_seed() {
        let panicking = |seed| {
            catch_panic(seed, || {
                assert!(seed != 7, "deliberate");
                Ok(outcome(seed))
            })
        };
        let failures = run_all(0..1000, &panicking, &|_| {}).unwrap_err();
        let [(7, failure)] = &failures[..] else {
            panic!("{failures:?}");
        };
        assert_eq!(failure.to_string(), "seed 7: panicked: deliberate");
    }

    #[test]
    fn runs_of_one_seed_that_differ_are_a_failure_that_names_it() {
        let runs = AtomicU64::new(0);
        let nondeterministic = |_| Ok(outcome(runs.fetch_add(1, Ordering::Relaxed)));
        let failures = run_all(100..101, &nondeterministic, &|_| {}).unwrap_err();
        assert!(
            matches!(failures[..], [(100, Failure::Differs { seed: 100 })]),
            "{failures:?}"
        );
        let coverage = run_all(101..102, &nondeterministic, &|_| {}).unwrap();
        assert_eq!(coverage.schedules, 1);
    }
}
