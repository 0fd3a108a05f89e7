//! The queue of commands from the control thread and its clients to the packet thread, which never
//! blocks on it.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time;

use polypath_core::time::{Duration, Time};

use super::change::Change;
use crate::clock::Clock;
use crate::stats::Stats;

/// Longest wait for the packet thread's answer.
const ANSWER_TIMEOUT: time::Duration = time::Duration::from_secs(2);
/// Counters up to this age are reused, so that clients cost the packet thread at most 20 counts a
/// second.
const CACHE_AGE: Duration = Duration::from_millis(50);

/// A command to the packet thread.
#[derive(Debug)]
pub(crate) enum Command {
    /// Count, and send the counters.
    Count(SyncSender<Stats>),
    /// Apply a change, unless its sender has withdrawn it.
    Change(ChangeCommand),
    /// Record that a reload was refused, for this reason.
    ReloadRefused(String),
}

/// A change and the channel for its outcome.
#[derive(Debug)]
pub(crate) struct ChangeCommand {
    pub(crate) change: Box<Change>,
    /// Set by the packet thread to apply the change, or by the sender to withdraw it.
    pub(crate) decided: OnceFlag,
    /// Receives whether the change is in force, or why not.
    pub(crate) answer: SyncSender<Result<(), String>>,
}

/// A flag that one of several threads sets first.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnceFlag(Arc<AtomicBool>);

impl OnceFlag {
    /// Sets the flag and returns whether it was clear.
    pub(crate) fn set(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// The packet thread did not answer in time, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node is busy or ending")]
pub(crate) struct Unanswered;

type Counted = Result<Arc<Stats>, Unanswered>;

/// The sending end of the queue.
#[derive(Debug)]
pub(crate) struct ControlHandle {
    commands: Sender<Command>,
    wake: UnixStream,
    clock: Clock,
    latest: Mutex<Option<CachedCount>>,
}

/// The result of the last count.
#[derive(Debug)]
struct CachedCount {
    at: Time,
    counted: Counted,
}

/// The packet thread's end of the queue.
#[derive(Debug)]
pub(crate) struct CommandQueue {
    commands: Receiver<Command>,
    wake: UnixStream,
}

/// Both ends of a new queue.
pub(crate) fn channel() -> std::io::Result<(ControlHandle, CommandQueue)> {
    let (sender_wake, wake) = UnixStream::pair()?;
    sender_wake.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let (sender, commands) = mpsc::channel();
    let handle = ControlHandle {
        commands: sender,
        wake: sender_wake,
        clock: Clock::starting_now(),
        latest: Mutex::default(),
    };
    Ok((handle, CommandQueue { commands, wake }))
}

impl ControlHandle {
    /// The node's counters, at most 50 ms old.
    ///
    /// Callers that wait for a request in flight share its result, also its failure.
    pub(crate) fn count(&self) -> Counted {
        let called = self.clock.now();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(CachedCount { at, counted }) = &*latest
            && (self.clock.now().since(*at) < CACHE_AGE || *at > called)
        {
            return counted.clone();
        }
        let counted = self.request(Command::Count).map(Arc::new);
        *latest = Some(CachedCount {
            at: self.clock.now(),
            counted: counted.clone(),
        });
        counted
    }

    /// Has the packet thread apply `change`; fails with the reason, and then nothing has changed.
    pub(crate) fn change(&self, change: Change) -> Result<(), String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let decided = OnceFlag::default();
        let command = Command::Change(ChangeCommand {
            change: Box::new(change),
            decided: decided.clone(),
            answer,
        });
        if self.commands.send(command).is_err() {
            return Err(Unanswered.to_string());
        }
        self.wake();
        match answered.recv_timeout(ANSWER_TIMEOUT) {
            Ok(outcome) => outcome,
            Err(_) if decided.set() => Err(Unanswered.to_string()),
            // The packet thread is applying it; its outcome follows shortly.
            Err(_) => answered
                .recv()
                .unwrap_or_else(|_| Err(Unanswered.to_string())),
        }
    }

    /// Has the counters show a reload that was refused.
    pub(crate) fn count_refused_reload(&self, why: String) {
        // A node that has ended counts nothing.
        let _ = self.commands.send(Command::ReloadRefused(why));
        self.wake();
    }

    fn request<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T, Unanswered> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.commands
            .send(command(answer))
            .map_err(|_| Unanswered)?;
        self.wake();
        answered
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|_| Unanswered)
    }

    fn wake(&self) {
        // A full buffer means that a wake-up is already pending.
        let _ = (&self.wake).write(&[1]);
    }
}

impl CommandQueue {
    /// Dequeues a command, if there is one; the descriptor stays readable until this returns
    /// `None`.
    pub(crate) fn next(&mut self) -> Option<Command> {
        if let Ok(command) = self.commands.try_recv() {
            return Some(command);
        }
        // The wake-ups are drained before the queue is read again: a command sent in between wakes
        // again.
        let mut drained = [0; 64];
        while self.wake.read(&mut drained).is_ok_and(|len| len > 0) {}
        self.commands.try_recv().ok()
    }
}

impl AsFd for CommandQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_blocked_request_is_shared_by_later_callers() {
        let (handle, mut queue) = channel().unwrap();
        thread::scope(|scope| {
            let callers: Vec<_> = (0..4).map(|_| scope.spawn(|| handle.count())).collect();
            for caller in callers {
                assert_eq!(caller.join().unwrap().unwrap_err(), Unanswered);
            }
        });
        assert!(matches!(queue.next(), Some(Command::Count(_))));
        assert!(queue.next().is_none());
    }
}
