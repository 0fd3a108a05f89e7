//! The queue of datagrams that were read, of all paths in the order of their arrival.
//!
//! A socket delivers its datagrams in order. The earliest of all is therefore the earliest of the
//! next ones of each path, once the next one of each path is known or known not to have arrived.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_session::tunnel::Input;

/// The number of datagrams read from a path at once.
const READ_AHEAD: usize = 16;

/// A datagram that arrived on a path.
#[derive(Debug)]
pub(in crate::node) struct Arrival {
    /// The time at which the kernel received it.
    pub(in crate::node) at: Time,
    /// Its source address.
    pub(in crate::node) source: SocketAddr,
    pub(in crate::node) input: Input,
}

/// The queue of all paths.
#[derive(Debug)]
pub(in crate::node) struct Inbox {
    paths: Vec<PathQueue>,
}

/// The queue of a path.
#[derive(Debug, Default)]
struct PathQueue {
    arrivals: VecDeque<Arrival>,
    /// The latest time by which every datagram that had arrived is in `arrivals`.
    empty_at: Option<Time>,
    /// The latest arrival that was read: a step of the wall clock must not reorder later ones.
    newest: Time,
}

impl Inbox {
    pub(in crate::node) fn new(paths: usize) -> Self {
        Self {
            paths: (0..paths).map(|_| PathQueue::default()).collect(),
        }
    }

    /// The arrival time of the next datagram, if one has arrived by `until`; `receive` reads the
    /// next one of a path.
    pub(in crate::node) fn next_arrival(
        &mut self,
        until: Time,
        mut receive: impl FnMut(PathId) -> io::Result<Option<Arrival>>,
    ) -> io::Result<Option<Time>> {
        for (id, path) in (0..).map(PathId).zip(&mut self.paths) {
            if path.arrivals.is_empty() && path.empty_at < Some(until) {
                path.read(until, || receive(id))?;
            }
        }
        let next = self.paths.iter().filter_map(PathQueue::next_arrival).min();
        Ok(next.filter(|at| *at <= until))
    }

    /// Dequeues the next datagram; of equal arrival times, that of the path with the lowest number.
    pub(in crate::node) fn take(&mut self) -> Option<Arrival> {
        let waiting = self
            .paths
            .iter_mut()
            .filter(|path| !path.arrivals.is_empty());
        waiting
            .min_by_key(|path| path.next_arrival())?
            .arrivals
            .pop_front()
    }

    /// Whether every datagram that was read has been dequeued.
    pub(in crate::node) fn is_empty(&self) -> bool {
        self.paths.iter().all(|path| path.arrivals.is_empty())
    }
}

impl PathQueue {
    fn next_arrival(&self) -> Option<Time> {
        self.arrivals.front().map(|arrival| arrival.at)
    }

    fn read(
        &mut self,
        until: Time,
        mut receive: impl FnMut() -> io::Result<Option<Arrival>>,
    ) -> io::Result<()> {
        for _ in 0..READ_AHEAD {
            let Some(mut arrival) = receive()? else {
                self.empty_at = Some(until);
                break;
            };
            arrival.at = arrival.at.max(self.newest);
            self.newest = arrival.at;
            self.arrivals.push_back(arrival);
        }
        Ok(())
    }
}
