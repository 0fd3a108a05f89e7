//! The network of a graph: its links, and its flows at rest.

use polypath_core::frame::Payload;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_scenario::Tcp;
use polypath_scenario::network as scenario;
use polypath_scenario::network::activity::{WindowChange, receiver_window_at};
use polypath_scenario::network::{Flow, Graph, RoundTrip, RouteError, Router, Stop, Traffic};

use super::{BuildError, Network, convert};
use crate::agents;
use crate::agents::datagrams::{
    Cbr, CbrConfig, DatagramSource, OnOff, OnOffConfig, Pattern, Playback, Poisson, Sojourn,
};
use crate::agents::setup::{FlowSetup, Span};
use crate::agents::tcp::{Bulk, SessionConfig, Sessions, TcpSource};
use crate::flow::FlowKind;
use crate::route::Terminal;
use crate::tcp::{Overhead, Sender, TcpConfig};
use crate::world::{FlowName, LinkName, World};

/// What enters a network that has no ports: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {}

impl Payload for Nothing {
    fn len(&self) -> usize {
        match *self {}
    }
}

/// The network of a graph, without ports, and its flows before their start.
pub fn build_graph(network: &scenario::Network, seed: Seed) -> Result<World<Nothing>, BuildError> {
    let graph = network.graph();
    let mut built = Network::new(seed);
    for link in &graph.links {
        let name = LinkName {
            name: link.name.clone(),
            path: None,
            towards: None,
            inner: false,
        };
        let config = convert::link(&link.link).map_err(|source| BuildError::Link {
            name: link.name.clone(),
            source,
        })?;
        built.add_link(&config, name)?;
    }
    let mut router = Router::new(&graph);
    for flow in &network.flows {
        let hosts = flow.tcp.apply(&network.tcp);
        for number in 0..flow.count {
            built.add_flow(&hosts, flow, number, &graph, &mut router)?;
        }
    }
    if network.run.percentiles {
        let groups = network.flows.iter().zip(0..);
        let groups = groups.flat_map(|(flow, group)| (0..flow.count).map(move |_| group));
        let kinds = built.flow_names.iter().map(|flow| flow.kind);
        let count = network.flows.len();
        built.agents.measure_delays(kinds.zip(groups), count);
    }
    Ok(built.finish())
}

/// The links of each way of the flow of this number.
fn ways(
    flow: &Flow,
    number: u32,
    graph: &Graph,
    router: &mut Router<'_>,
) -> Result<Vec<RoundTrip>, WayError> {
    let ways = flow.ways(number).map(|stops| known(stops, graph));
    let ways = ways.collect::<Result<Vec<_>, _>>()?;
    let mut route = |stops: &Vec<Stop>| {
        if flow.traffic.needs_way_back() {
            return router.round_trip(stops);
        }
        let there = router.route(stops)?;
        let back = Vec::new();
        Ok(RoundTrip { there, back })
    };
    ways.iter().map(|stops| Ok(route(stops)?)).collect()
}

/// The stops of these names.
fn known(stops: Vec<String>, graph: &Graph) -> Result<Vec<Stop>, WayError> {
    let find = |stop: String| graph.stop(&stop).ok_or(WayError::UnknownStop(stop));
    stops.into_iter().map(find).collect()
}

/// Why a flow has no way.
enum WayError {
    UnknownStop(String),
    Route(RouteError),
}

impl From<RouteError> for WayError {
    fn from(error: RouteError) -> Self {
        Self::Route(error)
    }
}

impl WayError {
    /// The error of the flow of this name.
    fn of(self, flow: &str) -> BuildError {
        match self {
            Self::UnknownStop(stop) => BuildError::UnknownStop(stop),
            Self::Route(source) => BuildError::Route {
                flow: flow.to_owned(),
                source,
            },
        }
    }
}

impl Network {
    fn add_flow(
        &mut self,
        hosts: &Tcp,
        flow: &Flow,
        number: u32,
        graph: &Graph,
        router: &mut Router<'_>,
    ) -> Result<(), BuildError> {
        let name = flow.name_of(number);
        let ways = ways(flow, number, graph, router).map_err(|error| error.of(&name))?;
        let span = self.span(flow, &name);
        let mut setup = FlowSetup {
            name: &name,
            flow,
            hosts,
            span,
            ways: &ways,
            graph,
            seed: self.seed,
            number: self.agents.next_agent(),
            routes: &mut self.fabric.routes,
        };
        if let Some(agent) = agents::build(&mut setup) {
            let kind = FlowKind::Agent(setup.number);
            self.agents.add_agent(agent, &mut self.fabric);
            self.flow_names.push(FlowName { name, kind });
            return Ok(());
        }
        let [way] = &ways[..] else {
            unreachable!("only agents have several ways");
        };
        if flow.traffic.is_tcp() {
            let tcp = TcpConfig::from(hosts);
            let source = self.tcp_source(flow, &name, hosts, span);
            self.schedule_windows(&flow.receiver_window);
            let ways = (&as_links(&way.there)[..], &as_links(&way.back)[..]);
            self.add_tcp_flow(name, source, tcp, ways);
        } else {
            let there = as_links(&way.there);
            let source = self.datagram_source(flow, &name, span);
            self.add_datagram_flow(name, source, &there);
        }
        Ok(())
    }

    /// Schedules the changes of the receiver window of the TCP flow that is added next, so that they happen before
    /// what it does at the same time.
    fn schedule_windows(&mut self, changes: &[WindowChange]) {
        let number = self.agents.next_tcp();
        for change in changes {
            let at = Time::ZERO + change.at;
            let fabric = &mut self.fabric;
            self.agents
                .schedule_window(at, number, change.window, fabric);
        }
    }

    fn span(&self, flow: &Flow, name: &str) -> Span {
        let since_start = |span: Duration| Time::ZERO + span;
        let spread = flow.active.start_spread.as_secs_f64();
        let late = if spread > 0.0 {
            let drawn = self.seed.stream(&format!("flow/{name}/start")).uniform();
            Duration::from_secs_f64(drawn * spread)
        } else {
            Duration::ZERO
        };
        Span {
            start: since_start(flow.active.start) + late,
            stop: flow.active.stop.map_or(Time::MAX, since_start),
        }
    }

    fn tcp_source(&self, flow: &Flow, name: &str, hosts: &Tcp, span: Span) -> TcpSource {
        let tcp = TcpConfig::from(hosts);
        let mut stream = self.seed.stream(&format!("flow/{name}/traffic"));
        let segments = match flow.traffic {
            Traffic::Sessions(scenario::traffic::tcp::Sessions { idle, file }) => {
                let config = SessionConfig {
                    idle,
                    mu: file.mu,
                    sigma: file.sigma,
                    tcp,
                    overhead: hosts.overhead,
                };
                let sessions = Sessions::new(config, stream, span.start);
                let sessions = sessions.until(span.stop).noting_files();
                return TcpSource::Sessions(Box::new(sessions));
            }
            Traffic::File(file) => tcp.segments(file.size.0),
            _ => Sender::ENDLESS,
        };
        let start = span.start.since(Time::ZERO);
        let tcp = TcpConfig {
            receiver_window: receiver_window_at(&flow.receiver_window, start, tcp.receiver_window),
            ..tcp
        };
        let mut bulk = Bulk::new(tcp, segments, span.start, span.stop);
        if flow.traffic.has_files() {
            bulk = bulk.noting_files(&tcp);
        }
        let overhead = Overhead::of_connection(hosts.overhead, &mut stream);
        TcpSource::Bulk(match overhead {
            Some(overhead) => bulk.with_overhead(overhead),
            None => bulk,
        })
    }

    /// Adds a TCP flow whose routes lead from its source to its sink and back.
    pub(super) fn add_tcp_flow(
        &mut self,
        name: String,
        source: TcpSource,
        tcp: TcpConfig,
        (there, back): (&[u32], &[u32]),
    ) {
        let number = self.agents.next_tcp();
        let routes = &mut self.fabric.routes;
        let there = routes.add(there.iter().copied(), Terminal::Sink(number));
        let back = routes.add(back.iter().copied(), Terminal::Source(number));
        self.agents
            .add_tcp(source, &tcp, (there, back), &mut self.fabric);
        let kind = FlowKind::Tcp(number);
        self.flow_names.push(FlowName { name, kind });
    }

    fn datagram_source(&self, flow: &Flow, name: &str, span: Span) -> DatagramSource {
        let stream = self.seed.stream(&format!("flow/{name}/traffic"));
        let (pattern, packet) = match &flow.traffic {
            Traffic::Cbr(cbr) => {
                let config = CbrConfig {
                    interval: cbr.interval,
                    jitter: cbr.jitter,
                    drift: cbr.drift,
                };
                (Pattern::Cbr(Cbr::new(config, stream)), cbr.packet)
            }
            Traffic::Poisson(poisson) => {
                let mean = poisson.rate.transmission_time(poisson.packet);
                (Pattern::Poisson(Poisson::new(mean, stream)), poisson.packet)
            }
            Traffic::Exponential(bursts) => {
                let config = OnOffConfig {
                    peak: bursts.peak,
                    on: bursts.on,
                    off: bursts.off,
                    packet: bursts.packet,
                    sojourn: Sojourn::Exponential,
                };
                (Pattern::OnOff(OnOff::new(config, stream)), bursts.packet)
            }
            Traffic::Pareto(bursts) => {
                let config = OnOffConfig {
                    peak: bursts.peak,
                    on: bursts.on,
                    off: bursts.off,
                    packet: bursts.packet,
                    sojourn: Sojourn::Pareto(bursts.shape),
                };
                (Pattern::OnOff(OnOff::new(config, stream)), bursts.packet)
            }
            Traffic::Trace(recording) => {
                let entries = &recording.file.entries;
                let playback = Playback::new(entries.clone(), recording.repeat);
                let sizes = entries.iter().map(|packet| u64::from(packet.bytes));
                (Pattern::Playback(playback), Bytes(sizes.max().unwrap_or(0)))
            }
            Traffic::Ftp(_)
            | Traffic::File(_)
            | Traffic::Sessions(_)
            | Traffic::Spaced(_)
            | Traffic::Multihomed(_)
            | Traffic::Striped(_) => {
                unreachable!("TCP and what feedback steers have sources of their own")
            }
        };
        DatagramSource::new(pattern, bytes(packet), span.start, span.stop)
    }

    /// Adds a flow of datagrams whose route leads to its sink.
    pub(super) fn add_datagram_flow(
        &mut self,
        name: String,
        source: DatagramSource,
        there: &[u32],
    ) {
        let number = self.agents.next_datagrams();
        let end = Terminal::DatagramSink(number);
        let route = self.fabric.routes.add(there.iter().copied(), end);
        self.agents.add_datagrams(source, route, &mut self.fabric);
        let kind = FlowKind::Datagrams(number);
        self.flow_names.push(FlowName { name, kind });
    }
}

pub(super) fn bytes(size: Bytes) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}

pub(super) fn as_links(route: &[usize]) -> Vec<u32> {
    let number = |link: &usize| u32::try_from(*link).expect("fewer than 2^32 links");
    route.iter().map(number).collect()
}
