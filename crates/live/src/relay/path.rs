//! A path that goes by the relay: its socket, its machine, and what was counted there.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_session::datagram::RESPONSE;
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::relay::{Input, Output, Relay, RelayEvent, Side, Undelivered};
use serde::Serialize;
use serde_json::Value;

use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::relay::RelayedPath;
use crate::drive::BUDGET;
use crate::stats::{self, Volume};
use crate::udp::PathSocket;
use crate::udp::filter::Admitted;
use crate::udp::flood::Flood;

/// The longest datagram, in bytes.
pub(super) const LONGEST: usize = 65_507;

/// How far back deadlines are met at their own time, as by a node.
const CATCH_UP: Duration = Duration::from_secs(1);

/// What was counted on a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathStats {
    /// The path's name.
    pub name: String,
    /// Where the relay receives.
    pub local: SocketAddr,
    /// Sent, with the IP header.
    pub sent: Volume,
    /// Received, of whomever, with the IP header.
    pub received: Volume,
    /// Datagrams that the kernel did not take: a queue was full or the network not to be reached.
    pub unsent: u64,
    /// Datagrams that the kernel dropped before they were read: strangers' while they flood the path, and all while there
    /// was no space.
    pub kernel_dropped: u64,
    /// Datagrams dropped that belong to the session of neither node, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// The two nodes.
    pub nodes: Vec<NodeStats>,
}

/// What was counted of a node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeStats {
    /// Its name.
    pub name: String,
    /// Where it is, if it has come.
    pub address: Option<SocketAddr>,
    /// Whether there is a session with it.
    pub established: bool,
    /// Its datagrams that went on to the other node, and their bytes without headers.
    pub forwarded: Volume,
    /// Its datagrams that did not, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// The session with it: frames sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
}

/// A path.
pub(super) struct Path {
    socket: PathSocket,
    relay: Relay<SocketAddr>,
    label: Label,
    datagrams: PacketBuffer,
    clock: Clock,
    /// The latest time that the machine has seen.
    last: Time,
    counted: Counted,
    flood: Flood,
    told: Told,
}

/// What a path is called, and where it is.
struct Label {
    name: String,
    local: SocketAddr,
    nodes: [String; 2],
}

/// What its socket sent and received.
#[derive(Default)]
struct Counted {
    sent: Volume,
    received: Volume,
    unsent: u64,
    kernel_dropped: u64,
}

/// What the log has already.
#[derive(Default)]
struct Told {
    rejected: Vec<Reject>,
    undelivered: Vec<(Side, Undelivered)>,
}

impl Path {
    pub(super) fn new(
        config: &RelayedPath,
        socket: PathSocket,
        relay: Relay<SocketAddr>,
        clock: Clock,
    ) -> Self {
        let name = |index: usize| config.nodes.get(index).map_or("", |node| &node.name);
        Self {
            label: Label {
                name: config.name.clone(),
                local: socket.local().unwrap_or(config.local),
                nodes: [0, 1].map(|index| name(index).to_owned()),
            },
            socket,
            relay,
            datagrams: PacketBuffer::new(LONGEST),
            clock,
            last: clock.now(),
            counted: Counted::default(),
            flood: Flood::default(),
            told: Told::default(),
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.relay.deadline()
    }

    /// Does what is due by `now`, once what came before that has been taken: its times count.
    pub(super) fn expire(&mut self, now: Time) -> io::Result<()> {
        let Some(due) = self.relay.deadline().filter(|due| due.at <= now) else {
            return Ok(());
        };
        for _ in 0..BUDGET {
            let came = self.take()?;
            if came.is_none_or(|at| at > due.at) {
                break;
            }
        }
        self.do_due(now);
        Ok(())
    }

    /// Takes at most `budget` datagrams, and says how many.
    pub(super) fn receive(&mut self, budget: usize) -> io::Result<usize> {
        for taken in 0..budget {
            if self.take()?.is_none() {
                return Ok(taken);
            }
        }
        Ok(budget)
    }

    /// Takes a datagram, if one waits, at the time of its arrival, which it says: a relay that is late must not take what
    /// came at a rate for a burst.
    fn take(&mut self) -> io::Result<Option<Time>> {
        let space = self.datagrams.space();
        let Some(received) = self.socket.receive(space, self.clock)? else {
            return Ok(None);
        };
        let datagram = self.datagrams.take(received.len);
        self.counted.received.add(self.size(received.len));
        let source = received.from;
        self.do_due(received.at);
        self.wake(received.at, Wake::Input(Input { source, datagram }));
        Ok(Some(received.at))
    }

    /// Does what is due until `until`, each at its own time, or what was due longer ago than [`CATCH_UP`] then.
    fn do_due(&mut self, until: Time) {
        let floor = until - CATCH_UP;
        while let Some(due) = self.relay.deadline().filter(|due| due.at <= until) {
            self.wake(due.at.max(floor), Wake::Timeout);
            if self.relay.deadline().is_some_and(|next| next.at <= due.at) {
                // The drive loop counts it and slows down.
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
        let mut said = Vec::new();
        step(&mut self.relay, self.last, wake, &mut |output| {
            said.push(output);
        });
        for output in said {
            match output {
                Output::Send { to, datagram } => self.send(&datagram, to),
                Output::Event(event) => self.tell(event, source),
            }
        }
    }

    /// Has the kernel drop strangers' datagrams where there were many in the second that is over.
    pub(super) fn guard(&mut self) {
        let (flood, relay) = (&mut self.flood, &self.relay);
        let dropped = flood.guard(&self.socket, &self.label.name, || admitted(relay));
        self.counted.kernel_dropped += u64::from(dropped);
    }

    fn send(&mut self, datagram: &[u8], to: SocketAddr) {
        if datagram.first() == Some(&RESPONSE) {
            // What comes back is under keys that the kernel does not know yet.
            let (flood, relay) = (&mut self.flood, &self.relay);
            flood.renew(&self.socket, || admitted(relay));
        }
        match self.socket.send(datagram, to) {
            Ok(()) => self.counted.sent.add(self.size(datagram.len())),
            Err(error) => {
                self.counted.unsent += 1;
                tracing::debug!(path = self.label.name, %to, %error, "datagram not sent");
            }
        }
    }

    fn size(&self, datagram: usize) -> usize {
        datagram + self.socket.headers() as usize
    }

    fn node(&self, side: Side) -> &str {
        &self.label.nodes[side.index()]
    }

    /// Logs `event`; `source` is where the datagram came from that it is about, if it is.
    fn tell(&mut self, event: RelayEvent<SocketAddr>, source: Option<SocketAddr>) {
        let path = &self.label.name;
        match event {
            RelayEvent::Located { side, at } => {
                let node = self.node(side);
                tracing::info!(path, node, address = %at, "the node is here");
            }
            RelayEvent::Undelivered { side, reason, .. } => self.tell_undelivered(side, reason),
            RelayEvent::Session { side, event } => self.tell_session(side, event, source),
            RelayEvent::Rejected(reason) => {
                self.flood.note(reason);
                self.tell_rejected(None, reason, source);
            }
            RelayEvent::NoEntropy => tracing::error!("the random source failed"),
        }
    }

    fn tell_session(&mut self, side: Side, event: SessionEvent, source: Option<SocketAddr>) {
        let (path, node) = (&self.label.name, self.node(side));
        match event {
            SessionEvent::Established { .. } => tracing::info!(path, node, "session established"),
            SessionEvent::Silent => {
                // What is dropped for its sake is told anew.
                self.told.undelivered.retain(|(from, reason)| {
                    *from != side.other() || *reason != Undelivered::Silent
                });
                let (path, node) = (&self.label.name, self.node(side));
                tracing::warn!(
                    path,
                    node,
                    "the node does not answer; nothing is sent there until it is heard"
                );
            }
            SessionEvent::Expired => tracing::info!(path, node, "keys ran out: the node is gone"),
            SessionEvent::NoEntropy => tracing::error!("the random source failed"),
            SessionEvent::Rejected { reason, .. } => {
                self.tell_rejected(Some(side), reason, source);
            }
            SessionEvent::PeerRestarted
            | SessionEvent::Initiated { .. }
            | SessionEvent::Discarded
            | SessionEvent::PathsDiffer { .. } => {}
        }
    }

    /// Logs the first datagram that is not forwarded of a node for each reason.
    fn tell_undelivered(&mut self, side: Side, reason: Undelivered) {
        if self.told.undelivered.contains(&(side, reason)) {
            return;
        }
        self.told.undelivered.push((side, reason));
        let (path, node) = (&self.label.name, self.node(side));
        let why = match reason {
            Undelivered::NoSession => "the other node has not come",
            Undelivered::Silent => "the other node does not answer",
            Undelivered::Rate => "the node sends more than its `rate`",
        };
        let reason = reason.name();
        tracing::warn!(
            path,
            node,
            reason,
            "a datagram is not forwarded, {why}; further ones are only counted"
        );
    }

    /// Logs the first datagram that is rejected for each reason, so that a flood does not fill the log.
    fn tell_rejected(&mut self, side: Option<Side>, reason: Reject, source: Option<SocketAddr>) {
        if self.told.rejected.contains(&reason) {
            return;
        }
        self.told.rejected.push(reason);
        let path = &self.label.name;
        let node = side.map(|side| self.node(side));
        let source = source.map(tracing::field::display);
        let remedy = match reason {
            Reject::WrongKey => "; it is of a key that this path does not name",
            Reject::BadMac => "; it is for another relay's key, or of no node",
            Reject::StaleTimestamp => "; is the node's clock set back?",
            Reject::Throttled => "; somebody floods the relay with handshakes",
            // A relay that started anew does not have the old keys.
            Reject::UnknownIndex | Reject::HandshakeCopy => {
                let reason = reason.name();
                return tracing::debug!(path, node, reason, "a datagram is dropped");
            }
            _ => "",
        };
        let reason = reason.name();
        tracing::warn!(
            path,
            node,
            reason,
            source,
            "a datagram is rejected; further ones are only counted{remedy}"
        );
    }

    pub(super) fn stats(&self) -> PathStats {
        let rejected = Reject::ALL.iter();
        let rejected = rejected.map(|reason| (reason.name(), self.relay.rejected(*reason)));
        PathStats {
            name: self.label.name.clone(),
            local: self.label.local,
            sent: self.counted.sent,
            received: self.counted.received,
            unsent: self.counted.unsent,
            kernel_dropped: self.counted.kernel_dropped,
            rejected: rejected.collect(),
            nodes: Side::ALL.map(|side| self.node_stats(side)).into(),
        }
    }

    fn node_stats(&self, side: Side) -> NodeStats {
        let traffic = self.relay.traffic(side);
        let reasons = Undelivered::ALL.iter();
        let dropped = reasons.map(|reason| (reason.name(), traffic.undelivered(*reason)));
        NodeStats {
            name: self.node(side).to_owned(),
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

/// Who may send beside those who begin a handshake.
fn admitted(relay: &Relay<SocketAddr>) -> Admitted {
    let sides = Side::ALL.into_iter();
    Admitted {
        peers: sides
            .clone()
            .filter_map(|side| relay.address(side))
            .collect(),
        keys: sides.flat_map(|side| relay.local_indices(side)).collect(),
    }
}

#[cfg(test)]
mod tests;
