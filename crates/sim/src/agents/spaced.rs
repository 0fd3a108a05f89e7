//! Spaced packets: their sources and receivers, and what goes between them.

mod source;

use polypath_core::machine::{Machine, Wake, step};
use polypath_core::spacing::{
    Arrival, FeedbackCounts, Message, ReceiverOutput, SenderInput, SenderOutput, SpacedHeader,
    SpacedReceiver, SpacingChange,
};
use polypath_core::time::{Duration, Time};

use super::{Agents, DatagramSink, Host};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::packet::{Packet, PacketKind};
use crate::percentiles::NO_GROUP;
use crate::route::Cursor;
use crate::slab::Slab;
pub use source::SpacedSource;

/// A source of spaced packets and its receiver.
#[derive(Clone, Debug)]
pub(super) struct Spaced {
    source: Host<SpacedSource>,
    receiver: Host<SpacedReceiver>,
    sizes: SpacedSizes,
    pub(super) sink: DatagramSink,
}

/// Sizes on the wire in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpacedSizes {
    pub(crate) packet: u32,
    /// Of a feedback and of the answer to a ping, which has the size of a packet: the base round-trip time is that of
    /// a packet.
    pub(crate) feedback: u32,
}

/// The spaced flows, and their messages under way.
#[derive(Clone, Debug, Default)]
pub(super) struct SpacedFlows {
    pub(super) flows: Vec<Spaced>,
    under_way: Slab<Message>,
}

/// What a feedback did to the spacing of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpacingEvent {
    /// What became of the spacing.
    pub adjustment: SpacingChange,
    /// The spacing from now on.
    pub spacing: Duration,
    /// The packets sent and received, in both readings.
    pub readings: FeedbackCounts,
}

impl Agents {
    /// How many sources of spaced packets there are: the number of the next.
    pub(crate) fn next_spaced(&self) -> u32 {
        u32::try_from(self.spaced.flows.len()).expect("fewer than 2^32 hosts")
    }

    /// Adds a source of spaced packets and its receiver; the routes lead from one to the other and back.
    pub(crate) fn add_spaced(
        &mut self,
        (source, receiver): (SpacedSource, SpacedReceiver),
        sizes: SpacedSizes,
        (there, back): (Cursor, Cursor),
        fabric: &mut Fabric,
    ) {
        let number = self.next_spaced();
        self.spaced.flows.push(Spaced {
            source: Host::new(source, there, Event::SpacedSource(number), fabric),
            receiver: Host::new(receiver, back, Event::SpacedReceiver(number), fabric),
            sizes,
            sink: DatagramSink::new(NO_GROUP),
        });
    }

    // What spaced flows do stays out of the loop that the others share.
    #[inline(never)]
    pub(crate) fn wake_spaced_source<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        fabric: &mut Fabric,
    ) {
        let SpacedFlows { flows, under_way } = &mut self.spaced;
        let flow = &mut flows[number as usize];
        if flow.source.timer.expires(at) {
            let mut way = Way { fabric, under_way };
            let observed = WATCHED && self.observed;
            flow.wake_source(at, number, Wake::Timeout, (observed, &mut way));
        }
    }

    #[inline(never)]
    pub(crate) fn wake_spaced_receiver(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let SpacedFlows { flows, under_way } = &mut self.spaced;
        let flow = &mut flows[number as usize];
        if !flow.receiver.timer.expires(at) {
            return;
        }
        let mut way = Way { fabric, under_way };
        let (cursor, size) = (flow.receiver.route, flow.sizes.feedback);
        flow.receiver.machine.handle_timeout(at, &mut |output| {
            if let ReceiverOutput::Feedback(feedback) = output {
                way.send(at, cursor, size, Message::Feedback(feedback));
            }
        });
        flow.receiver.rearm(number, fabric, Event::SpacedReceiver);
    }

    /// Takes what came to the receiver of a spaced flow: a packet or a ping.
    #[inline(never)]
    pub(crate) fn take_spaced(
        &mut self,
        at: Time,
        number: u32,
        (message, size): (u32, u32),
        fabric: &mut Fabric,
    ) {
        let SpacedFlows { flows, under_way } = &mut self.spaced;
        let flow = &mut flows[number as usize];
        match *under_way.release(message) {
            Message::Packet(header) => {
                if flow.receive(at, header) {
                    flow.sink.bytes += u64::from(size);
                }
                flow.receiver.rearm(number, fabric, Event::SpacedReceiver);
                let delay = at.since(header.sent);
                flow.sink.delays.add(delay);
                self.delays.record(flow.sink.group, delay);
            }
            Message::Ping(sent) => {
                let (cursor, size) = (flow.receiver.route, flow.sizes.feedback);
                Way { fabric, under_way }.send(at, cursor, size, Message::Pong(sent));
            }
            Message::Feedback(_) | Message::Pong(_) => unreachable!("it goes to the source"),
        }
    }

    /// Takes what came to the source of a spaced flow: feedback, or the answer to its ping.
    #[inline(never)]
    pub(crate) fn take_feedback<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        message: u32,
        fabric: &mut Fabric,
    ) {
        let SpacedFlows { flows, under_way } = &mut self.spaced;
        let input = match *under_way.release(message) {
            Message::Feedback(feedback) => SenderInput::Feedback(feedback),
            Message::Pong(sent) => SenderInput::Pong(sent),
            Message::Packet(_) | Message::Ping(_) => unreachable!("it goes to the receiver"),
        };
        let observed = WATCHED && self.observed;
        let mut way = Way { fabric, under_way };
        let flow = &mut flows[number as usize];
        flow.wake_source(at, number, Wake::Input(input), (observed, &mut way));
    }

    /// Forgets a message that a link dropped.
    #[inline(never)]
    pub(crate) fn lose_spaced(&mut self, message: u32) {
        self.spaced.under_way.release(message);
    }

    /// The number of a message under way, if it is a packet, within its flow from 1; else 0.
    pub(crate) fn spaced_number(&self, message: u32) -> u32 {
        match self.spaced.under_way.get(message) {
            Message::Packet(header) => u32::try_from(header.sequence + 1).unwrap_or(u32::MAX),
            _ => 0,
        }
    }
}

/// Where messages go.
struct Way<'a> {
    fabric: &'a mut Fabric,
    under_way: &'a mut Slab<Message>,
}

impl Way<'_> {
    fn send(&mut self, sent: Time, cursor: Cursor, size: u32, message: Message) {
        let packet = Packet {
            cursor,
            size,
            sent,
            kind: PacketKind::Spaced(self.under_way.put(message)),
        };
        self.fabric.send(sent, packet);
    }
}

impl Spaced {
    fn wake_source(
        &mut self,
        at: Time,
        number: u32,
        wake: Wake<SenderInput>,
        (observed, way): (bool, &mut Way<'_>),
    ) {
        let (cursor, sizes, sink) = (self.source.route, self.sizes, &mut self.sink);
        let source = &mut self.source.machine;
        step(source, at, wake, &mut |output| match output {
            SenderOutput::Transmit(header) => {
                sink.sent += 1;
                way.send(at, cursor, sizes.packet, Message::Packet(header));
            }
            SenderOutput::Ping(sent) => {
                way.send(at, cursor, sizes.packet, Message::Ping(sent));
            }
            SenderOutput::FeedbackApplied {
                adjustment,
                spacing,
                readings,
            } if observed => {
                let event = SpacingEvent {
                    adjustment,
                    spacing,
                    readings,
                };
                way.fabric.spacings.push((number, event));
            }
            SenderOutput::FeedbackApplied { .. } | SenderOutput::FeedbackIgnored(_) => {}
        });
        self.source.rearm(number, way.fabric, Event::SpacedSource);
    }

    /// Whether the application gets what came.
    fn receive(&mut self, at: Time, header: SpacedHeader) -> bool {
        let mut fresh = true;
        let receiver = &mut self.receiver.machine;
        receiver.handle_input(at, header, &mut |output| {
            fresh &= output != ReceiverOutput::Arrived(Arrival::Duplicate);
        });
        fresh
    }
}
