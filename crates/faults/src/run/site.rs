//! The place of a node: its addresses, its runs, and what the network has brought there.

use std::collections::BTreeSet;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::rng::Stream;
use polypath_core::time::Time;
use polypath_session::address::PeerAddress;

use crate::node::{Node, Start};
use crate::parcel::{Address, End, Host, Parcel};
use crate::sabotage::Sabotage;
use crate::schedule::{Incident, Schedule};
use crate::tally::Tally;

/// The place of a node.
pub(super) struct Site {
    end: End,
    /// The node, while it runs.
    pub(super) node: Option<Node>,
    /// The number of its address on each path.
    numbers: Vec<u32>,
    starts: u32,
    /// The datagrams that this run has taken.
    pub(super) taken: BTreeSet<u64>,
    /// From where genuine ones came since its start, and what its configuration gives.
    proven: BTreeSet<Address>,
    /// Draws its applications' packets.
    pub(super) packets: Stream,
    /// When an application sends next.
    pub(super) next_packet: Time,
    /// Until when the node is not served, and what waits for it meanwhile.
    pub(super) stall: Option<Stall>,
}

/// What waits while a node is not served.
pub(super) struct Stall {
    until: Time,
    /// What came from the network, and when.
    pub(super) parcels: Vec<(Time, Parcel)>,
    /// What came from its applications.
    pub(super) packets: Vec<Bytes>,
}

impl Site {
    pub(super) fn new(end: End, schedule: &Schedule) -> Self {
        let name = format!("faults/packets/{}", end.name());
        Self {
            end,
            node: None,
            numbers: vec![0; schedule.paths.len()],
            starts: 0,
            taken: BTreeSet::new(),
            proven: BTreeSet::new(),
            packets: schedule.seed.stream(&name),
            next_packet: Time::ZERO,
            stall: None,
        }
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        let next = self.node.as_ref()?.next_at();
        self.stall.as_ref().map_or(next, |stall| Some(stall.until))
    }

    /// Has the node, if it runs, wait until then.
    pub(super) fn hold(&mut self, until: Time) {
        if self.node.is_some() && self.stall.is_none() {
            self.stall = Some(Stall {
                until,
                parcels: Vec::new(),
                packets: Vec::new(),
            });
        }
    }

    /// Its address on a path now.
    pub(super) fn address(&self, path: PathId) -> Address {
        Address {
            host: Host::Node(self.end),
            path,
            number: self.numbers[path.index()],
        }
    }

    /// Whether it runs and can be reached at an address.
    pub(super) fn is_at(&self, address: Address) -> bool {
        self.node.is_some() && self.address(address.path) == address
    }

    pub(super) fn relocate(&mut self, path: PathId) {
        self.numbers[path.index()] += 1;
    }

    pub(super) fn start(
        &mut self,
        at: Time,
        incident: &Incident,
        schedule: &Schedule,
        sabotage: Sabotage,
        tally: &mut Tally,
    ) {
        let &Incident::Start {
            wall,
            is_behind,
            is_impostor,
            ..
        } = incident
        else {
            return;
        };
        let number = self.starts;
        self.starts += 1;
        tally.restarts += u64::from(number > 0);
        tally.clocks_behind += u64::from(is_behind);
        tally.impostors += u64::from(is_impostor);
        let peer = schedule
            .path_ids()
            .map(|path| self.configured(path, schedule));
        let peer: Vec<_> = peer.collect();
        self.proven = peer
            .iter()
            .filter_map(|peer: &PeerAddress<_>| peer.get())
            .collect();
        let start = Start {
            at,
            wall,
            is_impostor,
            number,
            settings: schedule.settings(self.end, at),
        };
        self.node = Some(Node::start(self.end, start, schedule, peer, sabotage));
    }

    /// What the configuration says of the peer's address: whoever is learned never moves back to it.
    fn configured(&self, path: PathId, schedule: &Schedule) -> PeerAddress<Address> {
        let learns = schedule.paths[path.index()].learner == Some(self.end);
        let host = if schedule.paths[path.index()].by_relay {
            Host::Relay
        } else {
            Host::Node(self.end.other())
        };
        let number = 0;
        let address = Address { host, path, number };
        PeerAddress::configured((!learns).then_some(address))
    }

    pub(super) fn stop(&mut self, tally: &mut Tally) {
        if let Some(node) = self.node.take() {
            tally.add_session(node.tunnel().counters());
            for path in (0..).map(PathId).take(self.numbers.len()) {
                if let Some(session) = node.tunnel().relay(path) {
                    tally.add_relay_session(session.counters());
                }
            }
        }
        self.stall = None;
        self.taken.clear();
        self.proven.clear();
    }

    /// Notes a genuine datagram that the node has taken.
    pub(super) fn take(&mut self, parcel: &Parcel) {
        self.taken.insert(parcel.id);
        self.proven.insert(parcel.source);
    }

    pub(super) fn may_send_to(&self, address: Address) -> bool {
        self.proven.contains(&address)
    }
}
