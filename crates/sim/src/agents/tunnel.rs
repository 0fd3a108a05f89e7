//! Datagrams through the tunnel of two nodes: an endpoint of the overlay at each end of the flow,
//! the same machine as in a deployed node.

use polypath_core::cbr::Cbr;
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output};
use polypath_core::frame::{Attempt, Body, Encapsulation, Frame, PathId, Payload};
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::{PacketFields, PacketMeta};
use polypath_core::time::Time;
use polypath_scenario::network::Tunnel as TunnelConfig;

use super::agent::{Agent, Context};
use super::counters::DatagramCounters;
use super::event::{AgentEvent, PathChange};
use super::setup::{FlowSetup, RoutePair, Span, wire_size};
use crate::flow::FlowCounters;
use crate::packet::{Packet, PacketKind};
use crate::route::FlowEnd;
use crate::slab::Slab;
use crate::timer::Timer;

/// Two nodes, and the application that sends datagrams at the first.
#[derive(Clone, Debug)]
pub(super) struct TunnelFlow {
    source: Source,
    sender: Node,
    receiver: Node,
    /// The routes of the paths, in the order of the file.
    routes: Vec<RoutePair>,
    choice: PathChoice,
    encapsulation: Encapsulation,
    /// The frames in flight, indexed by the payloads of their packets.
    frames: Slab<Option<Frame<Datagram>>>,
    counters: DatagramCounters,
}

/// An endpoint and its timer.
#[derive(Clone, Debug)]
struct Node {
    endpoint: Endpoint<Datagram>,
    timer: Timer,
    /// The outputs of a wake; empty between wakes.
    outputs: Vec<Output<Datagram>>,
}

/// A datagram of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    /// From 1.
    number: u32,
    /// The length of the IP packet in bytes.
    len: u32,
    /// The time at which the application sent it.
    sent: Time,
}

/// The times of the datagrams.
#[derive(Clone, Debug)]
struct Source {
    next: Time,
    stop: Time,
    intervals: Cbr,
    len: u32,
    /// The number of datagrams sent.
    sent: u32,
}

/// The path of the datagrams, by the first copy of the last one.
#[derive(Clone, Copy, Debug, Default)]
struct PathChoice {
    /// The position in the file of the route that is path 0.
    first: u8,
    last: Option<(u64, PathId)>,
    /// Whether every path carries every datagram, so that nothing is chosen.
    copies_all: bool,
}

impl Datagram {
    /// The view of a path policy.
    const fn meta(self) -> PacketMeta {
        PacketMeta::udp(self.len)
    }
}

impl Payload for Datagram {
    fn len(&self) -> usize {
        self.len as usize
    }

    fn fields(&self) -> Option<PacketFields> {
        Some(self.meta().fields())
    }
}

impl Source {
    /// The next datagram, if it is due at `now`.
    fn take(&mut self, now: Time) -> Option<Datagram> {
        if self.next > now || self.next >= self.stop {
            return None;
        }
        let sent = self.next;
        self.next += self.intervals.interval();
        self.sent = self.sent.saturating_add(1);
        Some(Datagram {
            number: self.sent,
            len: self.len,
            sent,
        })
    }

    fn deadline(&self) -> Option<Deadline> {
        (self.next < self.stop).then_some(Deadline {
            at: self.next,
            why: "next datagram",
        })
    }
}

impl PathChoice {
    /// The route of a path.
    const fn route(self, path: PathId, routes: usize) -> usize {
        (path.index() + self.first as usize) % routes
    }

    /// Takes note of the first transmission of a datagram; datagrams leave in their order, since only
    /// bulk waits, and a tunnel carries none. Returns the change of the path if its datagram leaves on another
    /// one than the last.
    fn observe(&mut self, sequence: u64, path: PathId) -> Option<(Option<PathId>, PathId)> {
        let before = self.last;
        if self.copies_all || before.is_some_and(|(last, _)| last == sequence) {
            return None;
        }
        self.last = Some((sequence, path));
        let from = before.map(|(_, path)| path);
        (from != Some(path)).then_some((from, path))
    }
}

impl Node {
    fn new(config: &EndpointConfig) -> Self {
        Self {
            endpoint: Endpoint::new(config).expect("a checked tunnel has valid endpoints"),
            timer: Timer::default(),
            outputs: Vec::new(),
        }
    }

    fn wake(&mut self, now: Time, wake: Wake<Input<Datagram>>) {
        let outputs = &mut self.outputs;
        step(&mut self.endpoint, now, wake, &mut |output| {
            outputs.push(output);
        });
    }
}

impl TunnelFlow {
    pub(super) fn new(config: &TunnelConfig, setup: &mut FlowSetup<'_>) -> Self {
        let Span { start, stop } = setup.span;
        let endpoint = |side: &str| EndpointConfig {
            seed: setup.seed.child(&format!("flow/{}/{side}", setup.name)),
            ..config.endpoint()
        };
        let (sender, receiver) = (endpoint("sender"), endpoint("receiver"));
        let first = config
            .first
            .draw(sender.paths, || setup.stream("first-way"));
        Self {
            source: Source {
                next: start,
                stop,
                intervals: config.intervals(setup.stream("traffic")),
                len: wire_size(config.packet),
                sent: 0,
            },
            encapsulation: sender.encapsulation,
            sender: Node::new(&sender),
            receiver: Node::new(&receiver),
            routes: setup.add_routes(),
            choice: PathChoice {
                first: first.0,
                last: None,
                copies_all: sender.policy.copies_all(),
            },
            frames: Slab::default(),
            counters: DatagramCounters::of(setup.due),
        }
    }

    /// Handles the outputs of the node at `end`, and sets its timer.
    fn settle(&mut self, end: FlowEnd, context: &mut Context<'_>) {
        let mut outputs = std::mem::take(&mut self.node(end).outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Transmit(frame) => self.send(end, frame, context),
                Output::Deliver(datagram) => self.deliver(datagram, context),
                // Simulated links carry frames of any length, so endpoints refuse none.
                Output::Event(_) | Output::Refused { .. } => {}
            }
        }
        self.node(end).outputs = outputs;
        self.arm(end, context);
    }

    fn arm(&mut self, end: FlowEnd, context: &mut Context<'_>) {
        let of_source = match end {
            FlowEnd::Sender => self.source.deadline(),
            FlowEnd::Receiver => None,
        };
        let node = self.node(end);
        let deadline = Deadline::earlier(node.endpoint.deadline(), of_source);
        context.arm(end, &mut node.timer, deadline);
    }

    const fn node(&mut self, end: FlowEnd) -> &mut Node {
        match end {
            FlowEnd::Sender => &mut self.sender,
            FlowEnd::Receiver => &mut self.receiver,
        }
    }

    fn send(&mut self, end: FlowEnd, frame: Frame<Datagram>, context: &mut Context<'_>) {
        let (path, routes) = (frame.path, self.routes.len());
        let route = self.routes[self.choice.route(path, routes)];
        let cursor = match end {
            FlowEnd::Sender => {
                self.count(&frame, context);
                route.there
            }
            FlowEnd::Receiver => route.back,
        };
        let size = self.encapsulation.size(&frame.body);
        self.counters.wire_bytes += u64::from(size);
        context.send(cursor, size, self.frames.put(Some(frame)));
    }

    /// Counts a frame of the sender, and reports another path of its datagrams.
    fn count(&mut self, frame: &Frame<Datagram>, context: &mut Context<'_>) {
        match frame.body {
            Body::Data(_)
            | Body::Reported {
                attempt: Attempt::First,
                ..
            } => {
                if let Some((from, to)) = self.choice.observe(frame.sequence, frame.path) {
                    let routes = self.routes.len();
                    let route = |path| {
                        let position = self.choice.route(path, routes);
                        PathId(u8::try_from(position).unwrap_or(u8::MAX))
                    };
                    let (from, to) = (from.map(route), route(to));
                    context.report(AgentEvent::Path(PathChange { from, to }));
                }
            }
            Body::Heartbeat(_) => self.counters.heartbeats += 1,
            _ => {}
        }
    }

    fn deliver(&mut self, datagram: Datagram, context: &mut Context<'_>) {
        let Datagram { sent, len, .. } = datagram;
        let delay = self.counters.count_arrival(context.now, sent, len);
        context.record_delay(delay);
    }
}

impl Agent for TunnelFlow {
    fn start(&mut self, context: &mut Context<'_>) {
        self.arm(FlowEnd::Sender, context);
        self.arm(FlowEnd::Receiver, context);
    }

    /// The endpoint first, then the datagrams of the same time.
    fn wake(&mut self, end: FlowEnd, context: &mut Context<'_>) {
        let now = context.now;
        if !self.node(end).timer.expires(now) {
            return;
        }
        let node = self.node(end);
        if node.endpoint.deadline().is_some_and(|due| due.at <= now) {
            node.wake(now, Wake::Timeout);
            let next = node.endpoint.deadline();
            debug_assert!(next.is_none_or(|due| due.at > now), "{next:?} at {now}");
        }
        if end == FlowEnd::Sender {
            while let Some(payload) = self.source.take(now) {
                self.counters.count_sent(now);
                let meta = payload.meta();
                let input = Input::Packet { meta, payload };
                self.sender.wake(now, Wake::Input(input));
            }
        }
        self.settle(end, context);
    }

    fn receive(&mut self, end: FlowEnd, packet: &Packet, context: &mut Context<'_>) {
        let PacketKind::Agent(payload) = packet.kind else {
            unreachable!("tunnels send only their frames");
        };
        let Some(frame) = self.frames.take(payload) else {
            unreachable!("a frame arrives once");
        };
        let input = Input::Frame(frame);
        self.node(end).wake(context.now, Wake::Input(input));
        self.settle(end, context);
    }

    fn forget(&mut self, payload: u32) {
        self.frames.take(payload);
    }

    fn datagram_number(&self, payload: u32) -> u32 {
        let frame = self.frames.get(payload).as_ref();
        let datagram = frame.and_then(|frame| match &frame.body {
            Body::Data(datagram)
            | Body::Reported {
                payload: datagram, ..
            }
            | Body::Fragment {
                payload: datagram, ..
            } => Some(datagram),
            _ => None,
        });
        datagram.map_or(0, |datagram| datagram.number)
    }

    fn counters(&self) -> FlowCounters {
        self.counters.totals()
    }
}
