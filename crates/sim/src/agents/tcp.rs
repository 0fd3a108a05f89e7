//! TCP flows: a source with one connection or one after another, and its sink.
//!
//! They stand in typed arrays, as most simulations consist of them.

mod bulk;
mod files;
mod sessions;
mod sink;
mod source;
#[cfg(test)]
mod stopping;

use polypath_core::machine::Machine;
use polypath_core::time::{Duration, Time};

use super::event::Report;
use super::host::{FlowHost, send_segment};
use super::setup::RoutePair;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::{FlowCounters, SpanFiles};
use crate::route::Cursor;
use crate::tcp::{Receiver, Segment, TcpConfig, TcpOutput};
pub use bulk::Bulk;
pub use sessions::{SessionConfig, Sessions};
use sink::{Sink, WindowChange};
pub use source::TcpSource;

/// The TCP flows of a network, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpFlows {
    sources: Vec<FlowHost<TcpSource>>,
    sinks: Vec<Sink>,
    /// The scheduled changes of receiver windows, by their numbers.
    window_changes: Vec<WindowChange>,
    /// Events that no observer has taken yet.
    reports: Vec<Report>,
    is_observed: bool,
}

impl TcpFlows {
    /// The number of the next flow.
    pub(crate) fn next_number(&self) -> u32 {
        u32::try_from(self.sources.len()).expect("fewer than 2^32 flows")
    }

    /// Adds a source and its sink.
    pub(crate) fn add(
        &mut self,
        source: TcpSource,
        tcp: &TcpConfig,
        routes: RoutePair,
        fabric: &mut Fabric,
    ) {
        let number = self.next_number();
        let source = FlowHost::started(source, routes.there, Event::Source(number), fabric);
        self.sources.push(source);
        let receiver = Receiver::new(tcp);
        let sink = FlowHost::started(receiver, routes.back, Event::Sink(number), fabric);
        self.sinks.push(Sink::new(sink, tcp));
    }

    /// Starts or stops reporting events of the flows.
    pub(super) fn observe(&mut self, observed: bool) {
        self.is_observed = observed;
        for source in &mut self.sources {
            source.machine.observe(observed);
        }
    }

    /// The events since the last call.
    pub(super) fn take_reports(&mut self) -> impl Iterator<Item = Report> {
        self.reports.drain(..)
    }

    /// Measures the delays of a flow in a group.
    pub(super) fn set_delay_group(&mut self, number: u32, group: u32) {
        self.sinks[number as usize].delivered.group = group;
    }

    /// Discards the files of the warm-up.
    pub(super) fn begin_measuring(&mut self) {
        for source in &mut self.sources {
            source.machine.take_finished();
        }
    }

    /// The bytes that all sinks have delivered.
    pub(super) fn delivered(&self) -> u64 {
        self.sinks.iter().map(|sink| sink.delivered.bytes).sum()
    }

    /// The totals of a flow.
    pub(crate) fn counters(&self, number: u32) -> FlowCounters {
        let delivered = &self.sinks[number as usize].delivered;
        FlowCounters {
            sender: self.sources[number as usize].machine.stats(),
            goodput: delivered.bytes,
            delays: delivered.delays,
            ..FlowCounters::default()
        }
    }

    /// The files of a flow since the last call.
    pub(crate) fn take_files(&mut self, number: u32) -> SpanFiles {
        let source = &mut self.sources[number as usize].machine;
        SpanFiles {
            finished: source.take_finished(),
            under_way: source.has_file_under_way(),
        }
    }

    /// The receiver's estimate of the round-trip time of the current connection; `None` without a
    /// connection, before its first segment has arrived, and without an estimate.
    pub(crate) fn receiver_rtt(&self, number: u32) -> Option<Duration> {
        let connection = self.sources[number as usize].machine.connection()?;
        let receiver = &self.sinks[number as usize].host.machine;
        (receiver.connection() == connection).then(|| receiver.rtt())?
    }

    /// The congestion window of a flow in segments; `None` without a connection.
    #[inline]
    pub(crate) fn congestion_window(&self, number: u32) -> Option<f64> {
        self.sources[number as usize].machine.congestion_window()
    }

    /// Handles the timer of a source.
    #[inline]
    pub(crate) fn wake_source<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        fabric: &mut Fabric,
    ) {
        let reports = &mut self.reports;
        let source = &mut self.sources[number as usize];
        if !source.expires(at) {
            return;
        }
        if source.machine.deadline().is_some_and(|d| d.at <= at) {
            let route = source.route;
            source.machine.handle_timeout(at, &mut |output| {
                emit::<WATCHED>(at, number, route, output, fabric, reports);
            });
        }
        source.rearm(fabric, Event::Source(number));
    }

    /// Passes an ACK to a source.
    #[inline]
    pub(crate) fn receive_ack<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        ack: Segment,
        fabric: &mut Fabric,
    ) {
        let reports = &mut self.reports;
        let source = &mut self.sources[number as usize];
        let route = source.route;
        source.machine.handle_input(at, ack, &mut |output| {
            emit::<WATCHED>(at, number, route, output, fabric, reports);
        });
        source.rearm(fabric, Event::Source(number));
    }
}

/// Sends a segment, or stores an event for the observer.
#[inline]
fn emit<const WATCHED: bool>(
    at: Time,
    number: u32,
    route: Cursor,
    output: TcpOutput,
    fabric: &mut Fabric,
    reports: &mut Vec<Report>,
) {
    match output {
        TcpOutput::Segment(segment) => send_segment(at, route, segment, fabric),
        TcpOutput::Event { connection, event } if WATCHED => reports.push(Report::Tcp {
            flow: number,
            connection,
            event,
        }),
        TcpOutput::Event { .. } => {}
    }
}
