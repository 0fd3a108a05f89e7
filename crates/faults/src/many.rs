//! Many schedules on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::run::{Failure, Options, run};
use crate::tally::Tally;

/// One schedule in so many is run twice, and the two runs have to be the same.
const REPEATED: u64 = 100;

/// Runs the schedules of all seeds of a range on every core; `progress` hears how many are done after each.
///
/// # Errors
/// The failures, in the order of their seeds: after the first one no further schedule begins.
///
/// # Panics
/// Where two runs of one seed differ.
pub fn run_many(
    seeds: Range<u64>,
    options: Options,
    progress: &(impl Fn(u64) + Sync),
) -> Result<Tally, Vec<(u64, Failure)>> {
    let (next, done) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let has_failed = AtomicBool::new(false);
    let (total, failures) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let work = || {
        while !has_failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            match run(seed, options) {
                Ok(outcome) => {
                    if seed.is_multiple_of(REPEATED) {
                        let again = run(seed, options).ok();
                        assert!(
                            again.as_ref() == Some(&outcome),
                            "seed {seed}: two runs differ"
                        );
                    }
                    lock(&total).add(&outcome.tally);
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

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
