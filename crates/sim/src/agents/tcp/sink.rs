//! The TCP sinks: what they hand to their applications, and the windows that these set.

use polypath_core::machine::Machine;
use polypath_core::time::Time;

use super::TcpFlows;
use crate::agents::event::Report;
use crate::agents::host::{FlowHost, send_segment};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::Delays;
use crate::percentiles::{DelayHistograms, NO_GROUP};
use crate::tcp::{Receiver, Segment, TcpConfig, TcpEvent};

/// A TCP sink and the data that it has delivered: adjacent in memory, since each segment touches
/// both.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    pub(super) host: FlowHost<Receiver>,
    pub(super) delivered: Delivered,
}

/// The data that a TCP sink has delivered to its application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    /// Size of a segment, in bytes.
    segment: u32,
    /// Segments of a connection that carry no data: its SYN.
    without_data: u32,
    /// The group of flows in which its delays are measured.
    pub(super) group: u32,
    pub(super) bytes: u64,
    pub(super) delays: Delays,
}

/// A change of a flow's receiver window by the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowChange {
    flow: u32,
    /// The window in segments.
    window: u32,
}

impl Sink {
    pub(super) fn new(host: FlowHost<Receiver>, tcp: &TcpConfig) -> Self {
        Self {
            host,
            delivered: Delivered {
                segment: tcp.segment,
                without_data: u32::from(tcp.syn),
                group: NO_GROUP,
                bytes: 0,
                delays: Delays::default(),
            },
        }
    }
}

impl TcpFlows {
    /// Schedules a change of the receiver window of a flow, which may be added later, to `window`
    /// segments at `at`.
    pub(crate) fn schedule_window(
        &mut self,
        at: Time,
        flow: u32,
        window: u32,
        fabric: &mut Fabric,
    ) {
        let change = u32::try_from(self.window_changes.len()).expect("fewer than 2^32 changes");
        self.window_changes.push(WindowChange { flow, window });
        let event = Event::ReceiverWindow(change);
        fabric.calendar.schedule(at, event);
    }

    /// Applies the change of this number.
    pub(crate) fn change_window<const WATCHED: bool>(&mut self, change: u32) {
        let WindowChange { flow, window } = self.window_changes[change as usize];
        let source = &mut self.sources[flow as usize].machine;
        let receiver = &mut self.sinks[flow as usize].host.machine;
        if let Some(connection) = source.connection() {
            receiver.expect(connection);
        }
        receiver.set_window(window);
        source.set_receiver_window(window);
        if WATCHED && self.is_observed {
            let connection = receiver.connection();
            let event = TcpEvent::ReceiverWindow { window };
            self.reports.push(Report::Tcp {
                flow,
                connection,
                event,
            });
        }
    }

    /// Passes a data segment, which was sent at `sent`, to a sink.
    #[inline]
    pub(crate) fn receive_data<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        data: Segment,
        sent: Time,
        fabric: &mut Fabric,
        delays: &mut DelayHistograms,
    ) {
        let Sink {
            host: sink,
            delivered,
        } = &mut self.sinks[number as usize];
        let before = (sink.machine.connection(), sink.machine.in_order());
        let timed = sink.machine.windows_timed();
        let route = sink.route;
        sink.machine.handle_input(at, data, &mut |ack| {
            send_segment(at, route, ack, fabric);
        });
        let after = (sink.machine.connection(), sink.machine.in_order());
        sink.rearm(fabric, Event::Sink(number));
        let delay = at.since(sent);
        delivered.delays.add(delay);
        delays.record(delivered.group, delay);
        let first = if after.0 == before.0 { before.1 } else { 0 };
        delivered.add(first, after.1);
        if WATCHED && self.is_observed && after.0 == before.0 {
            self.report_round_trip(at, number, timed);
        }
    }

    /// Handles the timer of a sink.
    pub(crate) fn wake_sink(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let sink = &mut self.sinks[number as usize].host;
        if !sink.expires(at) {
            return;
        }
        if sink.machine.deadline().is_some_and(|d| d.at <= at) {
            let route = sink.route;
            sink.machine.handle_timeout(at, &mut |ack| {
                send_segment(at, route, ack, fabric);
            });
        }
        sink.rearm(fabric, Event::Sink(number));
    }

    /// Reports the arrival of a receiver window, if one more has been timed since `before`.
    fn report_round_trip(&mut self, at: Time, number: u32, before: (u32, Option<Time>)) {
        let receiver = &self.sinks[number as usize].host.machine;
        if let (Some(since), Some(least)) = (before.1, receiver.rtt())
            && receiver.windows_timed().0 != before.0
        {
            let rtt = at.since(since);
            self.reports.push(Report::Tcp {
                flow: number,
                connection: receiver.connection(),
                event: TcpEvent::ReceiverRtt { rtt, least },
            });
        }
    }
}

impl Delivered {
    /// Counts the segments from `first` to the one before `end`.
    #[inline]
    fn add(&mut self, first: u32, end: u32) {
        let first = first.max(self.without_data);
        self.bytes += u64::from(end.saturating_sub(first)) * u64::from(self.segment);
    }
}
