//! Pieces of work on several threads, with their results in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How often progress is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// Does `count` pieces of work on several threads (`wanted_jobs`, or one for each core); the results stand in the
/// order of their numbers, whatever the number of threads. `glance` is called now and then meanwhile.
///
/// # Errors
/// A piece of work that fails ends it all; of those that fail, the error of the lowest number, whatever the number of
/// threads.
pub fn in_order<T: Send, E: Send>(
    count: usize,
    wanted_jobs: Option<u16>,
    work: &(impl Fn(usize) -> Result<T, E> + Sync),
    glance: &mut impl FnMut(),
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let (results, finished) = mpsc::channel();
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut failure: Option<(usize, E)> = None;
    thread::scope(|scope| {
        for _ in 0..jobs(wanted_jobs, count) {
            let (results, next) = (results.clone(), &next);
            scope.spawn(move || {
                while let Some(number) = take(next, count) {
                    // The receiver lives as long as this scope.
                    let _ = results.send((number, work(number)));
                }
            });
        }
        drop(results);
        loop {
            match finished.recv_timeout(GLANCE) {
                Ok((number, Ok(result))) => done[number] = Some(result),
                Ok((number, Err(error))) => {
                    // Those below it were taken before it, and may yet fail.
                    next.store(count, Ordering::Relaxed);
                    if failure.as_ref().is_none_or(|(lowest, _)| number < *lowest) {
                        failure = Some((number, error));
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            glance();
        }
    });
    match failure {
        Some((_, error)) => Err(error),
        None => Ok(done.into_iter().flatten().collect()),
    }
}

fn jobs(wanted: Option<u16>, count: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    wanted.map_or_else(cores, usize::from).min(count)
}

/// The number of the next piece of work, if there is one.
fn take(next: &AtomicUsize, end: usize) -> Option<usize> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    (number < end).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_their_numbers() {
        for jobs in [1, 2, 7] {
            // The first takes longest, so that the others finish before it.
            let work = |number: usize| {
                thread::sleep(Duration::from_millis(if number == 0 { 30 } else { 0 }));
                Ok::<_, ()>(number)
            };
            let results = in_order(20, Some(jobs), &work, &mut || {});
            assert_eq!(results, Ok((0..20).collect()));
        }
    }

    #[test]
    fn a_failure_ends_the_work_with_its_error() {
        let done = AtomicUsize::new(0);
        let work = |number: usize| {
            done.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            if number == 3 { Err("three") } else { Ok(()) }
        };
        let result = in_order(1000, Some(2), &work, &mut || {});
        assert_eq!(result, Err("three"));
        assert!(done.into_inner() < 1000);
    }

    #[test]
    fn of_several_failures_the_lowest_number_is_told_on_any_number_of_threads() {
        for jobs in [1, 2, 7] {
            // The lower a number, the later it fails.
            let work = |number: usize| {
                thread::sleep(Duration::from_millis(if number == 2 { 40 } else { 1 }));
                if number >= 2 { Err(number) } else { Ok(()) }
            };
            assert_eq!(in_order(20, Some(jobs), &work, &mut || {}), Err(2));
        }
    }
}
