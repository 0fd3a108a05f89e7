//! Between the threads of the operator and that of the packets, which never waits for anybody.

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

/// How long the packet thread may take.
const PATIENCE: time::Duration = time::Duration::from_secs(2);
/// Counters that are younger are told again: whoever asks often costs the packet thread 20 counts a second.
const FRESH: Duration = Duration::from_millis(50);

/// What the packet thread is asked for.
#[derive(Debug)]
pub(crate) enum Command {
    /// Counters as of now.
    Count(SyncSender<Stats>),
    /// Another configuration, unless it was given up meanwhile; answered is whether it is in force.
    Change(Box<Change>, OnceFlag, SyncSender<Result<(), String>>),
    /// A reload was refused for this reason.
    Refused(String),
}

/// What one of two does: whoever comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnceFlag(Arc<AtomicBool>);

impl OnceFlag {
    /// Whether it is the caller who comes first.
    pub(crate) fn set(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// The packet thread did not answer in time, or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node is too busy to answer, or ends")]
pub(crate) struct Unanswered;

/// What the packet thread counted, if it did.
type Counted = Result<Arc<Stats>, Unanswered>;

/// The end of those who ask.
#[derive(Debug)]
pub(crate) struct ControlHandle {
    commands: Sender<Command>,
    bell: UnixStream,
    clock: Clock,
    latest: Mutex<Option<(Time, Counted)>>,
}

/// The end of the packet thread.
#[derive(Debug)]
pub(crate) struct CommandQueue {
    commands: Receiver<Command>,
    bell: UnixStream,
}

/// Both ends.
pub(crate) fn channel() -> std::io::Result<(ControlHandle, CommandQueue)> {
    let (ring, bell) = UnixStream::pair()?;
    ring.set_nonblocking(true)?;
    bell.set_nonblocking(true)?;
    let (sender, commands) = mpsc::channel();
    let handle = ControlHandle {
        commands: sender,
        bell: ring,
        clock: Clock::starting_now(),
        latest: Mutex::default(),
    };
    Ok((handle, CommandQueue { commands, bell }))
}

impl ControlHandle {
    /// Counters that are not older than a twentieth of a second. Of many who ask a packet thread that does not answer, those
    /// who waited for the first hear what that heard.
    pub(crate) fn count(&self) -> Counted {
        let asked = self.clock.now();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, counted)) = &*latest
            && (self.clock.now().since(*at) < FRESH || *at > asked)
        {
            return counted.clone();
        }
        let counted = self.ask(Command::Count).map(Arc::new);
        *latest = Some((self.clock.now(), counted.clone()));
        counted
    }

    /// Brings `change` into force; why not, where that cannot be.
    pub(crate) fn change(&self, change: Change) -> Result<(), String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let once = OnceFlag::default();
        let command = Command::Change(Box::new(change), once.clone(), answer);
        if self.commands.send(command).is_err() {
            return Err(Unanswered.to_string());
        }
        self.ring();
        match answered.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome,
            Err(_) if once.set() => Err(Unanswered.to_string()),
            // It is being done, and is in force or not before long.
            Err(_) => answered
                .recv()
                .unwrap_or_else(|_| Err(Unanswered.to_string())),
        }
    }

    /// Lets the counters tell of a reload that was refused.
    pub(crate) fn refuse(&self, why: String) {
        // A node that has ended tells nothing any more.
        let _ = self.commands.send(Command::Refused(why));
        self.ring();
    }

    fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T, Unanswered> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.commands
            .send(command(answer))
            .map_err(|_| Unanswered)?;
        self.ring();
        answered.recv_timeout(PATIENCE).map_err(|_| Unanswered)
    }

    fn ring(&self) {
        // A full buffer means that it has rung often enough.
        let _ = (&self.bell).write(&[1]);
    }
}

impl CommandQueue {
    /// The next command, if one waits; the descriptor is readable until there was none.
    pub(crate) fn next(&mut self) -> Option<Command> {
        if let Ok(command) = self.commands.try_recv() {
            return Some(command);
        }
        // First the bell, then once more the commands: what comes in between rings again.
        let mut rung = [0; 64];
        while self.bell.read(&mut rung).is_ok_and(|len| len > 0) {}
        self.commands.try_recv().ok()
    }
}

impl AsFd for CommandQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn those_who_wait_behind_one_who_is_not_answered_do_not_ask_again() {
        let (handle, mut queue) = channel().unwrap();
        thread::scope(|scope| {
            let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| handle.count())).collect();
            for counted in asked {
                assert_eq!(counted.join().unwrap().unwrap_err(), Unanswered);
            }
        });
        assert!(matches!(queue.next(), Some(Command::Count(_))));
        assert!(queue.next().is_none());
    }
}
