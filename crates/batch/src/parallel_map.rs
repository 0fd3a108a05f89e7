//! Tasks on several threads, with results in the order of their indices.
//!
//! Tasks start in the order of their indices, so that the groups in progress are as few as the
//! threads, and the lowest index that fails is known once the running tasks end. rayon splits the
//! range of indices instead, and returns any of several errors; its threads alone would replace the
//! standard library's `thread::scope`.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// The longest time between two calls of a progress callback.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work` for each index below `count` on `threads` threads (default: one per core). The
/// results are in the order of their indices for any number of threads. `on_progress` is called on
/// this thread after each result and at least every 100 ms.
///
/// # Errors
/// The error of the lowest index that failed, for any number of threads. After an error no further
/// task starts.
pub fn parallel_map<T: Send, E: Send>(
    count: usize,
    threads: Option<u16>,
    work: &(impl Fn(usize) -> Result<T, E> + Sync),
    on_progress: &mut impl FnMut(),
) -> Result<Vec<T>, E> {
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut on_result = |index: usize, result| done[index] = Some(result);
    for_each_result(count, threads, work, &mut on_result, on_progress)?;
    Ok(done.into_iter().flatten().collect())
}

/// A number of groups with the same number of tasks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The number of groups.
    pub count: usize,
    /// The number of tasks in each group.
    pub size: u32,
}

/// Runs all tasks of all groups in parallel, like [`parallel_map`]. `work` receives the group and
/// the index within it. The thread that completes the last task of a group calls `finish` with the
/// group's results in the order of their indices.
///
/// # Errors
/// As [`parallel_map`]; an error of `finish` counts as one of the task that preceded it.
pub fn parallel_groups<T: Send, E: Send>(
    Groups { count, size }: Groups,
    threads: Option<u16>,
    work: &(impl Fn(usize, u32) -> Result<T, E> + Sync),
    finish: &(impl Fn(usize, Vec<T>) -> Result<(), E> + Sync),
    on_progress: &mut impl FnMut(),
) -> Result<(), E> {
    let groups: Vec<Mutex<BTreeMap<u32, T>>> = (0..count).map(|_| Mutex::default()).collect();
    let task = |index: usize| {
        let (group, member) = (index / size as usize, index % size as usize);
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
    for_each_result(
        count * size as usize,
        threads,
        &task,
        &mut |_, ()| {},
        on_progress,
    )
}

fn for_each_result<T: Send, E: Send>(
    count: usize,
    threads: Option<u16>,
    work: &(impl Fn(usize) -> Result<T, E> + Sync),
    on_result: &mut impl FnMut(usize, T),
    on_progress: &mut impl FnMut(),
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (results, finished) = mpsc::channel();
    let mut failure: Option<(usize, E)> = None;
    thread::scope(|scope| {
        for _ in 0..thread_count(threads, count) {
            let (results, next) = (results.clone(), &next);
            scope.spawn(move || {
                while let Some(index) = take(next, count) {
                    // The receiver outlives this scope.
                    let _ = results.send((index, work(index)));
                }
            });
        }
        drop(results);
        loop {
            match finished.recv_timeout(PROGRESS_INTERVAL) {
                Ok((index, Ok(result))) => on_result(index, result),
                Ok((index, Err(error))) => {
                    // Tasks with a lower index have started already and may still fail.
                    next.store(count, Ordering::Relaxed);
                    if failure.as_ref().is_none_or(|(lowest, _)| index < *lowest) {
                        failure = Some((index, error));
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            on_progress();
        }
    });
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

fn thread_count(wanted: Option<u16>, tasks: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    wanted.map_or_else(cores, usize::from).min(tasks)
}

/// The index of the next task, if there is one.
fn take(next: &AtomicUsize, end: usize) -> Option<usize> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index < end).then_some(index)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_indices() {
        for jobs in [1, 2, 7] {
            // The first task takes longest, so that the others finish before it.
            let work = |index: usize| {
                thread::sleep(Duration::from_millis(if index == 0 { 30 } else { 0 }));
                Ok::<_, ()>(index)
            };
            let results = parallel_map(20, Some(jobs), &work, &mut || {});
            assert_eq!(results, Ok((0..20).collect()));
        }
    }

    #[test]
    fn a_group_finishes_once_and_its_tasks_run_in_parallel() {
        for jobs in [1, 2] {
            let (running, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let all = Barrier::new(usize::from(jobs));
            let work = |group: usize, member: u32| {
                let now = running.fetch_add(1, Ordering::Relaxed) + 1;
                at_once.fetch_max(now, Ordering::Relaxed);
                if group == 0 && member < u32::from(jobs) {
                    all.wait();
                }
                // Later tasks finish sooner.
                thread::sleep(Duration::from_millis(20 - 5 * u64::from(member)));
                running.fetch_sub(1, Ordering::Relaxed);
                Ok::<_, ()>((group, member))
            };
            let whole = Mutex::new(BTreeMap::new());
            let finish = |group, results| {
                assert!(whole.lock().unwrap().insert(group, results).is_none());
                Ok(())
            };
            let done = parallel_groups(
                Groups { count: 2, size: 3 },
                Some(jobs),
                &work,
                &finish,
                &mut || {},
            );
            assert_eq!(done, Ok(()));
            let wanted = [0, 1].map(|n| (n, vec![(n, 0), (n, 1), (n, 2)]));
            assert_eq!(whole.into_inner().unwrap(), BTreeMap::from(wanted));
            assert_eq!(at_once.into_inner(), usize::from(jobs));
        }
    }

    #[test]
    fn an_error_stops_the_remaining_tasks() {
        let done = AtomicUsize::new(0);
        let work = |index: usize| {
            done.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
            if index == 3 { Err("three") } else { Ok(()) }
        };
        let result = parallel_map(1000, Some(2), &work, &mut || {});
        assert_eq!(result, Err("three"));
        assert!(done.into_inner() < 1000);
    }

    #[test]
    fn the_error_of_the_lowest_index_is_returned_for_any_number_of_threads() {
        for jobs in [1, 2, 7] {
            // Lower indices fail later.
            let work = |index: usize| {
                thread::sleep(Duration::from_millis(if index == 2 { 40 } else { 1 }));
                if index >= 2 { Err(index) } else { Ok(()) }
            };
            assert_eq!(parallel_map(20, Some(jobs), &work, &mut || {}), Err(2));
        }
    }

    /// Groups 1 and 2 both fail, one in a task and the other in `finish`, and the lower one later.
    #[test]
    fn the_error_of_the_lowest_group_is_returned_wherever_it_occurs() {
        for jobs in [1, 2, 7] {
            for (in_task, at_end) in [(1, 2), (2, 1)] {
                let work = |group: usize, _: u32| {
                    thread::sleep(Duration::from_millis(if group == 1 { 40 } else { 1 }));
                    if group == in_task { Err(group) } else { Ok(()) }
                };
                let finish = |group, _| if group == at_end { Err(group) } else { Ok(()) };
                let done = parallel_groups(
                    Groups { count: 9, size: 2 },
                    Some(jobs),
                    &work,
                    &finish,
                    &mut || {},
                );
                assert_eq!(done, Err(1), "{jobs} threads, a task of group {in_task}");
            }
        }
    }
}
