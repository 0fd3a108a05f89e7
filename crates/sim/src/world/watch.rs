//! Watching a network: the events of its packets and flows.
//!
//! A watched network has its own event loop and its own code for the flows, so that watching costs
//! nothing where it is not used.

use polypath_core::frame::Payload;
use polypath_core::multihomed::MultihomedFrame;
use polypath_core::time::Time;
use polypath_link::DropReason;

use super::{LinkId, World};
use crate::agents::AgentEvent;
use crate::agents::event::Report;
use crate::event::Event;
use crate::flow::FlowKind;
use crate::packet::{Packet, PacketKind};
use crate::route::{FlowEnd, Terminal};
use crate::tcp::{Segment, SegmentKind, TcpEvent};

/// The events that are reported in addition to the progress. If either is selected, dropped packets
/// are reported too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// The events of TCP senders and receivers, and of agents.
    pub flow_events: bool,
    /// Every packet at the end of every link.
    pub packets: bool,
}

impl Detail {
    /// Whether anything is reported.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.flow_events || self.packets
    }

    /// The events that either of two observers wants.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            flow_events: self.flow_events || other.flow_events,
            packets: self.packets || other.packets,
        }
    }
}

/// An event in a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NetworkEvent {
    /// The last bit of a packet arrived at the far end of a link.
    Arrived {
        /// The link.
        link: LinkId,
        /// The packet, with its ECN field as it arrived.
        packet: FlowPacket,
    },
    /// A link dropped a packet; reported when its fate is decided, even if it is lost on the wire
    /// later.
    Dropped {
        /// The link.
        link: LinkId,
        /// The cause.
        reason: DropReason,
        /// The packet.
        packet: FlowPacket,
    },
    /// An event of a TCP sender or receiver.
    Tcp {
        /// The flow, by its position in [`World::flows`].
        flow: u32,
        /// The connection of the flow, from 1.
        connection: u32,
        /// The event.
        event: TcpEvent,
    },
    /// An event of an agent.
    Agent {
        /// The flow, by its position in [`World::flows`].
        flow: u32,
        /// The event.
        event: AgentEvent,
    },
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPacket {
    /// The flow, by its position in [`World::flows`].
    pub flow: u32,
    /// The size on the wire in bytes.
    pub size: u32,
    /// The time at which it left its sender.
    pub sent: Time,
    /// The number of a segment, or of a datagram within its flow, from 1; 0 for feedback
    /// and heartbeats.
    pub number: u32,
    /// The segment; `None` for a datagram.
    pub segment: Option<Segment>,
    /// Whether it travels from the receiver to the sender.
    pub back: bool,
}

/// The positions of the flows by kind, and the detail that is reported.
#[derive(Clone, Debug)]
pub(crate) struct FlowIndex {
    detail: Detail,
    tcp: Vec<u32>,
    datagrams: Vec<u32>,
    agents: Vec<u32>,
}

impl FlowIndex {
    fn flow_to(&self, end: Terminal) -> Option<u32> {
        let known = match end {
            Terminal::Source(number) | Terminal::Sink(number) => self.tcp.get(number as usize),
            Terminal::DatagramSink(number) => self.datagrams.get(number as usize),
            Terminal::Agent(end) => self.agents.get(end.agent() as usize),
            Terminal::Port(_) => None,
        };
        known.copied()
    }

    /// The event of a report, with the position of its flow.
    fn event(&self, report: Report) -> NetworkEvent {
        match report {
            Report::Agent(agent, event) => NetworkEvent::Agent {
                flow: self.agents[agent as usize],
                event,
            },
            Report::AgentTcp {
                agent,
                connection,
                event,
            } => NetworkEvent::Tcp {
                flow: self.agents[agent as usize],
                connection,
                event,
            },
            Report::Tcp {
                flow,
                connection,
                event,
            } => NetworkEvent::Tcp {
                flow: self.tcp[flow as usize],
                connection,
                event,
            },
        }
    }
}

/// Receives the events of a network.
pub(crate) type EventSink<'a> = dyn FnMut(Time, &NetworkEvent) + 'a;

impl<X: Payload> World<X> {
    /// Starts observing; `None` if nothing is to be reported.
    pub(crate) fn watch(&mut self, detail: Detail) -> Option<FlowIndex> {
        self.agents.observe(detail.flow_events);
        let mut index = FlowIndex {
            detail,
            tcp: Vec::new(),
            datagrams: Vec::new(),
            agents: Vec::new(),
        };
        // Each kind is numbered in the order of the flows.
        for (flow, position) in self.names.flows.iter().zip(0..) {
            match flow.kind {
                FlowKind::Tcp(_) => index.tcp.push(position),
                FlowKind::Datagrams(_) => index.datagrams.push(position),
                FlowKind::Agent(_) => index.agents.push(position),
            }
        }
        detail.is_some().then_some(index)
    }

    /// Handles all events that are due at `until` or before, and reports them.
    pub(crate) fn run_watched(&mut self, until: Time, index: &FlowIndex, out: &mut EventSink<'_>) {
        while let Some(entry) = self.fabric.calendar.pop_until(until) {
            if let Event::Arrival(packet) = entry.item
                && index.detail.packets
            {
                self.report_arrival(entry.at, packet, index, out);
            }
            self.dispatch::<true>(entry.at, entry.item, &mut |_| {});
            self.report_events(entry.at, index, out);
            self.settle_lost(entry.at, &mut |_| {});
            if self.holds_too_much(entry.at) {
                break;
            }
        }
        self.next_event = self.fabric.calendar.next_at();
    }

    fn report_arrival(&self, at: Time, number: u32, index: &FlowIndex, out: &mut EventSink<'_>) {
        let packet = self.fabric.in_flight(number);
        let link = self.fabric.routes.last_link(packet.cursor);
        if let (Some(link), Some(packet)) = (link, self.describe(packet, index)) {
            let link = LinkId(link);
            out(at, &NetworkEvent::Arrived { link, packet });
        }
    }

    fn report_events(&mut self, at: Time, index: &FlowIndex, out: &mut EventSink<'_>) {
        for report in self.agents.take_reports() {
            out(at, &index.event(report));
        }
        for lost in self.fabric.lost() {
            let (link, reason) = (LinkId(lost.link), lost.reason);
            if let Some(packet) = self.describe(&lost.packet, index) {
                let event = NetworkEvent::Dropped {
                    link,
                    reason,
                    packet,
                };
                out(at, &event);
            }
        }
    }

    fn describe(&self, packet: &Packet, index: &FlowIndex) -> Option<FlowPacket> {
        let end = self.fabric.routes.end(packet.cursor);
        let (number, segment) = match packet.kind {
            // The receiver of a stream requests a connection, which starts with the sender's SYN.
            PacketKind::Segment(segment) if segment.kind == SegmentKind::Request => (0, None),
            PacketKind::Segment(segment) => (segment.number, Some(segment)),
            PacketKind::Datagram(number)
            | PacketKind::Multihomed(MultihomedFrame::Data { number, .. }) => (number, None),
            PacketKind::Multihomed(_) => (0, None),
            PacketKind::Agent(payload) => match end {
                Terminal::Agent(end) => {
                    let agent = self.agents.agent(end.agent());
                    (agent.datagram_number(payload), None)
                }
                _ => return None,
            },
            PacketKind::External(..) => return None,
        };
        Some(FlowPacket {
            flow: index.flow_to(end)?,
            size: packet.size,
            sent: packet.sent,
            number,
            segment,
            back: match end {
                Terminal::Source(_) => true,
                Terminal::Agent(end) => end.end() == FlowEnd::Sender,
                _ => false,
            },
        })
    }
}
