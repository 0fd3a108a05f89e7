//! The agents that live inside a network, in typed arrays.

pub mod datagrams;
pub mod multihomed;
pub mod spaced;
pub mod striped;
pub mod tcp;

use polypath_core::machine::Machine;
use polypath_core::time::{Duration, Time};

use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::{BackgroundBytes, Delays, FlowCounters, FlowKind, SpanFiles};
use crate::packet::{Packet, PacketKind};
use crate::percentiles::{DelayHistograms, DelayPercentiles, NO_GROUP};
use crate::route::Cursor;
use crate::tcp::{Receiver, Segment, SenderStats, TcpConfig, TcpOutput};
use crate::timer::Timer;
use datagrams::DatagramSource;
use multihomed::Multihomed;
pub(crate) use multihomed::MultihomedFrame;
pub use multihomed::PathChange;
use spaced::SpacedFlows;
pub use spaced::SpacingEvent;
pub(crate) use striped::Streamed;
use striped::StripedFlow;
pub use striped::{StreamEvent, StreamState};
use tcp::Sink;
use tcp::TcpSource;

/// A machine, the route of what it sends, and its calendar entry.
#[derive(Clone, Debug)]
struct Host<M> {
    machine: M,
    route: Cursor,
    timer: Timer,
}

/// What arrived of datagrams, and what their source sent.
#[derive(Clone, Copy, Debug)]
struct DatagramSink {
    group: u32,
    sent: u64,
    bytes: u64,
    delays: Delays,
}

/// All traffic that lives inside a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    sources: Vec<Host<TcpSource>>,
    sinks: Vec<Sink>,
    datagram_sources: Vec<Host<DatagramSource>>,
    datagram_sinks: Vec<DatagramSink>,
    spaced: SpacedFlows,
    multihomed: Vec<Multihomed>,
    striped: Vec<StripedFlow>,
    /// The TCP flows whose receiver window changes, and what it becomes in segments; each change happens once.
    window_changes: Vec<(u32, u32)>,
    delays: DelayHistograms,
    observed: bool,
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
        tcp: &TcpConfig,
        (there, back): (Cursor, Cursor),
        fabric: &mut Fabric,
    ) {
        let number = self.next_tcp();
        let source = Host::new(source, there, Event::Source(number), fabric);
        self.sources.push(source);
        let receiver = Host::new(Receiver::new(tcp), back, Event::Sink(number), fabric);
        self.sinks.push(Sink::new(receiver, tcp));
    }

    /// Adds a source of datagrams; the route leads to its sink.
    pub(crate) fn add_datagrams(
        &mut self,
        source: DatagramSource,
        route: Cursor,
        fabric: &mut Fabric,
    ) {
        let number = self.next_datagrams();
        let source = Host::new(source, route, Event::Datagrams(number), fabric);
        self.datagram_sources.push(source);
        self.datagram_sinks.push(DatagramSink::new(NO_GROUP));
    }

    /// Makes the TCP agents say what happens to them, or no longer.
    pub(crate) fn observe(&mut self, observed: bool) {
        self.observed = observed;
        for source in &mut self.sources {
            source.machine.observe(observed);
        }
        for flow in &mut self.striped {
            flow.observe(observed);
        }
    }

    /// Makes the delays of flows be measured in the groups, of `count`, to which they belong.
    pub(crate) fn measure_delays(
        &mut self,
        flows: impl IntoIterator<Item = (FlowKind, u32)>,
        count: usize,
    ) {
        self.delays = DelayHistograms::of(count);
        for (flow, group) in flows {
            match flow {
                FlowKind::Tcp(number) => self.sinks[number as usize].delivered.group = group,
                FlowKind::Datagrams(number) => self.datagram_sinks[number as usize].group = group,
                FlowKind::Spaced(number) => {
                    self.spaced.flows[number as usize].sink.group = group;
                }
                FlowKind::Multihomed(number) => {
                    self.multihomed[number as usize].sink.group = group;
                }
                FlowKind::Striped(number) => self.striped[number as usize].group = group,
            }
        }
    }

    /// Begins to measure: what goes before is of the warm-up.
    pub(crate) fn begin_measuring(&mut self) {
        self.delays.clear();
        for source in &mut self.sources {
            source.machine.take_finished();
        }
    }

    /// The percentiles of the delays of each group, if they are measured.
    pub(crate) fn delay_percentiles(&self) -> impl Iterator<Item = Option<DelayPercentiles>> {
        self.delays.percentiles()
    }

    pub(crate) fn background(&self) -> BackgroundBytes {
        BackgroundBytes {
            tcp: self.sinks.iter().map(|s| s.delivered.bytes).sum::<u64>()
                + self.striped.iter().map(StripedFlow::delivered).sum::<u64>(),
            udp: self.datagram_sinks.iter().map(|s| s.bytes).sum::<u64>()
                + self.spaced.flows.iter().map(|s| s.sink.bytes).sum::<u64>()
                + self.multihomed.iter().map(|s| s.sink.bytes).sum::<u64>(),
        }
    }

    pub(crate) fn tcp_counters(&self, number: u32) -> FlowCounters {
        let delivered = &self.sinks[number as usize].delivered;
        FlowCounters {
            sender: self.sources[number as usize].machine.stats(),
            goodput: delivered.bytes,
            delays: delivered.delays,
        }
    }

    pub(crate) fn datagram_counters(&self, number: u32) -> FlowCounters {
        self.datagram_sinks[number as usize].counters()
    }

    pub(crate) fn spaced_counters(&self, number: u32) -> FlowCounters {
        self.spaced.flows[number as usize].sink.counters()
    }

    pub(crate) fn multihomed_counters(&self, number: u32) -> FlowCounters {
        self.multihomed[number as usize].sink.counters()
    }

    /// The files of a source since this was last asked.
    pub(crate) fn take_files(&mut self, number: u32) -> SpanFiles {
        let source = &mut self.sources[number as usize].machine;
        SpanFiles {
            finished: source.take_finished(),
            under_way: source.has_file_under_way(),
        }
    }

    /// The receiver's estimate of the round-trip time of the present connection; nothing without both, or as long as no
    /// segment of the connection has come.
    pub(crate) fn receiver_rtt(&self, number: u32) -> Option<Duration> {
        let connection = self.sources[number as usize].machine.connection()?;
        let receiver = &self.sinks[number as usize].host.machine;
        (receiver.connection() == connection).then(|| receiver.rtt())?
    }

    #[inline]
    pub(crate) fn congestion_window(&self, number: u32) -> Option<f64> {
        self.sources[number as usize].machine.congestion_window()
    }

    #[inline]
    pub(crate) fn wake_source<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        fabric: &mut Fabric,
    ) {
        let source = &mut self.sources[number as usize];
        if !source.timer.expires(at) {
            return;
        }
        if source.machine.deadline().is_some_and(|d| d.at <= at) {
            let route = source.route;
            source.machine.handle_timeout(at, &mut |output| {
                take_output::<WATCHED>(at, (number, route), output, fabric);
            });
        }
        source.rearm(number, fabric, Event::Source);
    }

    #[inline]
    pub(crate) fn take_ack<const WATCHED: bool>(
        &mut self,
        at: Time,
        number: u32,
        ack: Segment,
        fabric: &mut Fabric,
    ) {
        let source = &mut self.sources[number as usize];
        let route = source.route;
        source.machine.handle_input(at, ack, &mut |output| {
            take_output::<WATCHED>(at, (number, route), output, fabric);
        });
        source.rearm(number, fabric, Event::Source);
    }

    #[inline]
    pub(crate) fn take_datagram(&mut self, at: Time, number: u32, packet: &Packet) {
        let sink = &mut self.datagram_sinks[number as usize];
        sink.bytes += u64::from(packet.size);
        let delay = at.since(packet.sent);
        sink.delays.add(delay);
        self.delays.record(sink.group, delay);
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
                kind: PacketKind::Datagram(u32::try_from(*sent).unwrap_or(u32::MAX)),
            };
            fabric.send(at, packet);
        });
        source.rearm(number, fabric, Event::Datagrams);
    }
}

impl DatagramSink {
    fn new(group: u32) -> Self {
        Self {
            group,
            sent: 0,
            bytes: 0,
            delays: Delays::default(),
        }
    }

    fn counters(&self) -> FlowCounters {
        FlowCounters {
            sender: SenderStats {
                sent: self.sent,
                ..SenderStats::default()
            },
            goodput: self.bytes,
            delays: self.delays,
        }
    }
}

impl<M: Machine> Host<M> {
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
fn take_output<const WATCHED: bool>(
    at: Time,
    (number, route): (u32, Cursor),
    output: TcpOutput,
    fabric: &mut Fabric,
) {
    match output {
        TcpOutput::Segment(segment) => send_segment(at, route, segment, fabric),
        TcpOutput::Event { connection, event } if WATCHED => {
            fabric.said.push((number, connection, event));
        }
        TcpOutput::Event { .. } => {}
    }
}

#[inline]
fn send_segment(at: Time, route: Cursor, segment: Segment, fabric: &mut Fabric) {
    let packet = Packet {
        cursor: route,
        size: segment.size,
        sent: at,
        kind: PacketKind::Segment(segment),
    };
    fabric.send(at, packet);
}
