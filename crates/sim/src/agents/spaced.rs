//! Datagrams whose spacing the receiver's feedback sets (packet-spacing paper).

mod source;

use polypath_core::machine::{Machine, Wake, step};
use polypath_core::spacing::{
    Arrival, Message, ReceiverOutput, SenderInput, SenderOutput, SpacedHeader, SpacedReceiver,
};
use polypath_core::time::Time;
use polypath_scenario::network::Spaced as SpacedConfig;

use super::agent::{Agent, Context};
use super::counters::DatagramCounters;
use super::event::{AgentEvent, SpacingEvent};
use super::host::FlowHost;
use super::setup::{FlowSetup, wire_size};
use crate::flow::FlowCounters;
use crate::packet::{Packet, PacketKind};
use crate::route::FlowEnd;
use crate::slab::Slab;
pub use source::SpacedSource;

/// A sender of spaced packets and its receiver.
#[derive(Clone, Debug)]
pub(super) struct SpacedFlow {
    sender: FlowHost<SpacedSource>,
    receiver: FlowHost<SpacedReceiver>,
    sizes: Sizes,
    /// The messages in flight, indexed by the payloads of their packets.
    messages: Slab<Message>,
    counters: DatagramCounters,
}

/// Sizes on the wire in bytes.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// The size of a packet and of a ping: the base round-trip time is that of a packet.
    packet: u32,
    /// The size of a feedback and of the answer to a ping.
    feedback: u32,
}

impl SpacedFlow {
    pub(super) fn new(config: &SpacedConfig, setup: &mut FlowSetup<'_>) -> Self {
        let first = setup.round_trips[0].there.first();
        let first = first.map(|&link| &setup.graph.links[link].link);
        let sender = config.sender(first.and_then(|link| link.rate));
        let sender = sender.expect("a checked flow has a line rate");
        let source = SpacedSource::new(&sender, setup.span.start, setup.span.stop);
        let receiver = SpacedReceiver::new(config.feedback.reordering);
        let routes = setup.add_route();
        Self {
            sender: FlowHost::new(source, routes.there),
            receiver: FlowHost::new(receiver, routes.back),
            sizes: Sizes {
                packet: wire_size(config.packet),
                feedback: wire_size(config.feedback.size),
            },
            messages: Slab::default(),
            counters: DatagramCounters::default(),
        }
    }

    fn wake_sender(&mut self, wake: Wake<SenderInput>, context: &mut Context<'_>) {
        let (route, size) = (self.sender.route, self.sizes.packet);
        let (messages, counters) = (&mut self.messages, &mut self.counters);
        let source = &mut self.sender.machine;
        step(source, context.now, wake, &mut |output| match output {
            SenderOutput::Transmit(header) => {
                counters.count_sent(context.now);
                context.send(route, size, messages.put(Message::Packet(header)));
            }
            SenderOutput::Ping(sent) => {
                context.send(route, size, messages.put(Message::Ping(sent)));
            }
            SenderOutput::FeedbackApplied {
                adjustment,
                spacing,
                readings,
            } => context.report(AgentEvent::Spacing(SpacingEvent {
                adjustment,
                spacing,
                readings,
            })),
            SenderOutput::FeedbackIgnored(_) => {}
        });
        context.rearm(FlowEnd::Sender, &mut self.sender);
    }

    fn wake_receiver(&mut self, context: &mut Context<'_>) {
        let (route, size) = (self.receiver.route, self.sizes.feedback);
        let messages = &mut self.messages;
        self.receiver
            .machine
            .handle_timeout(context.now, &mut |output| {
                if let ReceiverOutput::Feedback(feedback) = output {
                    context.send(route, size, messages.put(Message::Feedback(feedback)));
                }
            });
        context.rearm(FlowEnd::Receiver, &mut self.receiver);
    }

    fn receive_packet(&mut self, header: SpacedHeader, size: u32, context: &mut Context<'_>) {
        let (now, sent) = (context.now, header.sent);
        let delay = if self.is_new(now, header) {
            self.counters.count_arrival(now, sent, size)
        } else {
            self.counters.count_duplicate(now, sent)
        };
        context.rearm(FlowEnd::Receiver, &mut self.receiver);
        context.record_delay(delay);
    }

    /// Passes a packet to the receiver; returns whether the application receives it.
    fn is_new(&mut self, now: Time, header: SpacedHeader) -> bool {
        let mut is_new = true;
        let receiver = &mut self.receiver.machine;
        receiver.handle_input(now, header, &mut |output| {
            is_new &= output != ReceiverOutput::Arrived(Arrival::Duplicate);
        });
        is_new
    }
}

impl Agent for SpacedFlow {
    fn start(&mut self, context: &mut Context<'_>) {
        context.rearm(FlowEnd::Sender, &mut self.sender);
        context.rearm(FlowEnd::Receiver, &mut self.receiver);
    }

    fn wake(&mut self, end: FlowEnd, context: &mut Context<'_>) {
        match end {
            FlowEnd::Sender if self.sender.expires(context.now) => {
                self.wake_sender(Wake::Timeout, context);
            }
            FlowEnd::Receiver if self.receiver.expires(context.now) => self.wake_receiver(context),
            FlowEnd::Sender | FlowEnd::Receiver => {}
        }
    }

    fn receive(&mut self, end: FlowEnd, packet: &Packet, context: &mut Context<'_>) {
        let PacketKind::Agent(payload) = packet.kind else {
            unreachable!("spaced flows have no TCP");
        };
        match (end, *self.messages.release(payload)) {
            (FlowEnd::Receiver, Message::Packet(header)) => {
                self.receive_packet(header, packet.size, context);
            }
            (FlowEnd::Receiver, Message::Ping(sent)) => {
                let pong = self.messages.put(Message::Pong(sent));
                context.send(self.receiver.route, self.sizes.feedback, pong);
            }
            (FlowEnd::Sender, Message::Feedback(feedback)) => {
                self.wake_sender(Wake::Input(SenderInput::Feedback(feedback)), context);
            }
            (FlowEnd::Sender, Message::Pong(sent)) => {
                self.wake_sender(Wake::Input(SenderInput::Pong(sent)), context);
            }
            (end, message) => unreachable!("no route takes {message:?} to the {end:?}"),
        }
    }

    fn forget(&mut self, payload: u32) {
        self.messages.release(payload);
    }

    fn datagram_number(&self, payload: u32) -> u32 {
        match self.messages.get(payload) {
            Message::Packet(header) => u32::try_from(header.sequence + 1).unwrap_or(u32::MAX),
            _ => 0,
        }
    }

    fn counters(&self) -> FlowCounters {
        self.counters.totals()
    }
}
