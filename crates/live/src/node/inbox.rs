//! Datagrams that were read and not yet taken: those of all paths, in the order of their arrival.
//!
//! A path's socket gives its datagrams in order. The earliest of all is therefore the earliest of the
//! paths' next ones, once of each path the next one is known, or that none had arrived by now.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_session::tunnel::Input;

/// How many datagrams are read from a path at once.
const AHEAD: usize = 16;

/// A datagram that came on a path.
#[derive(Debug)]
pub(super) struct Arrival {
    /// When the kernel received it.
    pub(super) at: Time,
    /// Where it came from.
    pub(super) source: SocketAddr,
    pub(super) input: Input,
}

/// The datagrams of all paths.
#[derive(Debug)]
pub(super) struct Inbox {
    paths: Vec<Waiting>,
}

/// The datagrams of a path.
#[derive(Debug, Default)]
struct Waiting {
    arrivals: VecDeque<Arrival>,
    /// The latest time by which nothing that is not in `arrivals` had come.
    empty_at: Option<Time>,
    /// The time of the latest that was read; a clock that is set must not put another before it.
    newest: Time,
}

impl Inbox {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            paths: (0..paths).map(|_| Waiting::default()).collect(),
        }
    }

    /// When the next datagram came, if one had come by `until`; `receive` reads the next of a path.
    pub(super) fn next_arrival(
        &mut self,
        until: Time,
        mut receive: impl FnMut(PathId) -> io::Result<Option<Arrival>>,
    ) -> io::Result<Option<Time>> {
        for (id, path) in (0..).map(PathId).zip(&mut self.paths) {
            if path.arrivals.is_empty() && path.empty_at < Some(until) {
                path.read(until, || receive(id))?;
            }
        }
        let next = self.paths.iter().filter_map(Waiting::next_arrival).min();
        Ok(next.filter(|at| *at <= until))
    }

    /// The next datagram; of those that came at the same time, that of the path with the lowest number.
    pub(super) fn take(&mut self) -> Option<Arrival> {
        let waiting = self
            .paths
            .iter_mut()
            .filter(|path| !path.arrivals.is_empty());
        waiting
            .min_by_key(|path| path.next_arrival())?
            .arrivals
            .pop_front()
    }

    /// Whether nothing was read that is not yet taken.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.iter().all(|path| path.arrivals.is_empty())
    }
}

impl Waiting {
    fn next_arrival(&self) -> Option<Time> {
        self.arrivals.front().map(|arrival| arrival.at)
    }

    fn read(
        &mut self,
        until: Time,
        mut receive: impl FnMut() -> io::Result<Option<Arrival>>,
    ) -> io::Result<()> {
        for _ in 0..AHEAD {
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
