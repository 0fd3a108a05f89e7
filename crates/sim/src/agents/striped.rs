//! Streams over several connections: their sources and receivers, and what goes between them.

mod sink;
mod source;
mod subflow_receiver;
#[cfg(test)]
mod tests;

use polypath_core::machine::{Wake, step};
use polypath_core::time::{Duration, Time};

use super::event::StreamEvent;
use super::host::FlowHost;
use super::{Agents, send_segment};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::{Delays, FlowCounters};
use crate::percentiles::NO_GROUP;
use crate::route::Cursor;
use crate::tcp::{Segment, SegmentKind, TcpEvent, TcpOutput};
use crate::world::NetworkEvent;
pub use sink::{StreamState, StripedSink, StripedSinkConfig, StripedSinkOutput};
pub use source::{StripedConfig, StripedOutput, StripedSource};

/// A source and its receiver.
#[derive(Clone, Debug)]
pub(super) struct StripedFlow {
    source: FlowHost<StripedSource>,
    sink: FlowHost<StripedSink>,
    /// The group of flows in which its delays are measured.
    pub(super) group: u32,
    delays: Delays,
}

/// What happened to a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Streamed {
    /// To the sender of this connection.
    Tcp(u32, TcpEvent),
    /// To the receiver.
    Stream(StreamEvent),
}

impl Streamed {
    /// What is told of it, where the flow has this position.
    pub(crate) const fn of(self, flow: u32) -> NetworkEvent {
        match self {
            Self::Tcp(connection, event) => NetworkEvent::Tcp {
                flow,
                connection,
                event,
            },
            Self::Stream(event) => NetworkEvent::Stream { flow, event },
        }
    }
}

/// Who takes what a machine says: the flow's number, whether anybody watches, and the network.
struct Way<'a> {
    number: u32,
    observed: bool,
    fabric: &'a mut Fabric,
}

impl StripedFlow {
    pub(super) fn observe(&mut self, observed: bool) {
        self.source.machine.observe(observed);
    }

    /// The bytes that the application has got, in order.
    pub(super) fn delivered(&self) -> u64 {
        self.sink.machine.delivered()
    }

    fn wake_source(&mut self, at: Time, wake: Wake<Segment>, way: &mut Way<'_>) {
        let (route, sink) = (self.source.route, &mut self.sink.machine);
        let source = &mut self.source.machine;
        step(source, at, wake, &mut |output| match output {
            StripedOutput::Written {
                connection,
                sequence,
            } => sink.note_written(connection, sequence),
            StripedOutput::Tcp(TcpOutput::Segment(segment)) => {
                send_segment(at, route, segment, way.fabric);
            }
            StripedOutput::Tcp(TcpOutput::Event { connection, event }) if way.observed => {
                let said = Streamed::Tcp(connection, event);
                way.fabric.streams.push((way.number, said));
            }
            StripedOutput::Tcp(TcpOutput::Event { .. }) => {}
        });
        self.source
            .rearm(way.fabric, Event::StripedSource(way.number));
    }

    fn wake_sink(&mut self, at: Time, wake: Wake<Segment>, way: &mut Way<'_>) {
        let route = self.sink.route;
        let sink = &mut self.sink.machine;
        step(sink, at, wake, &mut |output| match output {
            StripedSinkOutput::Segment(segment) => send_segment(at, route, segment, way.fabric),
            StripedSinkOutput::Event(event) if way.observed => {
                way.fabric
                    .streams
                    .push((way.number, Streamed::Stream(event)));
            }
            StripedSinkOutput::Event(_) => {}
        });
        self.sink.rearm(way.fabric, Event::StripedSink(way.number));
    }
}

impl Agents {
    /// How many streams over several connections there are: the number of the next.
    pub(crate) fn next_striped(&self) -> u32 {
        u32::try_from(self.striped.len()).expect("fewer than 2^32 hosts")
    }

    /// Adds a stream over several connections; the routes lead from its source to its receiver and back.
    pub(crate) fn add_striped(
        &mut self,
        (source, sink): (StripedSource, StripedSink),
        (there, back): (Cursor, Cursor),
        fabric: &mut Fabric,
    ) {
        let number = self.next_striped();
        self.striped.push(StripedFlow {
            source: FlowHost::started(source, there, Event::StripedSource(number), fabric),
            sink: FlowHost::started(sink, back, Event::StripedSink(number), fabric),
            group: NO_GROUP,
            delays: Delays::default(),
        });
    }

    // What these flows do stays out of the loop that the others share.
    #[inline(never)]
    pub(crate) fn wake_striped_source<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        fabric: &mut Fabric,
    ) {
        let (flow, mut way) = self.striped_flow::<WATCHED>(number, fabric);
        if flow.source.timer.expires(at) {
            flow.wake_source(at, Wake::Timeout, &mut way);
        }
    }

    #[inline(never)]
    pub(crate) fn wake_striped_sink<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        fabric: &mut Fabric,
    ) {
        let (flow, mut way) = self.striped_flow::<WATCHED>(number, fabric);
        if flow.sink.timer.expires(at) {
            flow.wake_sink(at, Wake::Timeout, &mut way);
        }
    }

    /// Takes what came to the source: an ACK, or a request for a connection.
    #[inline(never)]
    pub(crate) fn take_striped_ack<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        segment: Segment,
        fabric: &mut Fabric,
    ) {
        debug_assert!(matches!(
            segment.kind,
            SegmentKind::Ack | SegmentKind::LastAck | SegmentKind::Request
        ));
        let (flow, mut way) = self.striped_flow::<WATCHED>(number, fabric);
        flow.wake_source(at, Wake::Input(segment), &mut way);
    }

    #[inline(never)]
    pub(crate) fn take_striped_data<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        (data, sent): (Segment, Time),
        fabric: &mut Fabric,
    ) {
        let delay = at.since(sent);
        let flow = &mut self.striped[number as usize];
        flow.delays.add(delay);
        self.delays.record(flow.group, delay);
        let (flow, mut way) = self.striped_flow::<WATCHED>(number, fabric);
        flow.wake_sink(at, Wake::Input(data), &mut way);
    }

    /// A flow, and what it needs of its surroundings.
    fn striped_flow<'a, const WATCHED: bool>(
        &'a mut self,
        number: u32,
        fabric: &'a mut Fabric,
    ) -> (&'a mut StripedFlow, Way<'a>) {
        let way = Way {
            number,
            observed: WATCHED && self.observed,
            fabric,
        };
        (&mut self.striped[number as usize], way)
    }

    pub(crate) fn striped_counters(&self, number: u32) -> FlowCounters {
        let flow = &self.striped[number as usize];
        FlowCounters {
            sender: flow.source.machine.stats(),
            goodput: flow.delivered(),
            delays: flow.delays,
        }
    }

    // Every flow is asked often, and streams are few.
    #[cold]
    pub(crate) fn striped_congestion_window(&self, number: u32) -> Option<f64> {
        self.striped[number as usize]
            .source
            .machine
            .congestion_window()
    }

    pub(crate) fn striped_rtt(&self, number: u32) -> Option<Duration> {
        self.striped[number as usize].sink.machine.rtt()
    }

    /// How many flows are streams over several connections.
    pub(crate) fn streams(&self) -> usize {
        self.striped.len()
    }

    pub(crate) fn stream_state(&self, number: u32) -> StreamState {
        self.striped[number as usize].sink.machine.state()
    }
}
