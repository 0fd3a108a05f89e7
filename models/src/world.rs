//! Two real sessions, everything that they have sent, and an attacker who decides what arrives.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::LazyLock;

use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_session::address::Source;
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::key::{PrivateKey, PublicKey};
use polypath_session::session::{Input, Output, Session, SessionConfig};

use crate::flood::Flooder;
use crate::monitor::{Frame, Monitor, Violation};
use crate::sent::Sent;

/// 2026 in nanoseconds since 1970.
const WALL_CLOCK: u64 = 1_790_000_000_000_000_000;
/// The lag of a clock that is behind after a restart, in nanoseconds.
const CLOCK_LAG: u64 = 3_600_000_000_000;
/// The longest datagram, in bytes.
const MAX_DATAGRAM: usize = 1500;

/// One of the two nodes; node 0 has the smaller public key, so that its handshakes take precedence.
pub(crate) type NodeId = usize;

/// The configuration of a world.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The number of paths.
    pub(crate) paths: u8,
    /// The number of datagrams on one path after which keys are renewed, if not that of a
    /// deployment.
    pub(crate) rekey_after_count: Option<u64>,
    /// Whether node 1 only answers and does not know the address of node 0.
    pub(crate) is_passive: bool,
    /// Whether an attacker exhausts the budgets of node 1 before each datagram to it.
    pub(crate) is_flooded: bool,
    /// Whether the exploration starts with an established session instead of two started nodes.
    pub(crate) is_established: bool,
}

/// A step of the network, of a node or of the attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The clock advances to the earliest deadline, and the nodes with that deadline are woken.
    Advance,
    /// The datagram with this number arrives, for the first time or again.
    Deliver(usize),
    /// The attacker sends a copy of it from an address of its own.
    Spoof(usize),
    /// A node sends a frame.
    Offer(NodeId, PathId),
    /// A node restarts: it loses everything but its keys and its configuration.
    Restart(NodeId),
    /// A node restarts with a clock that is behind.
    RestartBehind(NodeId),
    /// A node gets another address.
    Move(NodeId),
}

/// The effect of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Something.
    Changed,
    /// Nothing but the counter of a reject.
    Nothing,
}

/// A node and what surrounds it.
pub(crate) struct Node {
    pub(crate) session: Session,
    pub(crate) run: u8,
    pub(crate) source: Source,
    /// The address to which it sends.
    pub(crate) peer_address: Source,
    /// The number of frames offered in this run.
    offered: u16,
    /// A hash of all inputs of all runs, in their order: it determines the state of the session.
    inputs: u64,
}

/// Two nodes, and all that they have sent.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) now: Time,
    pub(crate) nodes: [Node; 2],
    pub(crate) sent: Vec<Sent>,
    pub(crate) monitor: Monitor,
    pub(crate) flooder: Option<Flooder>,
}

/// The keys of the two nodes.
static KEYS: LazyLock<[(PrivateKey, PublicKey); 2]> = LazyLock::new(|| {
    let mut keys = ["a", "b"].map(|name| {
        let private = PrivateKey::generate(&mut Seed(1).stream(name));
        let private = private.expect("a stream does not fail");
        let public = private.public();
        (private, public)
    });
    keys.sort_by_key(|(_, public)| *public);
    keys
});

/// The public key of a node.
pub(crate) fn public_key(node: NodeId) -> PublicKey {
    KEYS[node].1
}

/// The address of a node, or the one that it moves to.
fn address(node: NodeId, has_moved: bool) -> Source {
    let host = [[1, 2], [3, 4]][node][usize::from(has_moved)];
    Source::from(SocketAddr::from(([192, 0, 2, host], 4000)))
}

/// The address of the attacker, in a network of its own.
pub(crate) fn attacker() -> Source {
    Source::from(SocketAddr::from(([198, 51, 100, 1], 4000)))
}

/// Whether a datagram that is rejected for this reason changes nothing but a counter.
///
/// These checks precede every change of state; [`World::deliver`] compares what is visible of it.
fn is_without_effect(reason: Reject) -> bool {
    matches!(
        reason,
        Reject::HandshakeCopy
            | Reject::UnknownIndex
            | Reject::Replayed
            | Reject::BehindWindow
            | Reject::WrongPath
            | Reject::UnexpectedCookie
    )
}

impl World {
    /// Two nodes that have just started, or that have an established session.
    pub(crate) fn new(setup: Setup) -> Self {
        let node = |id| Node {
            session: session(&setup, id, 0, WALL_CLOCK),
            run: 0,
            source: address(id, false),
            peer_address: address(1 - id, false),
            offered: 0,
            inputs: 0,
        };
        let mut world = Self {
            now: Time::ZERO,
            nodes: [node(0), node(1)],
            sent: Vec::new(),
            monitor: Monitor::default(),
            flooder: None,
            setup,
        };
        if world.setup.is_established {
            crate::settle::establish(&mut world);
        }
        world.flooder = world.setup.is_flooded.then(|| Flooder::new(Time::ZERO));
        world
    }

    /// Performs a step. The first violation of a property stays in the monitor.
    pub(crate) fn apply(&mut self, action: Action) -> Effect {
        match action {
            Action::Advance => {
                self.now = self.now.max(self.deadline());
                self.wake_due();
                Effect::Changed
            }
            Action::Deliver(number) => self.deliver(number, self.sent[number].source),
            Action::Spoof(number) => self.deliver(number, attacker()),
            Action::Offer(node, path) => {
                self.offer(node, path);
                Effect::Changed
            }
            Action::Restart(node) => self.restart(node, WALL_CLOCK),
            Action::RestartBehind(node) => self.restart(node, WALL_CLOCK - CLOCK_LAG),
            Action::Move(node) => {
                let node_now = &mut self.nodes[node];
                node_now.source = address(node, true);
                node_now.digest(&"move");
                Effect::Changed
            }
        }
    }

    /// A number that determines everything that can follow.
    ///
    /// A session is a function of its inputs, so the order of the inputs of one node counts, and
    /// that of independent steps of two nodes does not.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // What violates a property may leave both nodes as they were.
        self.monitor.violation.is_some().hash(&mut hasher);
        (self.now.0, self.nodes[0].inputs, self.nodes[1].inputs).hash(&mut hasher);
        hasher.finish()
    }

    /// The earliest deadline of the two nodes.
    pub(crate) fn deadline(&self) -> Time {
        let deadline = |node: &Node| node.session.deadline().map_or(Time::MAX, |due| due.at);
        deadline(&self.nodes[0]).min(deadline(&self.nodes[1]))
    }

    /// Wakes the nodes whose deadline has passed.
    pub(crate) fn wake_due(&mut self) {
        for id in 0..2 {
            let due = self.nodes[id].session.deadline();
            if due.is_some_and(|due| due.at <= self.now) {
                self.nodes[id].digest(&("timeout", self.now.0));
                let outputs = self.wake(id, Wake::Timeout);
                self.process(id, None, outputs);
                let next = self.nodes[id].session.deadline();
                if next.is_some_and(|next| next.at <= self.now) {
                    self.monitor.violate(Violation::DeadlineStuck);
                }
            }
        }
    }

    /// Sends a frame that names its sender, its run and its number.
    pub(crate) fn offer(&mut self, id: NodeId, path: PathId) {
        let node = &mut self.nodes[id];
        node.offered += 1;
        node.digest(&("offer", path.0, self.now.0));
        let frame = Frame {
            from: id,
            run: node.run,
            number: node.offered,
        };
        self.monitor.on_offered(frame);
        let input = Input::Seal {
            path,
            frame: frame.to_bytes(),
            traffic_class: TrafficClass::DEFAULT,
        };
        let outputs = self.wake(id, Wake::Input(input));
        self.process(id, None, outputs);
    }

    fn restart(&mut self, id: NodeId, wall_clock: u64) -> Effect {
        let node = &mut self.nodes[id];
        node.run += 1;
        node.offered = 0;
        node.session = session(&self.setup, id, node.run, wall_clock);
        node.peer_address = address(1 - id, false);
        node.digest(&("restart", wall_clock, self.now.0));
        if id == 1 && self.flooder.is_some() {
            self.flooder = Some(Flooder::new(self.now));
        }
        self.monitor.on_restarted(id);
        Effect::Changed
    }

    /// Delivers a datagram to the node that is not its sender.
    pub(crate) fn deliver(&mut self, number: usize, source: Source) -> Effect {
        let Sent {
            from, path, bytes, ..
        } = self.sent[number].clone();
        let id = 1 - from;
        let is_flooded = id == 1 && self.flood();
        let before = self.visible(id);
        let digested = bytes.clone();
        let input = Input::Datagram {
            path,
            source,
            datagram: bytes,
        };
        let outputs = self.wake(id, Wake::Input(input));
        if let [Output::Event(SessionEvent::Rejected { reason, .. })] = outputs[..] {
            self.monitor.reached.on_rejected(reason);
            if is_without_effect(reason) && !is_flooded {
                if self.visible(id) != before {
                    self.monitor.violate(Violation::RejectHadEffect);
                }
                return Effect::Nothing;
            }
        }
        self.sent[number].deliveries = self.sent[number].deliveries.saturating_add(1);
        let key = (
            "datagram",
            path.0,
            source.as_bytes(),
            &digested[..],
            self.now.0,
        );
        self.nodes[id].digest(&key);
        if outputs.contains(&Output::Authenticated { path }) {
            self.nodes[id].peer_address = source;
        }
        self.process(id, Some((number, source, before.0)), outputs);
        Effect::Changed
    }

    /// Lets the attacker exhaust the budgets of node 1; returns whether any was left.
    fn flood(&mut self) -> bool {
        let Some(mut flooder) = self.flooder.take() else {
            return false;
        };
        let decrypted = flooder.exhaust(self);
        self.flooder = Some(flooder);
        if decrypted > 0 {
            self.nodes[1].digest(&("flood", self.now.0));
        }
        decrypted > 0
    }

    /// The visible part of the state of a session.
    fn visible(&self, id: NodeId) -> (Vec<u32>, Option<Time>, usize) {
        let session = &self.nodes[id].session;
        let deadline = session.deadline().map(|due| due.at);
        (
            session.local_indices().collect(),
            deadline,
            session.buffered(),
        )
    }

    /// Wakes a session and returns its outputs.
    pub(crate) fn wake(&mut self, id: NodeId, wake: Wake<Input>) -> Vec<Output> {
        let mut outputs = Vec::new();
        let session = &mut self.nodes[id].session;
        step(session, self.now, wake, &mut |output| outputs.push(output));
        outputs
    }

    /// Records what a node has sent and has the monitor check all outputs. `cause` is the datagram
    /// that led to them, its source, and the indices of the node's keys before it.
    fn process(
        &mut self,
        id: NodeId,
        cause: Option<(usize, Source, Vec<u32>)>,
        outputs: Vec<Output>,
    ) {
        let mut new_index = None;
        let mut reply_to = self.nodes[id].peer_address;
        if let Some((number, source, before)) = cause {
            reply_to = source;
            let mut after = self.nodes[id].session.local_indices();
            new_index = after.find(|index| !before.contains(index));
            if let Some(index) = new_index {
                self.monitor.on_keys(id, index, &self.sent[number]);
            }
        }
        for output in outputs {
            let (path, bytes, destination) = match output {
                Output::Send { path, datagram, .. } => {
                    (path, datagram, self.nodes[id].peer_address)
                }
                Output::Reply { path, datagram } => (path, datagram, reply_to),
                Output::Opened { frame, .. } => {
                    self.monitor.on_opened(id, &frame);
                    continue;
                }
                Output::Event(event) => {
                    let peer_run = self.nodes[1 - id].run;
                    self.monitor.on_event(id, event, peer_run);
                    continue;
                }
                Output::Authenticated { .. } => continue,
            };
            let sent = Sent {
                from: id,
                run: self.nodes[id].run,
                path,
                bytes,
                source: self.nodes[id].source,
                destination,
                deliveries: 0,
                answered_with: new_index,
            };
            self.monitor.on_sent(&sent);
            self.sent.push(sent);
        }
    }
}

impl Node {
    /// Adds an input to the hash of all inputs.
    fn digest(&mut self, input: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        (self.inputs, input).hash(&mut hasher);
        self.inputs = hasher.finish();
    }
}

fn session(setup: &Setup, id: NodeId, run: u8, wall_clock: u64) -> Session {
    let is_passive = setup.is_passive && id == 1;
    let config = SessionConfig {
        reachable: vec![!is_passive; usize::from(setup.paths)],
        max_datagram: MAX_DATAGRAM,
        wall_clock,
        limits: setup.limits(),
        ..SessionConfig::new(KEYS[id].0.clone(), public_key(1 - id))
    };
    let name = format!("node {id} run {run}");
    let entropy = Box::new(Seed(1).stream(&name));
    if is_passive {
        Session::responder(config, entropy)
    } else {
        Session::new(config, entropy)
    }
}
