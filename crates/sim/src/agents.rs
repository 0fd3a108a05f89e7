//! The traffic that runs inside a network: one folder for each kind of flow.
//!
//! *TCP* ([`tcp`]): one connection with a file or endless data; or sessions: idle for an
//! exponential time, then one file of log-normal size over a new connection, then idle again from
//! the moment at which its last segment is acknowledged (PPD paper, 5).
//!
//! *Datagrams* ([`datagrams`]): constant bit rate with jitter and drift of the period, Poisson,
//! bursts with exponential or Pareto on and off times, which begin off, and recordings.
//!
//! *Agents*: datagrams over the path that a policy chooses ([`multihomed`], delay-centric paper);
//! datagrams through two nodes with any policy ([`tunnel`]);
//! datagrams whose spacing the receiver's feedback sets ([`spaced`], packet-spacing paper); and
//! media over several TCP connections whose number and windows the receiver sets ([`striped`],
//! `MultiTCP` paper).
//!
//! TCP and datagrams stand in typed arrays: they are the hot loop. A new kind of flow is an `Agent`
//! in a folder here and an arm of `build`. Multihomed flows stand in the array of agents itself, and
//! not behind a pointer: there may be ten thousand of them.

pub(crate) mod agent;
mod counters;
pub mod datagrams;
pub mod event;
mod host;
pub mod multihomed;
pub(crate) mod setup;
pub mod spaced;
pub mod striped;
pub mod tcp;
pub mod tunnel;

use polypath_core::cbr::{Cbr, CbrConfig};
use polypath_core::time::Time;
use polypath_core::units::Bytes;
use polypath_scenario::network::Traffic;

use crate::fabric::Fabric;
use crate::flow::{BackgroundBytes, FlowKind};
use crate::packet::Packet;
use crate::percentiles::{DelayHistograms, DelayPercentiles, NO_GROUP};
use crate::route::AgentEnd;
use agent::{Agent, Context};
use datagrams::{DatagramFlows, DatagramSource, OnOff, Pattern, Playback, Poisson};
use event::Report;
pub use event::{AgentEvent, PathChange, SpacingEvent, StreamEvent};
use multihomed::MultihomedFlow;
use setup::{FlowSetup, Span, wire_size};
use spaced::SpacedFlow;
pub use striped::StreamState;
use striped::StripedFlow;
use tcp::{TcpFlows, TcpSource};
use tunnel::TunnelFlow;

/// A flow before its start.
#[expect(clippy::large_enum_variant, reason = "each is moved once")]
pub(crate) enum BuiltFlow {
    Tcp(TcpSource),
    Datagrams(DatagramSource),
    Agent(AnyAgent),
}

/// An agent of any kind.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large variant is the one of which there are many"
)]
pub(crate) enum AnyAgent {
    Multihomed(MultihomedFlow),
    Other(Box<dyn Agent>),
}

/// Builds a flow of a graph.
pub(crate) fn build(setup: &mut FlowSetup<'_>) -> BuiltFlow {
    let agent: Box<dyn Agent> = match &setup.flow.traffic {
        Traffic::Multihomed(config) => {
            let flow = MultihomedFlow::new(config, setup);
            return BuiltFlow::Agent(AnyAgent::Multihomed(flow));
        }
        Traffic::Ftp(_) => return BuiltFlow::Tcp(TcpSource::endless(setup)),
        Traffic::File(file) => return BuiltFlow::Tcp(TcpSource::file(*file, setup)),
        Traffic::Sessions(config) => return BuiltFlow::Tcp(TcpSource::sessions(config, setup)),
        Traffic::Cbr(config) => {
            let intervals = CbrConfig {
                interval: config.interval,
                jitter: config.jitter,
                drift: config.drift,
            };
            return datagrams(
                Pattern::Cbr(Cbr::new(intervals, setup.stream("traffic"))),
                config.packet,
                setup,
            );
        }
        Traffic::Poisson(config) => {
            return datagrams(
                Pattern::Poisson(Poisson::of_flow(config, setup)),
                config.packet,
                setup,
            );
        }
        Traffic::Exponential(config) => {
            return datagrams(
                Pattern::OnOff(OnOff::exponential(config, setup)),
                config.packet,
                setup,
            );
        }
        Traffic::Pareto(config) => {
            return datagrams(
                Pattern::OnOff(OnOff::pareto(config, setup)),
                config.packet,
                setup,
            );
        }
        Traffic::Trace(config) => {
            return datagrams(
                Pattern::Playback(Playback::of_flow(config)),
                Playback::largest(config),
                setup,
            );
        }
        Traffic::Spaced(config) => Box::new(SpacedFlow::new(config, setup)),
        Traffic::Striped(config) => Box::new(StripedFlow::new(config, setup)),
        Traffic::Tunnel(config) => Box::new(TunnelFlow::new(config, setup)),
    };
    BuiltFlow::Agent(AnyAgent::Other(agent))
}

impl AnyAgent {
    #[inline]
    fn get(&self) -> &dyn Agent {
        match self {
            Self::Multihomed(flow) => flow,
            Self::Other(agent) => &**agent,
        }
    }

    #[inline]
    fn get_mut(&mut self) -> &mut dyn Agent {
        match self {
            Self::Multihomed(flow) => flow,
            Self::Other(agent) => &mut **agent,
        }
    }
}

/// All traffic that runs inside a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents {
    pub(crate) tcp: TcpFlows,
    pub(crate) datagrams: DatagramFlows,
    slots: Vec<AgentSlot>,
    /// Events of agents that no observer has taken yet.
    reports: Vec<Report>,
    pub(crate) delays: DelayHistograms,
    is_observed: bool,
}

/// An agent, and the group of flows in which its delays are measured.
#[derive(Clone, Debug)]
struct AgentSlot {
    agent: AnyAgent,
    delay_group: u32,
}

impl Agents {
    /// The number of the next agent.
    pub(crate) fn next_agent(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("fewer than 2^32 agents")
    }

    /// Adds an agent and starts it.
    pub(crate) fn add_agent(&mut self, agent: AnyAgent, fabric: &mut Fabric) {
        let number = self.next_agent();
        self.slots.push(AgentSlot {
            agent,
            delay_group: NO_GROUP,
        });
        let (agent, mut context) = self.context::<false>(Time::ZERO, number, fabric);
        agent.start(&mut context);
    }

    /// Handles a timer of an agent. Agents stay out of the loop that TCP and datagrams share.
    #[inline(never)]
    pub(crate) fn wake_agent<const WATCHED: bool>(
        &mut self,
        at: Time,
        end: AgentEnd,
        fabric: &mut Fabric,
    ) {
        let (agent, mut context) = self.context::<WATCHED>(at, end.agent(), fabric);
        agent.wake(end.end(), &mut context);
    }

    /// Hands a packet to one end of an agent.
    #[inline(never)]
    pub(crate) fn receive<const WATCHED: bool>(
        &mut self,
        at: Time,
        end: AgentEnd,
        packet: &Packet,
        fabric: &mut Fabric,
    ) {
        let (agent, mut context) = self.context::<WATCHED>(at, end.agent(), fabric);
        agent.receive(end.end(), packet, &mut context);
    }

    /// Frees the payload of an agent's packet that a link dropped.
    #[inline(never)]
    pub(crate) fn forget(&mut self, number: u32, payload: u32) {
        self.slots[number as usize].agent.get_mut().forget(payload);
    }

    /// The agent of this number.
    pub(crate) fn agent(&self, number: u32) -> &dyn Agent {
        self.slots[number as usize].agent.get()
    }

    /// Starts or stops reporting events of the flows.
    pub(crate) fn observe(&mut self, observed: bool) {
        self.is_observed = observed;
        self.tcp.observe(observed);
        for slot in &mut self.slots {
            slot.agent.get_mut().observe(observed);
        }
    }

    /// The events since the last call.
    pub(crate) fn take_reports(&mut self) -> impl Iterator<Item = Report> {
        self.tcp.take_reports().chain(self.reports.drain(..))
    }

    /// Measures the delays of flows in `count` groups, each flow in its own.
    pub(crate) fn measure_delays(
        &mut self,
        flows: impl IntoIterator<Item = (FlowKind, u32)>,
        count: usize,
    ) {
        self.delays = DelayHistograms::of(count);
        for (flow, group) in flows {
            match flow {
                FlowKind::Tcp(number) => self.tcp.set_delay_group(number, group),
                FlowKind::Datagrams(number) => self.datagrams.set_delay_group(number, group),
                FlowKind::Agent(number) => self.slots[number as usize].delay_group = group,
            }
        }
    }

    /// Ends the warm-up: discards the delays and files measured so far.
    pub(crate) fn begin_measuring(&mut self) {
        self.delays.clear();
        self.tcp.begin_measuring();
    }

    /// The percentiles of the delays of each group, if they are measured.
    pub(crate) fn delay_percentiles(&self) -> impl Iterator<Item = Option<DelayPercentiles>> {
        self.delays.percentiles()
    }

    /// The bytes that all flows have delivered.
    pub(crate) fn background(&self) -> BackgroundBytes {
        BackgroundBytes {
            tcp: self.tcp.delivered() + self.delivered_by_agents(true),
            udp: self.datagrams.delivered() + self.delivered_by_agents(false),
        }
    }

    /// Whether any agent is a stream over several connections.
    pub(crate) fn has_streams(&self) -> bool {
        let mut agents = self.slots.iter().map(|slot| slot.agent.get());
        agents.any(|agent| agent.stream_state().is_some())
    }

    fn delivered_by_agents(&self, tcp: bool) -> u64 {
        let agents = self.slots.iter().map(|slot| slot.agent.get());
        let agents = agents.filter(|agent| agent.is_tcp() == tcp);
        agents.map(|agent| agent.counters().goodput).sum()
    }

    /// An agent, and its context at `now`.
    fn context<'a, const WATCHED: bool>(
        &'a mut self,
        now: Time,
        number: u32,
        fabric: &'a mut Fabric,
    ) -> (&'a mut dyn Agent, Context<'a>) {
        let slot = &mut self.slots[number as usize];
        let context = Context {
            now,
            number,
            delay_group: slot.delay_group,
            is_observed: WATCHED && self.is_observed,
            fabric,
            delays: &mut self.delays,
            reports: &mut self.reports,
        };
        (slot.agent.get_mut(), context)
    }
}

fn datagrams(pattern: Pattern, packet: Bytes, setup: &FlowSetup<'_>) -> BuiltFlow {
    let Span { start, stop } = setup.span;
    BuiltFlow::Datagrams(DatagramSource::new(pattern, wire_size(packet), start, stop))
}
