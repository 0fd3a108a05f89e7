//! Two nodes, perhaps a relay between them, and the datagrams in flight.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::{Ecn, TrafficClass};
use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_faults::datagram::{Address, End, Host, Provenance, TestDatagram};
use polypath_faults::ledger::PacketLedger;
use polypath_faults::mutants::Mutant;
use polypath_faults::node::{Node, Start, public_key, relay_key};
use polypath_faults::schedule::{EcnPlan, INTERFACE_MTU, PathPlan, Schedule, Settings};
use polypath_session::address::PeerAddress;
use polypath_session::datagram::{COOKIE_REPLY, RESPONSE};
use polypath_session::entropy::BoxedEntropy;
use polypath_session::event::SessionEvent;
use polypath_session::relay::{self, Relay, RelayConfig, RelayEvent};
use polypath_session::session::Limits;
use polypath_session::tunnel::{Input, Output};

/// The capacity of the network, and of the memory of accepted datagrams; the oldest is lost.
const CAPACITY: usize = 64;
/// The wall clock at the start: 2026, in nanoseconds since 1970.
const WALL: u64 = 1_790_000_000_000_000_000;
/// Rate of the relay for each node.
const RELAY_RATE: Rate = Rate::from_mbits(100);
/// The longest datagram that the relay accepts, in bytes.
const MAX_DATAGRAM: usize = 1500;

/// The effects of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) is_rejected: bool,
    /// Datagrams accepted as authentic, and addresses learned from them.
    pub(crate) authenticated: usize,
    /// Packets delivered to applications.
    pub(crate) delivered: usize,
    /// Cookies sent.
    pub(crate) cookies: usize,
    /// New responses to initiations sent.
    pub(crate) responses: usize,
    /// Responses sent again.
    pub(crate) repeated: usize,
    /// Other datagrams sent.
    pub(crate) others: usize,
}

impl Effects {
    /// Counts a datagram that was sent, and notes it in `sent` if it is a response.
    fn count_sent(&mut self, bytes: &Bytes, sent: &mut BTreeSet<Bytes>) {
        match bytes.first() {
            Some(&COOKIE_REPLY) => self.cookies += 1,
            Some(&RESPONSE) if sent.insert(bytes.clone()) => self.responses += 1,
            Some(&RESPONSE) => self.repeated += 1,
            _ => self.others += 1,
        }
    }

    /// Whether there was none but cookies and repeated responses, rejection aside.
    pub(crate) fn are_only_replies(&self) -> bool {
        let Self {
            is_rejected,
            cookies,
            repeated,
            ..
        } = *self;
        *self
            == Self {
                is_rejected,
                cookies,
                repeated,
                ..Self::default()
            }
    }

    /// Whether there was none, rejection aside.
    pub(crate) fn are_none(&self) -> bool {
        self.cookies == 0 && self.repeated == 0 && self.are_only_replies()
    }
}

/// The relay of the only path.
struct RelayHost {
    relay: Relay<Address>,
    started: Time,
}

/// Two nodes and the network between them.
pub(crate) struct Site {
    pub(crate) now: Time,
    pub(crate) in_flight: VecDeque<TestDatagram>,
    /// The responses that were sent.
    responses: BTreeSet<Bytes>,
    /// Datagrams that their receivers accepted.
    pub(crate) accepted: VecDeque<TestDatagram>,
    nodes: [Node; 2],
    relay: Option<RelayHost>,
    schedule: Schedule,
    settings: Settings,
    ledger: PacketLedger,
    /// The node that learns the addresses of the other.
    learner: Option<End>,
    /// The number of each node's address, which changes when it moves.
    addresses: [u32; 2],
    starts: u32,
    sent: u64,
    /// For each node, the number of the newest packet delivered to it.
    newest: [Option<u64>; 2],
}

impl Site {
    /// Two nodes with two direct paths; the second learns the addresses of the first if `learns`.
    pub(crate) fn direct(learns: bool) -> Self {
        Self::new(2, false, learns.then_some(End::B))
    }

    /// Two nodes with one path, through a relay.
    pub(crate) fn relayed() -> Self {
        Self::new(1, true, None)
    }

    fn new(paths: usize, is_relayed: bool, learner: Option<End>) -> Self {
        let mut schedule = Schedule::draw(1);
        let path = PathPlan {
            is_relayed,
            mtu: INTERFACE_MTU,
            ..schedule.paths[0]
        };
        schedule.paths = vec![path; paths];
        schedule.nodes.limits = Limits::default();
        // A script marks what it wants: some datagrams, but not all.
        schedule.ecn = EcnPlan {
            nodes_receive: [true; 2],
            relays_receive: true,
            mark_share: 0.5,
            rewrite_share: 0.0,
        };
        let settings = Settings {
            policy: PolicyConfig::DuplicateAll {},
            liveness: None,
            spacing: None,
        };
        let start = |end| start_node(end, start_at(Time::ZERO, 0, settings), &schedule, learner);
        Self {
            now: Time::ZERO,
            in_flight: VecDeque::new(),
            responses: BTreeSet::new(),
            accepted: VecDeque::new(),
            nodes: End::ALL.map(start),
            relay: is_relayed.then(|| start_relay(Time::ZERO, 0, &schedule)),
            schedule,
            settings,
            ledger: PacketLedger::default(),
            learner,
            addresses: [0; 2],
            starts: 0,
            sent: 0,
            newest: [None; 2],
        }
    }

    /// The number of paths.
    pub(crate) fn paths(&self) -> u8 {
        u8::try_from(self.schedule.paths.len()).unwrap_or(u8::MAX)
    }

    /// The hosts that can be addressed.
    pub(crate) fn hosts(&self) -> Vec<Host> {
        let nodes = End::ALL.map(Host::Node);
        nodes
            .into_iter()
            .chain(self.relay.as_ref().map(|_| Host::Relay))
            .collect()
    }

    /// The present address of a host.
    pub(crate) fn address(&self, host: Host, path: PathId) -> Address {
        let number = match host {
            Host::Node(end) => self.addresses[end.index()],
            Host::Relay | Host::Attacker => 0,
        };
        Address { host, path, number }
    }

    /// The time of the next deadline.
    pub(crate) fn deadline(&self) -> Time {
        let nodes = self.nodes.iter().filter_map(Node::deadline);
        let relay = self.relay.as_ref().and_then(RelayHost::deadline);
        nodes.chain(relay).min().unwrap_or(Time::MAX)
    }

    /// Handles all deadlines up to `until`, which is then the present.
    pub(crate) fn run(&mut self, until: Time) {
        loop {
            let next = self.deadline();
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            for end in End::ALL {
                if self.nodes[end.index()].deadline() == Some(next) {
                    self.wake_node(end, Wake::Timeout, None);
                }
            }
            if self.relay.as_ref().and_then(RelayHost::deadline) == Some(next) {
                self.wake_relay(Wake::Timeout);
            }
        }
        self.now = self.now.max(until);
    }

    /// An application of a node sends a packet of `len` bytes.
    pub(crate) fn send(&mut self, from: End, len: u16) -> u64 {
        let packet = self.ledger.record_sent(self.now, from, len, true);
        self.wake_node(from, Wake::Input(Input::Packet(packet.bytes())), None);
        packet.id
    }

    /// Whether a node has received the packet `number` or a newer one.
    pub(crate) fn has_received(&self, end: End, number: u64) -> bool {
        self.newest[end.index()] >= Some(number)
    }

    /// Starts a host without any state; what it accepted before can be replayed.
    pub(crate) fn restart(&mut self, host: Host) {
        self.starts += 1;
        for datagram in &mut self.accepted {
            if datagram.to.host == host {
                datagram.provenance = Provenance::UnknownCopy;
            }
        }
        match host {
            Host::Node(end) => {
                let start = start_at(self.now, self.starts, self.settings);
                self.nodes[end.index()] = start_node(end, start, &self.schedule, self.learner);
            }
            Host::Relay => {
                self.relay = Some(start_relay(self.now, self.starts, &self.schedule));
            }
            Host::Attacker => {}
        }
    }

    /// Moves a node to another address, if its datagrams show that to those who send to it.
    pub(crate) fn relocate(&mut self, end: End) {
        if self.relay.is_some() || self.learner == Some(end.other()) {
            self.addresses[end.index()] += 1;
        }
    }

    /// Delivers a datagram; one to an address that its host has left is lost.
    pub(crate) fn deliver(&mut self, datagram: TestDatagram) -> Effects {
        let TestDatagram { to, .. } = datagram;
        if to != self.address(to.host, to.path) {
            return Effects::default();
        }
        let bytes = datagram.bytes.clone();
        let effects = match to.host {
            Host::Node(end) => {
                let input = Input::Datagram {
                    path: to.path,
                    source: datagram.source.into(),
                    ecn: datagram.ecn,
                    datagram: bytes,
                };
                self.wake_node(end, Wake::Input(input), Some(datagram.source))
            }
            Host::Relay => {
                let source = datagram.source;
                let input = relay::Input {
                    source,
                    datagram: bytes,
                    traffic_class: TrafficClass {
                        ecn: datagram.ecn,
                        ..TrafficClass::DEFAULT
                    },
                };
                self.wake_relay(Wake::Input(input))
            }
            Host::Attacker => Effects::default(),
        };
        if !effects.is_rejected || effects.authenticated > 0 {
            push(&mut self.accepted, datagram);
        }
        effects
    }

    fn wake_node(&mut self, end: End, wake: Wake<Input>, source: Option<Address>) -> Effects {
        let (mut effects, mut outputs) = (Effects::default(), Vec::new());
        let node = &mut self.nodes[end.index()];
        node.wake(self.now, wake, &mut |output| outputs.push(output))
            .expect("the deadline advances");
        assert!(node.tunnel().buffered() <= node.tunnel().capacity());
        for output in outputs {
            let node = &mut self.nodes[end.index()];
            match output {
                Output::Packet(packet) => {
                    effects.delivered += 1;
                    let delivered = self.ledger.deliver(self.now, end, &packet, &self.schedule);
                    let number = delivered.unwrap_or_else(|violation| panic!("{violation}"));
                    let newest = &mut self.newest[end.index()];
                    *newest = (*newest).max(Some(number));
                }
                Output::Datagram {
                    path,
                    datagram,
                    traffic_class,
                } => {
                    let to = node.peer_address(path);
                    effects.count_sent(&datagram, &mut self.responses);
                    self.transmit(Host::Node(end), path, to, datagram, traffic_class.ecn);
                }
                Output::Reply { path, datagram } => {
                    let to = source.and_then(|source| node.reply_to(source, &datagram));
                    if to.is_some() {
                        effects.count_sent(&datagram, &mut self.responses);
                    }
                    self.transmit(Host::Node(end), path, to, datagram, Ecn::NotEct);
                }
                Output::Authenticated { .. } => {
                    effects.authenticated += 1;
                    if let Some(source) = source {
                        node.update_peer(source);
                    }
                }
                Output::RelayAuthenticated { .. } => effects.authenticated += 1,
                Output::Session(SessionEvent::Rejected { .. })
                | Output::Relay {
                    event: SessionEvent::Rejected { .. },
                    ..
                } => {
                    effects.is_rejected = true;
                }
                _ => {}
            }
        }
        effects
    }

    fn wake_relay(&mut self, wake: Wake<relay::Input<Address>>) -> Effects {
        let (mut effects, mut outputs) = (Effects::default(), Vec::new());
        let Some(host) = &mut self.relay else {
            return effects;
        };
        let is_timeout = wake == Wake::Timeout;
        let own = host.own(self.now);
        step(&mut host.relay, own, wake, &mut |output| {
            outputs.push(output)
        });
        assert!(host.relay.buffered() <= relay::CAPACITY);
        assert!(!is_timeout || host.deadline().is_none_or(|at| at > self.now));
        for output in outputs {
            match output {
                relay::Output::Send {
                    to,
                    datagram,
                    traffic_class,
                } => {
                    effects.count_sent(&datagram, &mut self.responses);
                    let ecn = traffic_class.ecn;
                    self.transmit(Host::Relay, to.path, Some(to), datagram, ecn);
                }
                relay::Output::Event(RelayEvent::Located { .. }) => effects.authenticated += 1,
                relay::Output::Event(
                    RelayEvent::Rejected(_)
                    | RelayEvent::Session {
                        event: SessionEvent::Rejected { .. },
                        ..
                    },
                ) => effects.is_rejected = true,
                relay::Output::Event(_) => {}
            }
        }
        effects
    }

    fn transmit(&mut self, from: Host, path: PathId, to: Option<Address>, bytes: Bytes, ecn: Ecn) {
        let Some(to) = to else { return };
        self.sent += 1;
        let datagram = TestDatagram {
            id: self.sent,
            source: self.address(from, path),
            to,
            provenance: Provenance::Genuine,
            ecn,
            bytes,
        };
        push(&mut self.in_flight, datagram);
    }
}

impl RelayHost {
    fn own(&self, now: Time) -> Time {
        Time(now.since(self.started).0)
    }

    fn deadline(&self) -> Option<Time> {
        let deadline = self.relay.deadline()?;
        Some(self.started + Duration(deadline.at.0))
    }
}

fn push(queue: &mut VecDeque<TestDatagram>, datagram: TestDatagram) {
    if queue.len() == CAPACITY {
        queue.pop_front();
    }
    queue.push_back(datagram);
}

fn start_node(end: End, start: Start, schedule: &Schedule, learner: Option<End>) -> Node {
    let peer = schedule.path_ids().map(|path| {
        let is_relayed = schedule.paths[path.index()].is_relayed;
        let host = if is_relayed {
            Host::Relay
        } else {
            Host::Node(end.other())
        };
        let address = Address {
            host,
            path,
            number: 0,
        };
        PeerAddress::configured((learner != Some(end)).then_some(address))
    });
    Node::start(end, start, schedule, peer.collect(), Mutant::None)
}

fn start_relay(started: Time, number: u32, schedule: &Schedule) -> RelayHost {
    let config = RelayConfig {
        private_key: relay_key(schedule.seed, PathId(0)),
        nodes: End::ALL.map(|end| public_key(schedule.seed, end)),
        max_datagram: MAX_DATAGRAM,
        rate: RELAY_RATE,
        limits: schedule.nodes.limits,
        receives_ecn: true,
    };
    let entropy = End::ALL.map(|end| {
        let stream = schedule
            .seed
            .stream(&format!("relay/{number}/{}", end.name()));
        Box::new(stream) as BoxedEntropy
    });
    let relay = Relay::new(&config, entropy);
    RelayHost { relay, started }
}

/// The parameters of the start with this number of earlier ones.
fn start_at(at: Time, number: u32, settings: Settings) -> Start {
    Start {
        at,
        wall_clock: WALL + at.0,
        is_impostor: false,
        number,
        settings,
        peer_timestamp: 0,
    }
}
