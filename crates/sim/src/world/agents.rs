//! The agents that live inside a network, in typed arrays.

use polypath_core::machine::Machine;
use polypath_core::time::Time;

use super::report::BackgroundBytes;
use crate::fabric::{Cargo, Event, Fabric, Packet};
use crate::route::Cursor;
use crate::tcp::{Receiver, Segment, TcpOutput};
use crate::timer::Timer;
use crate::traffic::{OnOffSource, Sessions};

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
    timer: Timer,
    delivered: u64,
    segment: u32,
}

/// All background traffic of a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    sources: Vec<Source<Sessions>>,
    sinks: Vec<Sink>,
    datagram_sources: Vec<Source<OnOffSource>>,
    datagram_bytes: Vec<u64>,
}

impl Agents {
    /// How many TCP sources there are: the number of the next.
    pub(crate) fn next_session(&self) -> u32 {
        u32::try_from(self.sources.len()).expect("fewer than 2^32 hosts")
    }

    /// How many UDP sources there are: the number of the next.
    pub(crate) fn next_datagrams(&self) -> u32 {
        u32::try_from(self.datagram_sources.len()).expect("fewer than 2^32 hosts")
    }

    /// Adds a TCP source and its sink; the routes lead from one to the other and back.
    pub(crate) fn add_session(
        &mut self,
        source: Sessions,
        sink: (Receiver, u32),
        there: Cursor,
        back: Cursor,
        fabric: &mut Fabric,
    ) {
        let number = self.next_session();
        let mut timer = Timer::default();
        timer.arm(
            source.deadline(),
            &mut fabric.calendar,
            Event::Source(number),
        );
        self.sources.push(Source {
            machine: source,
            route: there,
            timer,
        });
        self.sinks.push(Sink {
            receiver: sink.0,
            route: back,
            timer: Timer::default(),
            delivered: 0,
            segment: sink.1,
        });
    }

    /// Adds a UDP source; the route leads to its sink.
    pub(crate) fn add_datagrams(
        &mut self,
        source: OnOffSource,
        route: Cursor,
        fabric: &mut Fabric,
    ) {
        let number = self.next_datagrams();
        let mut timer = Timer::default();
        timer.arm(
            source.deadline(),
            &mut fabric.calendar,
            Event::Datagrams(number),
        );
        self.datagram_sources.push(Source {
            machine: source,
            route,
            timer,
        });
        self.datagram_bytes.push(0);
    }

    pub(crate) fn background(&self) -> BackgroundBytes {
        BackgroundBytes {
            tcp: self.sinks.iter().map(|s| s.delivered).sum(),
            udp: self.datagram_bytes.iter().sum(),
        }
    }

    #[inline]
    pub(crate) fn wake_source(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let source = &mut self.sources[number as usize];
        if !source.timer.expires(at) {
            return;
        }
        if source.machine.deadline().is_some_and(|d| d.at <= at) {
            let route = source.route;
            source.machine.handle_timeout(at, &mut |output| {
                send_output(at, route, output, fabric);
            });
        }
        source.rearm(number, fabric, Event::Source);
    }

    #[inline]
    pub(crate) fn take_ack(&mut self, at: Time, number: u32, ack: Segment, fabric: &mut Fabric) {
        let source = &mut self.sources[number as usize];
        let route = source.route;
        source.machine.handle_input(at, ack, &mut |output| {
            send_output(at, route, output, fabric);
        });
        source.rearm(number, fabric, Event::Source);
    }

    #[inline]
    pub(crate) fn take_data(&mut self, at: Time, number: u32, data: Segment, fabric: &mut Fabric) {
        let sink = &mut self.sinks[number as usize];
        let before = if sink.receiver.connection() == data.connection {
            sink.receiver.in_order()
        } else {
            0
        };
        let route = sink.route;
        sink.receiver.handle_input(at, data, &mut |ack| {
            send_segment(at, route, ack, fabric);
        });
        if sink.receiver.connection() == data.connection {
            // The first segment is the SYN and carries no data.
            let data = |in_order: u32| u64::from(in_order.saturating_sub(1));
            let new = data(sink.receiver.in_order()) - data(before);
            sink.delivered += new * u64::from(sink.segment);
        }
        sink.rearm(number, fabric);
    }

    #[inline]
    pub(crate) fn wake_sink(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let sink = &mut self.sinks[number as usize];
        if !sink.timer.expires(at) {
            return;
        }
        let route = sink.route;
        sink.receiver.handle_timeout(at, &mut |ack| {
            send_segment(at, route, ack, fabric);
        });
        sink.rearm(number, fabric);
    }

    #[inline]
    pub(crate) fn take_datagram(&mut self, number: u32, size: u32) {
        self.datagram_bytes[number as usize] += u64::from(size);
    }

    #[inline]
    pub(crate) fn wake_datagrams(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let source = &mut self.datagram_sources[number as usize];
        if !source.timer.expires(at) {
            return;
        }
        let route = source.route;
        source.machine.handle_timeout(at, &mut |datagram| {
            let packet = Packet {
                cursor: route,
                size: datagram.size,
                cargo: Cargo::Datagram,
            };
            fabric.send(at, packet);
        });
        source.rearm(number, fabric, Event::Datagrams);
    }
}

impl Sink {
    #[inline]
    fn rearm(&mut self, number: u32, fabric: &mut Fabric) {
        let deadline = self.receiver.deadline();
        self.timer
            .arm(deadline, &mut fabric.calendar, Event::Sink(number));
    }
}

impl<M: Machine> Source<M> {
    #[inline]
    fn rearm(&mut self, number: u32, fabric: &mut Fabric, event: fn(u32) -> Event) {
        let deadline = self.machine.deadline();
        self.timer
            .arm(deadline, &mut fabric.calendar, event(number));
    }
}

#[inline]
fn send_output(at: Time, route: Cursor, output: TcpOutput, fabric: &mut Fabric) {
    if let TcpOutput::Segment(segment) = output {
        send_segment(at, route, segment, fabric);
    }
}

#[inline]
fn send_segment(at: Time, route: Cursor, segment: Segment, fabric: &mut Fabric) {
    let packet = Packet {
        cursor: route,
        size: segment.size,
        cargo: Cargo::Segment(segment),
    };
    fabric.send(at, packet);
}
