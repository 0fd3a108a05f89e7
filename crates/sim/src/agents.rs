//! The agents that live inside a network, in typed arrays.

pub(crate) mod agent;
pub mod datagrams;
pub mod event;
mod host;
pub mod multihomed;
pub(crate) mod setup;
pub mod spaced;
pub mod striped;
pub mod tcp;

use polypath_core::machine::Machine;
use polypath_core::time::{Duration, Time};
use polypath_scenario::network::Traffic;

use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::{BackgroundBytes, Delays, FlowCounters, FlowKind, SpanFiles};
use crate::packet::{Packet, PacketKind};
use crate::percentiles::{DelayHistograms, DelayPercentiles, NO_GROUP};
use crate::route::{Cursor, FlowEnd};
use crate::tcp::{Receiver, Segment, SenderStats, TcpConfig, TcpOutput};
use agent::{Agent, Context};
use datagrams::DatagramSource;
use event::Report;
pub use event::{AgentEvent, PathChange, SpacingEvent, StreamEvent};
use host::FlowHost;
use multihomed::MultihomedFlow;
use setup::FlowSetup;
use spaced::SpacedFlow;
pub use striped::StreamState;
use striped::StripedFlow;
use tcp::Sink;
use tcp::TcpSource;

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
    sources: Vec<FlowHost<TcpSource>>,
    sinks: Vec<Sink>,
    datagram_sources: Vec<FlowHost<DatagramSource>>,
    datagram_sinks: Vec<DatagramSink>,
    agents: Vec<AgentSlot>,
    reports: Vec<Report>,
    /// The TCP flows whose receiver window changes, and what it becomes in segments; each change happens once.
    window_changes: Vec<(u32, u32)>,
    delays: DelayHistograms,
    observed: bool,
}

/// The agent of a flow; `None` for TCP and datagrams, which stand in typed arrays.
pub(crate) fn build(setup: &mut FlowSetup<'_>) -> Option<Box<dyn Agent>> {
    match &setup.flow.traffic {
        Traffic::Spaced(config) => Some(Box::new(SpacedFlow::new(config, setup))),
        Traffic::Multihomed(config) => Some(Box::new(MultihomedFlow::new(config, setup))),
        Traffic::Striped(config) => Some(Box::new(StripedFlow::new(config, setup))),
        _ => None,
    }
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
        let source = FlowHost::started(source, there, Event::Source(number), fabric);
        self.sources.push(source);
        let receiver = FlowHost::started(Receiver::new(tcp), back, Event::Sink(number), fabric);
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
        let source = FlowHost::started(source, route, Event::Datagrams(number), fabric);
        self.datagram_sources.push(source);
        self.datagram_sinks.push(DatagramSink::new(NO_GROUP));
    }

    /// Makes the TCP agents say what happens to them, or no longer.
    pub(crate) fn observe(&mut self, observed: bool) {
        self.observed = observed;
        for source in &mut self.sources {
            source.machine.observe(observed);
        }
        for slot in &mut self.agents {
            slot.agent.observe(observed);
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
                FlowKind::Agent(number) => self.agents[number as usize].delay_group = group,
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
            tcp: self.sinks.iter().map(|s| s.delivered.bytes).sum::<u64>() + self.agent_bytes(true),
            udp: self.datagram_sinks.iter().map(|s| s.bytes).sum::<u64>() + self.agent_bytes(false),
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
        let reports = &mut self.reports;
        let source = &mut self.sources[number as usize];
        if !source.timer.expires(at) {
            return;
        }
        if source.machine.deadline().is_some_and(|d| d.at <= at) {
            let route = source.route;
            source.machine.handle_timeout(at, &mut |output| {
                take_output::<WATCHED>(at, number, route, output, fabric, reports);
            });
        }
        source.rearm(fabric, Event::Source(number));
    }

    #[inline]
    pub(crate) fn take_ack<const WATCHED: bool>(
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
            take_output::<WATCHED>(at, number, route, output, fabric, reports);
        });
        source.rearm(fabric, Event::Source(number));
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
        source.rearm(fabric, Event::Datagrams(number));
    }
}

/// An agent, and the group of flows in which its delays are measured.
#[derive(Clone, Debug)]
struct AgentSlot {
    agent: Box<dyn Agent>,
    delay_group: u32,
}

impl Agents {
    /// The number of the next agent.
    pub(crate) fn next_agent(&self) -> u32 {
        u32::try_from(self.agents.len()).expect("fewer than 2^32 agents")
    }

    /// Adds an agent and starts it.
    pub(crate) fn add_agent(&mut self, agent: Box<dyn Agent>, fabric: &mut Fabric) {
        let number = self.next_agent();
        self.agents.push(AgentSlot {
            agent,
            delay_group: NO_GROUP,
        });
        self.with_agent(Time::ZERO, number, fabric, false, |agent, context| {
            agent.start(context)
        });
    }

    // Agents stay out of the loop that TCP and datagrams share.
    #[inline(never)]
    pub(crate) fn wake_agent<const WATCHED: bool>(
        &mut self,
        at: Time,
        end: FlowEnd,
        number: u32,
        fabric: &mut Fabric,
    ) {
        self.with_agent(at, number, fabric, WATCHED, |agent, context| {
            agent.wake(end, context)
        });
    }

    #[inline(never)]
    pub(crate) fn receive<const WATCHED: bool>(
        &mut self,
        at: Time,
        end: FlowEnd,
        number: u32,
        packet: &Packet,
        fabric: &mut Fabric,
    ) {
        let receive = |agent: &mut dyn Agent, context: &mut Context<'_>| {
            agent.receive(end, packet, context);
        };
        self.with_agent(at, number, fabric, WATCHED, receive);
    }

    /// Forgets the payload of a packet of an agent that a link dropped.
    #[inline(never)]
    pub(crate) fn forget(&mut self, number: u32, payload: u32) {
        self.agents[number as usize].agent.forget(payload);
    }

    /// The agent of this number.
    pub(crate) fn agent(&self, number: u32) -> &dyn Agent {
        &*self.agents[number as usize].agent
    }

    /// The events since this was last called.
    pub(crate) fn take_reports(&mut self) -> impl Iterator<Item = Report> {
        self.reports.drain(..)
    }

    /// Whether any agent is a stream over several connections.
    pub(crate) fn has_streams(&self) -> bool {
        let mut agents = self.agents.iter().map(|slot| &slot.agent);
        agents.any(|agent| agent.stream_state().is_some())
    }

    fn agent_bytes(&self, tcp: bool) -> u64 {
        let agents = self.agents.iter().map(|slot| &slot.agent);
        let agents = agents.filter(|agent| agent.is_tcp() == tcp);
        agents.map(|agent| agent.counters().goodput).sum()
    }

    fn with_agent(
        &mut self,
        now: Time,
        number: u32,
        fabric: &mut Fabric,
        watched: bool,
        act: impl FnOnce(&mut dyn Agent, &mut Context<'_>),
    ) {
        let slot = &mut self.agents[number as usize];
        let mut context = Context {
            now,
            number,
            delay_group: slot.delay_group,
            is_observed: watched && self.observed,
            fabric,
            delays: &mut self.delays,
            reports: &mut self.reports,
        };
        act(&mut *slot.agent, &mut context);
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

#[inline]
fn take_output<const WATCHED: bool>(
    at: Time,
    number: u32,
    route: Cursor,
    output: TcpOutput,
    fabric: &mut Fabric,
    reports: &mut Vec<Report>,
) {
    match output {
        TcpOutput::Segment(segment) => send_segment(at, route, segment, fabric),
        TcpOutput::Event { connection, event } if WATCHED => {
            reports.push(Report::Tcp {
                flow: number,
                connection,
                event,
            });
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
