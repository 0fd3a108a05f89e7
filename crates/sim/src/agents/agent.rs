//! The interface between the network and the agents of a flow.

use std::fmt::Debug;

use dyn_clone::DynClone;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::multihomed::MultihomedFrame;
use polypath_core::time::{Duration, Time};

use super::event::{AgentEvent, Report};
use super::host::FlowHost;
use super::striped::StreamState;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::FlowCounters;
use crate::packet::{Packet, PacketKind};
use crate::percentiles::DelayHistograms;
use crate::route::{AgentEnd, Cursor, FlowEnd};
use crate::tcp::{Segment, TcpEvent};
use crate::timer::Timer;

/// Both ends of a flow.
///
/// The network wakes an agent, passes it the packets that arrive at either end, and reads its
/// counters. An agent sends, sets timers and reports events through its [`Context`].
///
/// Endless TCP and datagrams are not agents: the hot loop of the network knows their types, and
/// calls no virtual methods.
pub(crate) trait Agent: Debug + Send + DynClone {
    /// Sets the first timers.
    fn start(&mut self, context: &mut Context<'_>);

    /// Handles a timer of `end`, which an earlier one may have superseded
    /// ([`FlowHost::expires`]).
    fn wake(&mut self, end: FlowEnd, context: &mut Context<'_>);

    /// Handles a packet that arrived at `end`.
    fn receive(&mut self, end: FlowEnd, packet: &Packet, context: &mut Context<'_>);

    /// Frees the payload of a packet that a link dropped.
    fn forget(&mut self, _payload: u32) {}

    /// The number of a datagram within its flow, from 1, by its payload; 0 for other packets.
    fn datagram_number(&self, _payload: u32) -> u32 {
        0
    }

    /// Starts or stops reporting events of its TCP senders.
    fn observe(&mut self, _observed: bool) {}

    /// The totals since the start of the run.
    fn counters(&self) -> FlowCounters;

    /// Whether the flow goes over TCP.
    fn is_tcp(&self) -> bool {
        false
    }

    /// The mean congestion window of its connections in segments; `None` without one.
    fn congestion_window(&self) -> Option<f64> {
        None
    }

    /// The receiver's estimate of the round-trip time; `None` without one.
    fn receiver_rtt(&self) -> Option<Duration> {
        None
    }

    /// The state of a stream over several connections at its receiver; `None` for other flows.
    fn stream_state(&self) -> Option<StreamState> {
        None
    }
}

// Copies of a world are independent.
dyn_clone::clone_trait_object!(Agent);

/// The services of the network to an agent while it handles a timer or a packet.
pub(crate) struct Context<'a> {
    /// The time of the event.
    pub(crate) now: Time,
    /// The number of the agent.
    pub(super) number: u32,
    /// The group of flows in which its delays are measured.
    pub(super) delay_group: u32,
    pub(super) is_observed: bool,
    pub(super) fabric: &'a mut Fabric,
    pub(super) delays: &'a mut DelayHistograms,
    pub(super) reports: &'a mut Vec<Report>,
}

impl Context<'_> {
    /// Sends a packet of `size` bytes; `payload` is a number that only the agent interprets.
    pub(super) fn send(&mut self, route: Cursor, size: u32, payload: u32) {
        self.send_packet(route, size, PacketKind::Agent(payload));
    }

    /// Sends a frame of a multihomed flow of `size` bytes.
    pub(super) fn send_multihomed(&mut self, route: Cursor, size: u32, frame: MultihomedFrame) {
        self.send_packet(route, size, PacketKind::Multihomed(frame));
    }

    /// Sends a TCP segment.
    pub(super) fn send_segment(&mut self, route: Cursor, segment: Segment) {
        self.send_packet(route, segment.size, PacketKind::Segment(segment));
    }

    fn send_packet(&mut self, cursor: Cursor, size: u32, kind: PacketKind) {
        let cursor = match &kind {
            PacketKind::Segment(segment) => cursor.of_connection(segment.connection),
            _ => cursor,
        };
        let packet = Packet {
            cursor,
            size,
            sent: self.now,
            kind,
        };
        self.fabric.send(self.now, packet);
    }

    /// Sets the timer of the machine at `end` to its deadline.
    pub(super) fn rearm<M: Machine>(&mut self, end: FlowEnd, host: &mut FlowHost<M>) {
        let deadline = host.machine.deadline();
        self.arm(end, &mut host.timer, deadline);
    }

    /// Sets a timer of `end`.
    pub(super) fn arm(&mut self, end: FlowEnd, timer: &mut Timer, deadline: Option<Deadline>) {
        let event = Event::Agent(AgentEnd::new(self.number, end));
        timer.arm(deadline, &mut self.fabric.calendar, event);
    }

    /// Adds the delay of a packet to the percentiles of its group.
    pub(super) fn record_delay(&mut self, delay: Duration) {
        self.delays.record(self.delay_group, delay);
    }

    /// Reports an event, if the network is observed.
    pub(super) fn report(&mut self, event: AgentEvent) {
        if self.is_observed {
            self.reports.push(Report::Agent(self.number, event));
        }
    }

    /// Reports an event of a TCP connection of the flow, likewise.
    pub(super) fn report_tcp(&mut self, connection: u32, event: TcpEvent) {
        if self.is_observed {
            self.reports.push(Report::AgentTcp {
                agent: self.number,
                connection,
                event,
            });
        }
    }
}
