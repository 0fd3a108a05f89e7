//! A path through the relay: its socket, its machine and its counters.

use std::io;
use std::net::SocketAddr;

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::time::{Duration, Time};
use polypath_session::datagram::RESPONSE;
use polypath_session::event::Reject;
use polypath_session::relay::{Input, Output, Relay, RelayEvent, Side, Undelivered};

use super::log::RelayLog;
use super::stats::{NodeStats, PathStats};
use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::relay::RelayedPath;
use crate::drive::BUDGET;
use crate::stats::{self, Volume};
use crate::udp::PathSocket;
use crate::udp::filter::Admitted;
use crate::udp::flood::FloodGuard;
use crate::udp::traffic_class::CopiedFields;

/// The longest datagram in bytes.
pub(super) const MAX_DATAGRAM: usize = 65_507;

/// Deadlines at most this far in the past are handled at their own time, as in a node.
const CATCH_UP: Duration = Duration::from_secs(1);

/// A path.
pub(super) struct RelayPath {
    socket: PathSocket,
    /// The fields of the traffic class with which a datagram is forwarded.
    copied: CopiedFields,
    relay: Relay<SocketAddr>,
    local: SocketAddr,
    datagrams: PacketBuffer,
    clock: Clock,
    /// The latest time at which the machine was woken.
    last: Time,
    counters: SocketCounters,
    flood: FloodGuard,
    log: RelayLog,
}

/// The counters of a path's socket.
#[derive(Default)]
struct SocketCounters {
    sent: Volume,
    received: Volume,
    unsent: u64,
    kernel_dropped: u64,
}

impl RelayPath {
    pub(super) fn new(
        config: &RelayedPath,
        socket: PathSocket,
        relay: Relay<SocketAddr>,
        clock: Clock,
    ) -> Self {
        let node = |index: usize| config.nodes.get(index).map_or("", |node| &node.name);
        let nodes = [0, 1].map(|index| node(index).to_owned());
        Self {
            local: socket.local().unwrap_or(config.local),
            socket,
            copied: config.socket().copied(),
            relay,
            datagrams: PacketBuffer::new(MAX_DATAGRAM),
            clock,
            last: clock.now(),
            counters: SocketCounters::default(),
            flood: FloodGuard::default(),
            log: RelayLog::new(config.name.clone(), nodes),
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.relay.deadline()
    }

    /// Handles the deadlines up to `now`, after the datagrams that arrived before them.
    pub(super) fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        let Some(due) = self.relay.deadline().filter(|due| due.at <= now) else {
            return Ok(());
        };
        for _ in 0..BUDGET {
            let arrival = self.receive_one()?;
            if arrival.is_none_or(|at| at > due.at) {
                break;
            }
        }
        self.handle_due(now);
        Ok(())
    }

    /// Handles at most `budget` datagrams and returns their number.
    pub(super) fn receive(&mut self, budget: usize) -> io::Result<usize> {
        for handled in 0..budget {
            if self.receive_one()?.is_none() {
                return Ok(handled);
            }
        }
        Ok(budget)
    }

    /// Handles a datagram, if one waits, at its arrival time, and returns that: to a relay that is
    /// late, paced datagrams must not look like a burst.
    fn receive_one(&mut self) -> io::Result<Option<Time>> {
        let space = self.datagrams.space();
        let Some(received) = self.socket.receive(space, self.clock)? else {
            return Ok(None);
        };
        let datagram = self.datagrams.take(received.len);
        self.counters.received.add(self.wire_len(received.len));
        let input = Input {
            source: received.from,
            datagram,
            traffic_class: self.copied.of(received.traffic_class),
        };
        self.handle_due(received.at);
        self.wake(received.at, Wake::Input(input));
        Ok(Some(received.at))
    }

    /// Handles the deadlines up to `until`, each at its own time, but none more than [`CATCH_UP`]
    /// before `until`.
    fn handle_due(&mut self, until: Time) {
        let floor = until - CATCH_UP;
        while let Some(due) = self.relay.deadline().filter(|due| due.at <= until) {
            self.wake(due.at.max(floor), Wake::Timeout);
            if self.relay.deadline().is_some_and(|next| next.at <= due.at) {
                // The drive loop counts this and slows down.
                return;
            }
        }
    }

    fn wake(&mut self, at: Time, wake: Wake<Input<SocketAddr>>) {
        self.last = self.last.max(at);
        let source = match &wake {
            Wake::Input(input) => Some(input.source),
            Wake::Timeout => None,
        };
        let mut outputs = Vec::new();
        step(&mut self.relay, self.last, wake, &mut |output| {
            outputs.push(output);
        });
        // The filter passes what has a node's address, so that no share of it reduces what is read.
        let nodes = Side::ALL.map(|side| self.relay.address(side));
        let is_stranger = !nodes.contains(&source);
        for output in outputs {
            match output {
                Output::Send {
                    to,
                    datagram,
                    traffic_class,
                } => self.send(&datagram, traffic_class, to),
                Output::Event(event) => {
                    if let RelayEvent::Rejected(reason) = event
                        && is_stranger
                    {
                        self.flood.count(reason);
                    }
                    self.log.event(event, source);
                }
            }
        }
    }

    /// Ends a second: has the kernel drop the datagrams of strangers during a flood.
    pub(super) fn guard(&mut self) {
        let (flood, relay) = (&mut self.flood, &self.relay);
        let dropped = flood.guard(&self.socket, self.log.path(), || admitted(relay));
        self.counters.kernel_dropped += u64::from(dropped);
    }

    fn send(&mut self, datagram: &[u8], traffic_class: TrafficClass, to: SocketAddr) {
        if datagram.first() == Some(&RESPONSE) {
            // The answer comes under keys that the filter does not have yet.
            let (flood, relay) = (&mut self.flood, &self.relay);
            flood.update(&self.socket, || admitted(relay));
        }
        match self.socket.send(datagram, traffic_class, to) {
            Ok(()) => self.counters.sent.add(self.wire_len(datagram.len())),
            Err(error) => {
                self.counters.unsent += 1;
                let path = self.log.path();
                tracing::debug!(path, %to, %error, "datagram not sent");
            }
        }
    }

    /// The length of the IP packet of a datagram of this length, in bytes.
    fn wire_len(&self, datagram: usize) -> usize {
        datagram + self.socket.headers() as usize
    }

    /// The counters of the path.
    pub(super) fn stats(&self) -> PathStats {
        let rejected = Reject::ALL.iter();
        let rejected = rejected.map(|reason| (reason.name(), self.relay.rejected(*reason)));
        PathStats {
            name: self.log.path().to_owned(),
            local: self.local,
            sent: self.counters.sent,
            received: self.counters.received,
            unsent: self.counters.unsent,
            kernel_dropped: self.counters.kernel_dropped,
            rejected: rejected.collect(),
            nodes: Side::ALL.map(|side| self.node_stats(side)).into(),
        }
    }

    fn node_stats(&self, side: Side) -> NodeStats {
        let traffic = self.relay.traffic(side);
        let reasons = Undelivered::ALL.iter();
        let dropped = reasons.map(|reason| (reason.name(), traffic.undelivered(*reason)));
        NodeStats {
            name: self.log.node(side).to_owned(),
            address: self.relay.address(side),
            established: self.relay.is_established(side),
            forwarded: Volume {
                packets: traffic.forwarded,
                bytes: traffic.bytes,
            },
            dropped: dropped.collect(),
            session: stats::session(self.relay.counters(side), None),
        }
    }
}

/// The datagrams that pass the filter during a flood, in addition to handshake initiations.
fn admitted(relay: &Relay<SocketAddr>) -> Admitted {
    let sides = Side::ALL.into_iter();
    Admitted {
        peers: sides
            .clone()
            .filter_map(|side| relay.address(side))
            .collect(),
        keys: sides.flat_map(|side| relay.local_indices(side)).collect(),
        pending: None,
    }
}

#[cfg(test)]
mod tests;
