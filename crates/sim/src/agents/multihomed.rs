//! Datagrams over several routes, of which a path policy selects one (delay-centric paper).
//!
//! The receiver answers each datagram and heartbeat on the route on which it arrived.

mod source;

use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::policy::Feedback;
use polypath_core::time::Time;
use polypath_scenario::network::Multihomed as MultihomedConfig;

use super::agent::{Agent, Context};
use super::counters::DatagramCounters;
use super::event::{AgentEvent, PathChange};
use super::setup::{FlowSetup, RoutePair, wire_size};
use crate::flow::FlowCounters;
use crate::packet::{Packet, PacketKind};
use crate::route::FlowEnd;
use crate::slab::Slab;
use crate::timer::Timer;
pub use source::{MultihomedOutput, MultihomedSource};

/// A source over several routes, and the totals of its receiver.
#[derive(Clone, Debug)]
pub(super) struct MultihomedFlow {
    source: MultihomedSource,
    timer: Timer,
    routes: Vec<RoutePair>,
    sizes: Sizes,
    /// The frames in flight, indexed by the payloads of their packets.
    frames: Slab<MultihomedFrame>,
    counters: DatagramCounters,
}

/// A frame between a source and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MultihomedFrame {
    /// A datagram, by its number within its flow from 1.
    Data { path: PathId, number: u32 },
    /// The acknowledgement of a datagram that was sent at `sent`.
    Ack { path: PathId, sent: Time },
    /// A heartbeat.
    Heartbeat { path: PathId, id: u64 },
    /// The answer to a heartbeat.
    Reply { path: PathId, id: u64 },
}

/// Sizes on the wire in bytes.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    packet: u32,
    heartbeat: u32,
    /// The size of an ACK and of the answer to a heartbeat.
    ack: u32,
}

impl MultihomedFlow {
    pub(super) fn new(config: &MultihomedConfig, setup: &mut FlowSetup<'_>) -> Self {
        Self {
            source: MultihomedSource::of_flow(config, setup),
            timer: Timer::default(),
            routes: setup.add_routes(),
            sizes: Sizes {
                packet: wire_size(config.packet),
                heartbeat: wire_size(config.heartbeat.unwrap_or(config.packet)),
                ack: wire_size(config.ack),
            },
            frames: Slab::default(),
            counters: DatagramCounters::default(),
        }
    }

    fn wake_source(&mut self, wake: Wake<Feedback>, context: &mut Context<'_>) {
        let (routes, sizes) = (&self.routes, self.sizes);
        let (frames, counters) = (&mut self.frames, &mut self.counters);
        let deadline = step(
            &mut self.source,
            context.now,
            wake,
            &mut |output| match output {
                MultihomedOutput::Data(path) => {
                    counters.sent += 1;
                    let number = u32::try_from(counters.sent).unwrap_or(u32::MAX);
                    let frame = frames.put(MultihomedFrame::Data { path, number });
                    context.send(routes[path.index()].there, sizes.packet, frame);
                }
                MultihomedOutput::Heartbeat { path, id } => {
                    let frame = frames.put(MultihomedFrame::Heartbeat { path, id });
                    context.send(routes[path.index()].there, sizes.heartbeat, frame);
                }
                MultihomedOutput::Path { from, to } => {
                    context.report(AgentEvent::Path(PathChange { from, to }));
                }
            },
        );
        context.arm(FlowEnd::Sender, &mut self.timer, deadline);
    }

    fn answer(&mut self, path: PathId, answer: MultihomedFrame, context: &mut Context<'_>) {
        let frame = self.frames.put(answer);
        context.send(self.routes[path.index()].back, self.sizes.ack, frame);
    }
}

impl Agent for MultihomedFlow {
    fn start(&mut self, context: &mut Context<'_>) {
        let deadline = self.source.deadline();
        context.arm(FlowEnd::Sender, &mut self.timer, deadline);
    }

    fn wake(&mut self, _end: FlowEnd, context: &mut Context<'_>) {
        if self.timer.expires(context.now) {
            self.wake_source(Wake::Timeout, context);
        }
    }

    fn receive(&mut self, _end: FlowEnd, packet: &Packet, context: &mut Context<'_>) {
        let PacketKind::Agent(payload) = packet.kind else {
            unreachable!("multihomed flows have no TCP");
        };
        let feedback = match *self.frames.release(payload) {
            MultihomedFrame::Data { path, .. } => {
                let sent = packet.sent;
                let delay = context.now.since(sent);
                self.counters.bytes += u64::from(packet.size);
                self.counters.delays.add(delay);
                context.record_delay(delay);
                return self.answer(path, MultihomedFrame::Ack { path, sent }, context);
            }
            MultihomedFrame::Heartbeat { path, id } => {
                return self.answer(path, MultihomedFrame::Reply { path, id }, context);
            }
            MultihomedFrame::Ack { path, sent } => Feedback::Acknowledged {
                path,
                rtt: context.now.since(sent),
            },
            MultihomedFrame::Reply { path, id } => Feedback::HeartbeatReply { path, id },
        };
        self.wake_source(Wake::Input(feedback), context);
    }

    fn forget(&mut self, payload: u32) {
        self.frames.release(payload);
    }

    fn datagram_number(&self, payload: u32) -> u32 {
        match self.frames.get(payload) {
            MultihomedFrame::Data { number, .. } => *number,
            _ => 0,
        }
    }

    fn counters(&self) -> FlowCounters {
        self.counters.totals()
    }
}
