//! The network of a graph: its links, and its flows at rest.

use polypath_core::frame::{PathId, Payload};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_scenario::Tcp;
use polypath_scenario::network as scenario;
use polypath_scenario::network::activity::WindowChange;
use polypath_scenario::network::{Flow, Graph, RoundTrip, RouteError, Router, Stop};

use super::{BuildError, NetworkBuilder};
use crate::agents::datagrams::DatagramSource;
use crate::agents::setup::{FlowSetup, RoutePair, Span, link_numbers};
use crate::agents::tcp::TcpSource;
use crate::agents::{self, BuiltFlow};
use crate::flow::FlowKind;
use crate::route::Terminal;
use crate::tcp::TcpConfig;
use crate::world::{FlowName, LinkName, Side, World};

/// The input of a network without ports, which has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPayload {}

impl Payload for NoPayload {
    fn len(&self) -> usize {
        match *self {}
    }
}

/// The network of a graph, without ports, and its flows before their start.
pub fn build_graph(
    network: &scenario::Network,
    seed: Seed,
) -> Result<World<NoPayload>, BuildError> {
    let graph = network.graph();
    let mut built = NetworkBuilder::with_links(&graph, seed)?;
    built.add_flows(network, &graph, |_| true)?;
    if network.run.percentiles {
        let groups = network.flows.iter().zip(0..);
        let groups = groups.flat_map(|(flow, group)| (0..flow.count).map(move |_| group));
        let kinds = built.flow_names.iter().map(|flow| flow.kind);
        let count = network.flows.len();
        built.agents.measure_delays(kinds.zip(groups), count);
    }
    Ok(built.finish())
}

/// The network of a graph with senders ([`scenario::Senders`]), which run outside: each of their
/// paths has a port at the senders ([`Side::Server`]) and one at the receiver ([`Side::Client`]).
/// The other flows run inside.
///
/// # Errors
/// If the graph makes no network, or there are no senders.
pub fn build_between_senders<X: Payload>(
    network: &scenario::Network,
    seed: Seed,
) -> Result<World<X>, BuildError> {
    let senders = network.senders().ok_or(BuildError::NoSenders)?;
    let graph = network.graph();
    let mut built = NetworkBuilder::with_links(&graph, seed)?;
    let trips = round_trips(senders.flow, 0, &graph, &mut Router::new(&graph))
        .map_err(|error| error.of(&senders.flow.name))?;
    for (path, trip) in (0..).map(PathId).zip(&trips) {
        let links = RouteLinks::of(trip);
        built.add_port(path, Side::Server, links.there.into_iter());
        built.add_port(path, Side::Client, links.back.into_iter());
    }
    built.add_flows(network, &graph, |position| position != senders.position)?;
    Ok(built.finish())
}

/// The links that a flow crosses.
pub(super) struct RouteLinks {
    /// The route from the sender to the receiver.
    pub(super) there: Vec<u32>,
    /// The route from the receiver to the sender.
    pub(super) back: Vec<u32>,
}

impl RouteLinks {
    fn of(trip: &RoundTrip) -> Self {
        Self {
            there: link_numbers(&trip.there),
            back: link_numbers(&trip.back),
        }
    }
}

/// The links of each route of the flow of this number.
fn round_trips(
    flow: &Flow,
    number: u32,
    graph: &Graph,
    router: &mut Router<'_>,
) -> Result<Vec<RoundTrip>, FlowRouteError> {
    let all_stops = flow.routes(number).map(|stops| known(stops, graph));
    let all_stops = all_stops.collect::<Result<Vec<_>, _>>()?;
    let mut route = |stops: &Vec<Stop>| {
        if flow.traffic.needs_return_route() {
            return router.round_trip(stops);
        }
        let there = router.route(stops)?;
        let back = Vec::new();
        Ok(RoundTrip { there, back })
    };
    all_stops.iter().map(|stops| Ok(route(stops)?)).collect()
}

/// The stops of these names.
fn known(stops: Vec<String>, graph: &Graph) -> Result<Vec<Stop>, FlowRouteError> {
    let find = |stop: String| graph.stop(&stop).ok_or(FlowRouteError::UnknownStop(stop));
    stops.into_iter().map(find).collect()
}

/// A flow without a route.
enum FlowRouteError {
    UnknownStop(String),
    Route(RouteError),
}

impl From<RouteError> for FlowRouteError {
    fn from(error: RouteError) -> Self {
        Self::Route(error)
    }
}

impl FlowRouteError {
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

/// A flow of a file by its number, and the times between which its datagrams are due.
struct FlowOfRun<'a> {
    flow: &'a Flow,
    number: u32,
    due: [Time; 2],
}

impl NetworkBuilder {
    /// The links of a graph.
    fn with_links(graph: &Graph, seed: Seed) -> Result<Self, BuildError> {
        let mut built = Self::new(seed);
        for link in &graph.links {
            let name = LinkName {
                name: link.name.clone(),
                path: None,
                towards: None,
                inner: false,
            };
            let config = link.link.config().map_err(|source| BuildError::Link {
                name: link.name.clone(),
                source,
            })?;
            built.add_link(&config, name)?;
        }
        Ok(built)
    }

    /// Adds the flows at the positions that `is_wanted` selects.
    fn add_flows(
        &mut self,
        network: &scenario::Network,
        graph: &Graph,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<(), BuildError> {
        let (mut router, due) = (Router::new(graph), network.due_span());
        let flows = network.flows.iter().enumerate();
        for (_, flow) in flows.filter(|(position, _)| is_wanted(*position)) {
            let hosts = flow.tcp.apply(&network.tcp);
            for number in 0..flow.count {
                let of_run = FlowOfRun { flow, number, due };
                self.add_flow(&hosts, of_run, graph, &mut router)?;
            }
        }
        Ok(())
    }

    fn add_flow(
        &mut self,
        hosts: &Tcp,
        FlowOfRun { flow, number, due }: FlowOfRun<'_>,
        graph: &Graph,
        router: &mut Router<'_>,
    ) -> Result<(), BuildError> {
        let name = flow.name_of(number);
        let round_trips =
            round_trips(flow, number, graph, router).map_err(|error| error.of(&name))?;
        let [start, stop] = flow.span(self.seed, &name);
        let mut setup = FlowSetup {
            name: &name,
            flow,
            hosts,
            span: Span { start, stop },
            round_trips: &round_trips,
            graph,
            seed: self.seed,
            due,
            number: self.agents.next_agent(),
            routes: &mut self.fabric.routes,
        };
        match agents::build(&mut setup) {
            BuiltFlow::Tcp(source) => {
                self.schedule_windows(&flow.receiver_window);
                let links = RouteLinks::of(&round_trips[0]);
                self.add_tcp_flow(name, source, TcpConfig::from(hosts), links);
            }
            BuiltFlow::Datagrams(source) => {
                self.add_datagram_flow(name, source, RouteLinks::of(&round_trips[0]).there);
            }
            BuiltFlow::Agent(agent) => {
                let kind = FlowKind::Agent(self.agents.next_agent());
                self.agents.add_agent(agent, &mut self.fabric);
                self.flow_names.push(FlowName { name, kind });
            }
        }
        Ok(())
    }

    /// Schedules the changes of the receiver window of the TCP flow added next, so that
    /// they precede its own events of the same time.
    fn schedule_windows(&mut self, changes: &[WindowChange]) {
        let number = self.agents.tcp.next_number();
        for change in changes {
            let at = Time::ZERO + change.at;
            let fabric = &mut self.fabric;
            self.agents
                .tcp
                .schedule_window(at, number, change.window, fabric);
        }
    }

    /// Adds a TCP flow whose routes lead from its source to its sink and back.
    pub(super) fn add_tcp_flow(
        &mut self,
        name: String,
        source: TcpSource,
        tcp: TcpConfig,
        links: RouteLinks,
    ) {
        let number = self.agents.tcp.next_number();
        let routes = &mut self.fabric.routes;
        let routes = RoutePair {
            there: routes.add(links.there, Terminal::Sink(number)),
            back: routes.add(links.back, Terminal::Source(number)),
        };
        let fabric = &mut self.fabric;
        self.agents.tcp.add(source, &tcp, routes, fabric);
        let kind = FlowKind::Tcp(number);
        self.flow_names.push(FlowName { name, kind });
    }

    /// Adds a flow of datagrams whose route leads to its sink.
    pub(super) fn add_datagram_flow(
        &mut self,
        name: String,
        source: DatagramSource,
        there: Vec<u32>,
    ) {
        let number = self.agents.datagrams.next_number();
        let end = Terminal::DatagramSink(number);
        let route = self.fabric.routes.add(there, end);
        self.agents.datagrams.add(source, route, &mut self.fabric);
        let kind = FlowKind::Datagrams(number);
        self.flow_names.push(FlowName { name, kind });
    }
}
