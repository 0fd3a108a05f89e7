//! The agents that live inside a network, in typed arrays.

use polypath_core::machine::Machine;
use polypath_core::time::Time;

use super::flow::{Delays, FlowCounters};
use super::report::BackgroundBytes;
use crate::fabric::{Arrived, Cargo, Event, Fabric, Packet};
use crate::route::Cursor;
use crate::tcp::{Receiver, Segment, SenderStats};
use crate::timer::Timer;
use crate::traffic::{DatagramSource, TcpSource};

/// A source, the route of what it sends, and its calendar entry.
#[derive(Clone, Debug)]
struct Source<M> {
    machine: M,
    route: Cursor,
    timer: Timer,
}

/// The sink of a TCP source.
#[derive(Clone, Debug)]
struct Sink {
    receiver: Receiver,
    route: Cursor,
    segment: u32,
    delivered: u64,
    delays: Delays,
}

/// The sink of a source of datagrams, and what the source sent.
#[derive(Clone, Copy, Debug, Default)]
struct DatagramSink {
    sent: u64,
    bytes: u64,
    delays: Delays,
}

/// All traffic that lives inside a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    sources: Vec<Source<TcpSource>>,
    sinks: Vec<Sink>,
    datagram_sources: Vec<Source<DatagramSource>>,
    datagram_sinks: Vec<DatagramSink>,
}

impl Agents {
    /// How many TCP sources there are: the number of the next.
    pub(crate) fn next_tcp(&self) -> u32 {
        u32::try_from(self.sources.len()).expect("fewer than 2^32 hosts")
    }

    /// How many sources of datagrams there are: the number of the next.
    pub(crate) fn next_datagrams(&self) -> u32 {
        u32::try_from(self.datagram_sources.len()).expect("fewer than 2^32 hosts")
    }

    /// Adds a TCP source and its sink; the routes lead from one to the other and back.
    pub(crate) fn add_tcp(
        &mut self,
        source: TcpSource,
        (receiver, segment): (Receiver, u32),
        there: Cursor,
        back: Cursor,
        fabric: &mut Fabric,
    ) {
        let number = self.next_tcp();
        let source = Source::new(source, there, Event::Source(number), fabric);
        self.sources.push(source);
        self.sinks.push(Sink {
            receiver,
            route: back,
            segment,
            delivered: 0,
            delays: Delays::default(),
        });
    }

    /// Adds a source of datagrams; the route leads to its sink.
    pub(crate) fn add_datagrams(
        &mut self,
        source: DatagramSource,
        route: Cursor,
        fabric: &mut Fabric,
    ) {
        let number = self.next_datagrams();
        let source = Source::new(source, route, Event::Datagrams(number), fabric);
        self.datagram_sources.push(source);
        self.datagram_sinks.push(DatagramSink::default());
    }

    pub(crate) fn background(&self) -> BackgroundBytes {
        BackgroundBytes {
            tcp: self.sinks.iter().map(|s| s.delivered).sum(),
            udp: self.datagram_sinks.iter().map(|s| s.bytes).sum(),
        }
    }

    pub(crate) fn tcp_counters(&self, number: u32) -> FlowCounters {
        let sink = &self.sinks[number as usize];
        FlowCounters {
            sender: self.sources[number as usize].machine.stats(),
            goodput: sink.delivered,
            delays: sink.delays,
        }
    }

    pub(crate) fn datagram_counters(&self, number: u32) -> FlowCounters {
        let sink = &self.datagram_sinks[number as usize];
        FlowCounters {
            sender: SenderStats {
                sent: sink.sent,
                ..SenderStats::default()
            },
            goodput: sink.bytes,
            delays: sink.delays,
        }
    }

    pub(crate) fn congestion_window(&self, number: u32) -> Option<f64> {
        self.sources[number as usize].machine.congestion_window()
    }

    #[inline]
    pub(crate) fn wake_source(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let source = &mut self.sources[number as usize];
        if !source.timer.expires(at) {
            return;
        }
        if source.machine.deadline().is_some_and(|d| d.at <= at) {
            let route = source.route;
            source.machine.handle_timeout(at, &mut |segment| {
                send_segment(at, route, segment, fabric);
            });
        }
        source.rearm(number, fabric, Event::Source);
    }

    #[inline]
    pub(crate) fn take_ack(&mut self, at: Time, number: u32, ack: Segment, fabric: &mut Fabric) {
        let source = &mut self.sources[number as usize];
        let route = source.route;
        source.machine.handle_input(at, ack, &mut |segment| {
            send_segment(at, route, segment, fabric);
        });
        source.rearm(number, fabric, Event::Source);
    }

    #[inline]
    pub(crate) fn take_data(
        &mut self,
        at: Time,
        number: u32,
        (data, sent): (Segment, Time),
        fabric: &mut Fabric,
    ) {
        let sink = &mut self.sinks[number as usize];
        sink.delays.add(at.since(sent));
        let before = if sink.receiver.connection() == data.connection {
            sink.receiver.in_order()
        } else {
            0
        };
        let route = sink.route;
        let mut accepted = false;
        sink.receiver.handle_input(at, data, &mut |ack| {
            accepted = true;
            send_segment(at, route, ack, fabric);
        });
        if accepted {
            // The first segment is the SYN and carries no data.
            let data = |in_order: u32| u64::from(in_order.saturating_sub(1));
            let new = data(sink.receiver.in_order()) - data(before);
            sink.delivered += new * u64::from(sink.segment);
        }
    }

    #[inline]
    pub(crate) fn take_datagram(&mut self, at: Time, number: u32, arrived: &Arrived) {
        let sink = &mut self.datagram_sinks[number as usize];
        sink.bytes += u64::from(arrived.size);
        sink.delays.add(at.since(arrived.sent));
    }

    #[inline]
    pub(crate) fn wake_datagrams(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let source = &mut self.datagram_sources[number as usize];
        if !source.timer.expires(at) {
            return;
        }
        let route = source.route;
        let sent = &mut self.datagram_sinks[number as usize].sent;
        source.machine.handle_timeout(at, &mut |datagram| {
            *sent += 1;
            let packet = Packet {
                cursor: route,
                size: datagram.size,
                sent: at,
                cargo: Cargo::Datagram,
            };
            // A loss shows in the counters of the link; nobody waits for a datagram.
            let _ = fabric.send(at, packet);
        });
        source.rearm(number, fabric, Event::Datagrams);
    }
}

impl<M: Machine> Source<M> {
    fn new(machine: M, route: Cursor, event: Event, fabric: &mut Fabric) -> Self {
        let mut timer = Timer::default();
        timer.arm(machine.deadline(), &mut fabric.calendar, event);
        Self {
            machine,
            route,
            timer,
        }
    }

    #[inline]
    fn rearm(&mut self, number: u32, fabric: &mut Fabric, event: fn(u32) -> Event) {
        let deadline = self.machine.deadline();
        self.timer
            .arm(deadline, &mut fabric.calendar, event(number));
    }
}

#[inline]
fn send_segment(at: Time, route: Cursor, segment: Segment, fabric: &mut Fabric) {
    let packet = Packet {
        cursor: route,
        size: segment.size,
        sent: at,
        cargo: Cargo::Segment(segment),
    };
    // A loss shows in the counters of the link; TCP finds out for itself.
    let _ = fabric.send(at, packet);
}
