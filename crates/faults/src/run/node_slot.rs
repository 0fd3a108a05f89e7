//! The successive instances of one node, and its addresses.

use std::collections::BTreeSet;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::rng::Stream;
use polypath_core::time::Time;
use polypath_session::address::PeerAddress;
use polypath_session::session::usable_timestamp;

use super::limits::Ceiling;
use crate::coverage::Coverage;
use crate::datagram::{Address, End, Host, TestDatagram};
use crate::mutants::Mutant;
use crate::node::{Node, Start};
use crate::schedule::{Incident, Schedule};

/// The successive instances of one node, and its addresses.
pub(super) struct NodeSlot {
    end: End,
    /// The running instance.
    pub(super) node: Option<Node>,
    /// The number of its current address on each path.
    numbers: Vec<u32>,
    starts: u32,
    /// The newest timestamp of the peer, if the node keeps it; 0 if it knows none.
    kept_timestamp: u64,
    /// Whether this instance started with a kept timestamp, so that it has to recognise replays
    /// from before its start.
    pub(super) recognises_replays: bool,
    /// The genuine datagrams that this instance accepted.
    pub(super) accepted: BTreeSet<u64>,
    /// The responses and cookies that this instance sent.
    pub(super) replies: BTreeSet<Bytes>,
    /// The sources of these datagrams, and the configured addresses.
    proven: BTreeSet<Address>,
    /// The random stream of its applications' packets.
    pub(super) packets: Stream,
    /// The time of the next packet of an application.
    pub(super) next_packet: Time,
    /// The stall of its driver, if there is one.
    pub(super) stall: Option<Stall>,
    /// The path of this instance with a ceiling, if there is one.
    pub(super) ceiling: Option<Ceiling>,
}

/// The inputs of a node that wait during a stall.
pub(super) struct Stall {
    until: Time,
    /// Datagrams with the time of their arrival.
    pub(super) datagrams: Vec<(Time, TestDatagram)>,
    /// Packets of its applications.
    pub(super) packets: Vec<Bytes>,
}

impl NodeSlot {
    pub(super) fn new(end: End, schedule: &Schedule) -> Self {
        let name = format!("faults/packets/{}", end.name());
        Self {
            end,
            node: None,
            numbers: vec![0; schedule.paths.len()],
            starts: 0,
            kept_timestamp: 0,
            recognises_replays: false,
            accepted: BTreeSet::new(),
            replies: BTreeSet::new(),
            proven: BTreeSet::new(),
            packets: schedule.seed.stream(&name),
            next_packet: Time::ZERO,
            stall: None,
            ceiling: None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let next = self.node.as_ref()?.deadline();
        self.stall.as_ref().map_or(next, |stall| Some(stall.until))
    }

    /// Stalls the driver of the node, if it runs.
    pub(super) fn stall_until(&mut self, until: Time) {
        if self.node.is_some() && self.stall.is_none() {
            self.stall = Some(Stall {
                until,
                datagrams: Vec::new(),
                packets: Vec::new(),
            });
        }
    }

    /// Its current address on a path.
    pub(super) fn address(&self, path: PathId) -> Address {
        Address {
            host: Host::Node(self.end),
            path,
            number: self.numbers[path.index()],
        }
    }

    /// Whether it runs and has this address.
    pub(super) fn is_at(&self, address: Address) -> bool {
        self.node.is_some() && self.address(address.path) == address
    }

    pub(super) fn change_address(&mut self, path: PathId) {
        self.numbers[path.index()] += 1;
    }

    pub(super) fn start(
        &mut self,
        at: Time,
        incident: &Incident,
        schedule: &Schedule,
        mutant: Mutant,
        coverage: &mut Coverage,
    ) {
        let &Incident::Start {
            wall_clock,
            is_clock_behind,
            is_impostor,
            ..
        } = incident
        else {
            return;
        };
        let number = self.starts;
        self.starts += 1;
        coverage.restarts += u64::from(number > 0);
        coverage.clocks_behind += u64::from(is_clock_behind);
        coverage.impostors += u64::from(is_impostor);
        let peer = schedule
            .path_ids()
            .map(|path| self.configured(path, schedule));
        let peer: Vec<_> = peer.collect();
        self.proven = peer
            .iter()
            .filter_map(|peer: &PeerAddress<_>| peer.get())
            .collect();
        let kept = self.kept_timestamp;
        self.recognises_replays = kept > 0 && usable_timestamp(kept, wall_clock).is_some();
        coverage.kept_timestamps += u64::from(self.recognises_replays);
        let start = Start {
            at,
            wall_clock,
            is_impostor,
            number,
            settings: schedule.settings(self.end, at),
            peer_timestamp: kept,
        };
        self.node = Some(Node::start(self.end, start, schedule, peer, mutant));
        self.ceiling = Ceiling::of(self.end, schedule.limited);
    }

    /// The peer's address as configured; a host whose address is learned never returns to it.
    fn configured(&self, path: PathId, schedule: &Schedule) -> PeerAddress<Address> {
        let learns = schedule.paths[path.index()].learner == Some(self.end);
        let host = if schedule.paths[path.index()].is_relayed {
            Host::Relay
        } else {
            Host::Node(self.end.other())
        };
        let number = 0;
        let address = Address { host, path, number };
        PeerAddress::configured((!learns).then_some(address))
    }

    /// Stops the instance, if it runs; a node that `keeps_timestamp` knows its peer's at the next
    /// start.
    pub(super) fn stop(&mut self, keeps_timestamp: bool, coverage: &mut Coverage) {
        if let Some(node) = self.node.take() {
            if keeps_timestamp && !node.is_impostor {
                self.kept_timestamp = node.tunnel().session().peer_timestamp();
            }
            coverage.add_session(node.tunnel().counters());
            for path in (0..).map(PathId).take(self.numbers.len()) {
                if let Some(session) = node.tunnel().relay(path) {
                    coverage.add_relay_session(session.counters());
                }
            }
        }
        self.stall = None;
        self.accepted.clear();
        self.replies.clear();
        self.proven.clear();
    }

    /// Records a genuine datagram that the node accepted.
    pub(super) fn record_accepted(&mut self, datagram: &TestDatagram) {
        self.accepted.insert(datagram.id);
        self.proven.insert(datagram.source);
    }

    pub(super) fn may_send_to(&self, address: Address) -> bool {
        self.proven.contains(&address)
    }
}
