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
pub(crate) enum Order {
    /// Counters as of now.
    Count(SyncSender<Stats>),
    /// Another configuration, unless it was given up meanwhile; answered is whether it is in force.
    Change(Box<Change>, Claim, SyncSender<Result<(), String>>),
    /// A reload was refused for this reason.
    Refused(String),
}

/// What one of two does: whoever comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim(Arc<AtomicBool>);

impl Claim {
    /// Whether it is the caller who comes first.
    pub(crate) fn take(&self) -> bool {
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
pub(crate) struct Desk {
    orders: Sender<Order>,
    bell: UnixStream,
    clock: Clock,
    latest: Mutex<Option<(Time, Counted)>>,
}

/// The end of the packet thread.
#[derive(Debug)]
pub(crate) struct Mailbox {
    orders: Receiver<Order>,
    bell: UnixStream,
}

/// Both ends.
pub(crate) fn channel() -> std::io::Result<(Desk, Mailbox)> {
    let (ring, bell) = UnixStream::pair()?;
    ring.set_nonblocking(true)?;
    bell.set_nonblocking(true)?;
    let (sender, orders) = mpsc::channel();
    let desk = Desk {
        orders: sender,
        bell: ring,
        clock: Clock::starting_now(),
        latest: Mutex::default(),
    };
    Ok((desk, Mailbox { orders, bell }))
}

impl Desk {
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
        let counted = self.ask(Order::Count).map(Arc::new);
        *latest = Some((self.clock.now(), counted.clone()));
        counted
    }

    /// Brings `change` into force; why not, where that cannot be.
    pub(crate) fn change(&self, change: Change) -> Result<(), String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let claim = Claim::default();
        let order = Order::Change(Box::new(change), claim.clone(), answer);
        if self.orders.send(order).is_err() {
            return Err(Unanswered.to_string());
        }
        self.ring();
        match answered.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome,
            Err(_) if claim.take() => Err(Unanswered.to_string()),
            // It is being done, and is in force or not before long.
            Err(_) => answered
                .recv()
                .unwrap_or_else(|_| Err(Unanswered.to_string())),
        }
    }

    /// Lets the counters tell of a reload that was refused.
    pub(crate) fn refuse(&self, why: String) {
        // A node that has ended tells nothing any more.
        let _ = self.orders.send(Order::Refused(why));
        self.ring();
    }

    fn ask<T>(&self, order: impl FnOnce(SyncSender<T>) -> Order) -> Result<T, Unanswered> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.orders.send(order(answer)).map_err(|_| Unanswered)?;
        self.ring();
        answered.recv_timeout(PATIENCE).map_err(|_| Unanswered)
    }

    fn ring(&self) {
        // A full buffer means that it has rung often enough.
        let _ = (&self.bell).write(&[1]);
    }
}

impl Mailbox {
    /// The next order, if one waits; the descriptor is readable until there was none.
    pub(crate) fn next(&mut self) -> Option<Order> {
        if let Ok(order) = self.orders.try_recv() {
            return Some(order);
        }
        // First the bell, then once more the orders: what comes in between rings again.
        let mut rung = [0; 64];
        while self.bell.read(&mut rung).is_ok_and(|len| len > 0) {}
        self.orders.try_recv().ok()
    }
}

impl AsFd for Mailbox {
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
        let (desk, mut mailbox) = channel().unwrap();
        thread::scope(|scope| {
            let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| desk.count())).collect();
            for counted in asked {
                assert_eq!(counted.join().unwrap().unwrap_err(), Unanswered);
            }
        });
        assert!(matches!(mailbox.next(), Some(Order::Count(_))));
        assert!(mailbox.next().is_none());
    }
}
