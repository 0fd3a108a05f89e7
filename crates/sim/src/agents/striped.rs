//! Media over several TCP connections, whose number and windows the receiver sets (`MultiTCP`
//! paper).
//!
//! The receiver requests a connection with a packet of the size of an ACK, and the sender opens it
//! with a SYN. A connection that the receiver no longer wants ends with what its window has
//! offered.

mod sink;
mod source;
mod subflow_receiver;
#[cfg(test)]
mod tests;

use polypath_core::machine::{Wake, step};
use polypath_core::time::Duration;
use polypath_scenario::network::Striped as StripedConfig;

use super::agent::{Agent, Context};
use super::event::AgentEvent;
use super::host::FlowHost;
use super::setup::FlowSetup;
use crate::flow::{Delays, FlowCounters};
use crate::packet::{Packet, PacketKind};
use crate::route::FlowEnd;
use crate::tcp::{Segment, TcpConfig, TcpOutput};
pub use sink::{StreamState, StripedSink, StripedSinkConfig, StripedSinkOutput};
pub use source::{StripedOutput, StripedSource, StripedSourceConfig};

/// A source and its receiver.
#[derive(Clone, Debug)]
pub(super) struct StripedFlow {
    source: FlowHost<StripedSource>,
    sink: FlowHost<StripedSink>,
    delays: Delays,
}

impl StripedFlow {
    pub(super) fn new(config: &StripedConfig, setup: &mut FlowSetup<'_>) -> Self {
        // The receiver requests each connection, so every connection has a set-up.
        let tcp = TcpConfig {
            syn: true,
            ..TcpConfig::from(setup.hosts)
        };
        let source = StripedSource::of_flow(config, tcp, setup);
        let sink = StripedSink::of_flow(config, tcp, setup);
        let routes = setup.add_route();
        Self {
            source: FlowHost::new(source, routes.there),
            sink: FlowHost::new(sink, routes.back),
            delays: Delays::default(),
        }
    }

    fn wake_source(&mut self, wake: Wake<Segment>, context: &mut Context<'_>) {
        let (route, sink) = (self.source.route, &mut self.sink.machine);
        let source = &mut self.source.machine;
        step(source, context.now, wake, &mut |output| match output {
            StripedOutput::Written {
                connection,
                sequence,
            } => sink.note_written(connection, sequence),
            StripedOutput::Tcp(TcpOutput::Segment(segment)) => context.send_segment(route, segment),
            StripedOutput::Tcp(TcpOutput::Event { connection, event }) => {
                context.report_tcp(connection, event);
            }
        });
        context.rearm(FlowEnd::Sender, &mut self.source);
    }

    fn wake_sink(&mut self, wake: Wake<Segment>, context: &mut Context<'_>) {
        let route = self.sink.route;
        let sink = &mut self.sink.machine;
        step(sink, context.now, wake, &mut |output| match output {
            StripedSinkOutput::Segment(segment) => context.send_segment(route, segment),
            StripedSinkOutput::Event(event) => context.report(AgentEvent::Stream(event)),
        });
        context.rearm(FlowEnd::Receiver, &mut self.sink);
    }
}

impl Agent for StripedFlow {
    fn start(&mut self, context: &mut Context<'_>) {
        context.rearm(FlowEnd::Sender, &mut self.source);
        context.rearm(FlowEnd::Receiver, &mut self.sink);
    }

    fn wake(&mut self, end: FlowEnd, context: &mut Context<'_>) {
        match end {
            FlowEnd::Sender if self.source.expires(context.now) => {
                self.wake_source(Wake::Timeout, context);
            }
            FlowEnd::Receiver if self.sink.expires(context.now) => {
                self.wake_sink(Wake::Timeout, context);
            }
            FlowEnd::Sender | FlowEnd::Receiver => {}
        }
    }

    fn receive(&mut self, end: FlowEnd, packet: &Packet, context: &mut Context<'_>) {
        let PacketKind::Segment(segment) = packet.kind else {
            unreachable!("a striped flow sends segments");
        };
        match end {
            FlowEnd::Sender => self.wake_source(Wake::Input(segment), context),
            FlowEnd::Receiver => {
                let delay = context.now.since(packet.sent);
                self.delays.add(delay);
                context.record_delay(delay);
                self.wake_sink(Wake::Input(segment), context);
            }
        }
    }

    fn observe(&mut self, observed: bool) {
        self.source.machine.observe(observed);
    }

    fn counters(&self) -> FlowCounters {
        FlowCounters {
            sender: self.source.machine.stats(),
            goodput: self.sink.machine.delivered(),
            delays: self.delays,
            ..FlowCounters::default()
        }
    }

    fn is_tcp(&self) -> bool {
        true
    }

    fn congestion_window(&self) -> Option<f64> {
        self.source.machine.congestion_window()
    }

    fn receiver_rtt(&self) -> Option<Duration> {
        self.sink.machine.rtt()
    }

    fn stream_state(&self) -> Option<StreamState> {
        Some(self.sink.machine.state())
    }
}
