//! Datagrams over several routes, of which a path policy selects one (delay-centric paper).
//!
//! The receiver answers each datagram and heartbeat on the route on which it arrived.

use polypath_core::machine::{Machine, Wake, step};
use polypath_core::multihomed::{MultihomedFrame, MultihomedOutput, MultihomedSource};
use polypath_core::policy::Feedback;
use polypath_scenario::network::Multihomed as MultihomedConfig;
use smallvec::SmallVec;

use super::agent::{Agent, Context};
use super::counters::DatagramCounters;
use super::event::{AgentEvent, PathChange};
use super::setup::{FlowSetup, RoutePair, Span, wire_size};
use crate::flow::FlowCounters;
use crate::packet::{Packet, PacketKind};
use crate::route::FlowEnd;
use crate::timer::Timer;

/// A source over several routes, and the totals of its receiver.
#[derive(Clone, Debug)]
pub(crate) struct MultihomedFlow {
    source: MultihomedSource,
    timer: Timer,
    routes: SmallVec<[RoutePair; 2]>,
    sizes: Sizes,
    counters: DatagramCounters,
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
        let Span { start, stop } = setup.span;
        Self {
            source: config.source(start, stop, |part| setup.stream(part)),
            timer: Timer::default(),
            routes: setup.add_routes().into_iter().collect(),
            sizes: Sizes {
                packet: wire_size(config.packet),
                heartbeat: wire_size(config.heartbeat_size()),
                ack: wire_size(config.ack),
            },
            counters: DatagramCounters::of(setup.due),
        }
    }

    fn wake_source(&mut self, wake: Wake<Feedback>, context: &mut Context<'_>) {
        let (routes, sizes) = (&self.routes, self.sizes);
        let counters = &mut self.counters;
        let deadline = step(
            &mut self.source,
            context.now,
            wake,
            &mut |output| match output {
                MultihomedOutput::Send(frame) => {
                    let is_data = matches!(frame, MultihomedFrame::Data { .. });
                    if is_data {
                        counters.count_sent(context.now);
                    }
                    counters.heartbeats += u64::from(!is_data);
                    let (route, size) = (routes[frame.path().index()].there, sizes.of(frame));
                    counters.wire_bytes += u64::from(size);
                    context.send_multihomed(route, size, frame);
                }
                MultihomedOutput::Path { from, to } => {
                    context.report(AgentEvent::Path(PathChange { from, to }));
                }
            },
        );
        context.arm(FlowEnd::Sender, &mut self.timer, deadline);
    }

    /// Handles a frame at the receiver.
    fn answer(&mut self, frame: MultihomedFrame, size: u32, context: &mut Context<'_>) {
        if let MultihomedFrame::Data { sent, .. } = frame {
            let delay = self.counters.count_arrival(context.now, sent, size);
            context.record_delay(delay);
        }
        if let Some(answer) = frame.answer(context.now) {
            let (route, size) = (self.routes[answer.path().index()].back, self.sizes.ack);
            self.counters.wire_bytes += u64::from(size);
            context.send_multihomed(route, size, answer);
        }
    }
}

impl Sizes {
    const fn of(self, frame: MultihomedFrame) -> u32 {
        match frame {
            MultihomedFrame::Data { .. } => self.packet,
            MultihomedFrame::Heartbeat { .. } => self.heartbeat,
            MultihomedFrame::Ack { .. } | MultihomedFrame::Reply { .. } => self.ack,
        }
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
        let PacketKind::Multihomed(frame) = packet.kind else {
            unreachable!("multihomed flows send only their frames");
        };
        match frame.feedback(context.now) {
            Some(feedback) => self.wake_source(Wake::Input(feedback), context),
            None => self.answer(frame, packet.size, context),
        }
    }

    fn counters(&self) -> FlowCounters {
        self.counters.totals()
    }
}
