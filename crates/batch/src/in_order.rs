//! Pieces of work on several threads, with their results in order.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
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
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut keep = |number: usize, result| done[number] = Some(result);
    in_any_order(count, wanted_jobs, work, &mut keep, glance)?;
    Ok(done.into_iter().flatten().collect())
}

/// Does `size` pieces of work for each of `count` groups like [`in_order`], all pieces side by side, and hands the
/// results of a group in the order of their numbers to `finish`, on the thread that has done its last piece. `work`
/// is told the group and the number within it.
///
/// # Errors
/// As [`in_order`]; those of `finish` count as of the piece before it.
pub fn in_groups<T: Send, E: Send>(
    (count, size): (usize, u32),
    wanted_jobs: Option<u16>,
    work: &(impl Fn(usize, u32) -> Result<T, E> + Sync),
    finish: &(impl Fn(usize, Vec<T>) -> Result<(), E> + Sync),
    glance: &mut impl FnMut(),
) -> Result<(), E> {
    let groups: Vec<Mutex<BTreeMap<u32, T>>> = (0..count).map(|_| Mutex::default()).collect();
    let piece = |number: usize| {
        let (group, member) = (number / size as usize, number % size as usize);
        // It is below `size`.
        let member = u32::try_from(member).unwrap_or(size);
        let result = work(group, member)?;
        let mut done = groups[group].lock().unwrap_or_else(PoisonError::into_inner);
        done.insert(member, result);
        if done.len() < size as usize {
            return Ok(());
        }
        let whole = mem::take(&mut *done);
        drop(done);
        finish(group, whole.into_values().collect())
    };
    in_any_order(
        count * size as usize,
        wanted_jobs,
        &piece,
        &mut |_, ()| {},
        glance,
    )
}

fn in_any_order<T: Send, E: Send>(
    count: usize,
    wanted_jobs: Option<u16>,
    work: &(impl Fn(usize) -> Result<T, E> + Sync),
    keep: &mut impl FnMut(usize, T),
    glance: &mut impl FnMut(),
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (results, finished) = mpsc::channel();
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
                Ok((number, Ok(result))) => keep(number, result),
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
    failure.map_or(Ok(()), |(_, error)| Err(error))
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
    use std::sync::Barrier;

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
    fn a_group_is_finished_whole_and_its_pieces_run_side_by_side() {
        for jobs in [1, 2] {
            let (running, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let all = Barrier::new(usize::from(jobs));
            let work = |group: usize, member: u32| {
                let now = running.fetch_add(1, Ordering::Relaxed) + 1;
                at_once.fetch_max(now, Ordering::Relaxed);
                if group == 0 && member < u32::from(jobs) {
                    all.wait();
                }
                // The later a piece, the sooner it is done.
                thread::sleep(Duration::from_millis(20 - 5 * u64::from(member)));
                running.fetch_sub(1, Ordering::Relaxed);
                Ok::<_, ()>((group, member))
            };
            let whole = Mutex::new(BTreeMap::new());
            let finish = |group, results| {
                assert!(whole.lock().unwrap().insert(group, results).is_none());
                Ok(())
            };
            let done = in_groups((2, 3), Some(jobs), &work, &finish, &mut || {});
            assert_eq!(done, Ok(()));
            let wanted = [0, 1].map(|n| (n, vec![(n, 0), (n, 1), (n, 2)]));
            assert_eq!(whole.into_inner().unwrap(), BTreeMap::from(wanted));
            assert_eq!(at_once.into_inner(), usize::from(jobs));
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

    /// Groups 1 and 2 both fail, one in a piece and the other when it is finished, and the lower one later.
    #[test]
    fn of_groups_that_fail_the_lowest_is_told_wherever_it_fails() {
        for jobs in [1, 2, 7] {
            for (in_piece, at_end) in [(1, 2), (2, 1)] {
                let work = |group: usize, _: u32| {
                    thread::sleep(Duration::from_millis(if group == 1 { 40 } else { 1 }));
                    if group == in_piece {
                        Err(group)
                    } else {
                        Ok(())
                    }
                };
                let finish = |group, _| if group == at_end { Err(group) } else { Ok(()) };
                let done = in_groups((9, 2), Some(jobs), &work, &finish, &mut || {});
                assert_eq!(done, Err(1), "{jobs} threads, a piece of group {in_piece}");
            }
        }
    }
}
