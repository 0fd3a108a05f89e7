//! The destinations of the sockets that are connected to the wrapping program.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use nix::libc::{self, c_int};

/// The maximum number of sockets that are remembered. The oldest is dropped, since a close is not
/// observed.
const REMEMBERED: usize = 1024;
/// The attempts to lock the entries, which other threads hold for microseconds, and the pause
/// between them.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

static DESTINATIONS: Mutex<VecDeque<Entry>> = Mutex::new(VecDeque::new());

/// The identity of a socket. A descriptor is used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket(u64);

#[derive(Clone, Copy, Debug)]
struct Entry {
    socket: Socket,
    /// The socket of the wrapping program that it is connected to.
    proxy: SocketAddr,
    destination: SocketAddr,
}

impl Socket {
    /// The socket of a descriptor; `None` if it is not open.
    pub(crate) fn of(fd: c_int) -> Option<Self> {
        // SAFETY: all fields are integers, for which zero is valid.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes `stat` alone, and keeps no pointer.
        let done = unsafe { libc::fstat(fd, &raw mut stat) };
        (done == 0).then_some(Self(stat.st_ino))
    }
}

/// Remembers a connection that is about to be made; false if that is not possible.
pub(crate) fn remember(socket: Socket, proxy: SocketAddr, destination: SocketAddr) -> bool {
    let Some(mut known) = lock() else {
        return false;
    };
    if known.len() == REMEMBERED {
        known.pop_front();
    }
    known.push_back(Entry {
        socket,
        proxy,
        destination,
    });
    true
}

/// Forgets a connection that could not be made.
pub(crate) fn forget(socket: Socket, proxy: SocketAddr) {
    if let Some(mut known) = lock() {
        known.retain(|entry| entry.socket != socket || entry.proxy != proxy);
    }
}

/// The socket of the wrapping program that a socket was given for this destination.
pub(crate) fn proxy(socket: Socket, destination: SocketAddr) -> Option<SocketAddr> {
    find(|entry| entry.socket == socket && entry.destination == destination)
        .map(|entry| entry.proxy)
}

/// The destination of a socket whose peer is `proxy`.
pub(crate) fn destination(socket: Socket, proxy: SocketAddr) -> Option<SocketAddr> {
    find(|entry| entry.socket == socket && entry.proxy == proxy).map(|entry| entry.destination)
}

/// The latest entry of which this holds.
fn find(is_wanted: impl Fn(&Entry) -> bool) -> Option<Entry> {
    lock()?.iter().rev().find(|entry| is_wanted(entry)).copied()
}

/// The entries, unless they stay locked: another thread may have held the lock when the process was
/// forked, and no answer is better than to wait for ever.
fn lock() -> Option<MutexGuard<'static, VecDeque<Entry>>> {
    for _ in 0..ATTEMPTS {
        match DESTINATIONS.try_lock() {
            Ok(known) => return Some(known),
            Err(TryLockError::Poisoned(known)) => return Some(known.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
    None
}
