//! The destinations of the sockets that are connected to the wrapping program.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use nix::libc::{self, c_int};

/// The maximum number of sockets that are remembered. The oldest is dropped, since a close is not
/// observed.
const REMEMBERED: usize = 1024;

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

/// Remembers a connection that is about to be made.
pub(crate) fn remember(socket: Socket, proxy: SocketAddr, destination: SocketAddr) {
    let mut known = DESTINATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() == REMEMBERED {
        known.pop_front();
    }
    known.push_back(Entry {
        socket,
        proxy,
        destination,
    });
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
    // Another thread may have held the lock when the process was forked: no answer is better than
    // to wait for ever.
    let known = DESTINATIONS.try_lock().ok()?;
    known.iter().rev().find(|entry| is_wanted(entry)).copied()
}
