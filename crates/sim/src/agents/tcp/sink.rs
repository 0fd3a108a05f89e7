//! The TCP sinks: what they hand to their applications, and the windows that those want.

use polypath_core::machine::Machine;
use polypath_core::time::Time;

use crate::agents::event::Report;
use crate::agents::host::FlowHost;
use crate::agents::{Agents, send_segment};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::Delays;
use crate::percentiles::NO_GROUP;
use crate::tcp::{Receiver, Segment, TcpConfig, TcpEvent};

/// A TCP sink and what it has delivered: side by side, as a segment touches both.
#[derive(Clone, Debug)]
pub(in crate::agents) struct Sink {
    pub(in crate::agents) host: FlowHost<Receiver>,
    pub(in crate::agents) delivered: Delivered,
}

/// What a TCP sink has handed to its application.
#[derive(Clone, Copy, Debug)]
pub(in crate::agents) struct Delivered {
    /// Size of a segment, in bytes.
    segment: u32,
    /// Segments of a connection that carry no data: its SYN.
    without_data: u32,
    /// The group of flows in which its delays are measured.
    pub(in crate::agents) group: u32,
    pub(in crate::agents) bytes: u64,
    pub(in crate::agents) delays: Delays,
}

impl Sink {
    pub(in crate::agents) fn new(host: FlowHost<Receiver>, tcp: &TcpConfig) -> Self {
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

impl Agents {
    /// Makes the receiver window of a TCP flow, which may be added later, become `window` segments at `at`.
    pub(crate) fn schedule_window(
        &mut self,
        at: Time,
        number: u32,
        window: u32,
        fabric: &mut Fabric,
    ) {
        let change = u32::try_from(self.window_changes.len()).expect("fewer than 2^32 changes");
        self.window_changes.push((number, window));
        let event = Event::ReceiverWindow(change);
        fabric.calendar.schedule(at, event);
    }

    /// Makes the change of this number.
    pub(crate) fn change_window<const WATCHED: bool>(&mut self, change: u32) {
        let (number, window) = self.window_changes[change as usize];
        let source = &mut self.sources[number as usize].machine;
        let receiver = &mut self.sinks[number as usize].host.machine;
        if let Some(connection) = source.connection() {
            receiver.expect(connection);
        }
        receiver.set_window(window);
        source.set_receiver_window(window);
        if WATCHED && self.observed {
            let event = TcpEvent::ReceiverWindow { window };
            let connection = receiver.connection();
            self.reports.push(Report::Tcp {
                flow: number,
                connection,
                event,
            });
        }
    }

    #[inline]
    pub(crate) fn take_data<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        (data, sent): (Segment, Time),
        fabric: &mut Fabric,
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
        self.delays.record(delivered.group, delay);
        let first = if after.0 == before.0 { before.1 } else { 0 };
        delivered.add(first, after.1);
        if WATCHED && self.observed && after.0 == before.0 {
            self.report_round_trip(at, number, timed);
        }
    }

    pub(crate) fn wake_sink(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let sink = &mut self.sinks[number as usize].host;
        if !sink.timer.expires(at) {
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

    /// Reports that a receiver window has arrived, if one more has been timed since `before`.
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
