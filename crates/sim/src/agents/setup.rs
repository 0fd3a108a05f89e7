//! The context in which the network builds a flow.

use polypath_core::rng::{Seed, Stream};
use polypath_core::time::Time;
use polypath_core::units::Bytes;
use polypath_scenario::Tcp;
use polypath_scenario::network::{Flow, Graph, RoundTrip, flow_stream};

use crate::route::{AgentEnd, Cursor, FlowEnd, Routes, Terminal};

/// The start and stop times of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: Time,
    pub(crate) stop: Time,
}

/// A flow of a graph, and the network under construction.
pub(crate) struct FlowSetup<'a> {
    /// The name of the flow, from which its random streams take theirs.
    pub(crate) name: &'a str,
    pub(crate) flow: &'a Flow,
    /// The TCP settings of its hosts.
    pub(crate) hosts: &'a Tcp,
    pub(crate) span: Span,
    /// The links of each route and its return route; the latter is empty where the flow needs none.
    pub(crate) round_trips: &'a [RoundTrip],
    pub(crate) graph: &'a Graph,
    pub(crate) seed: Seed,
    /// The times between which a datagram is sent whose arrival is due before the end of the run.
    pub(crate) due: [Time; 2],
    /// The number of its agent.
    pub(crate) number: u32,
    pub(crate) routes: &'a mut Routes,
}

/// A route and its return route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutePair {
    /// The route from the sender to the receiver.
    pub(crate) there: Cursor,
    /// The route from the receiver to the sender.
    pub(crate) back: Cursor,
}

impl FlowSetup<'_> {
    /// The random stream of a part of the flow.
    pub(super) fn stream(&self, part: &str) -> Stream {
        flow_stream(self.seed, self.name, part)
    }

    /// Adds all routes between the ends of the agent.
    pub(super) fn add_routes(&mut self) -> Vec<RoutePair> {
        let end = |end| Terminal::Agent(AgentEnd::new(self.number, end));
        let add = |trip: &RoundTrip| RoutePair {
            there: self
                .routes
                .add(link_numbers(&trip.there), end(FlowEnd::Receiver)),
            back: self
                .routes
                .add(link_numbers(&trip.back), end(FlowEnd::Sender)),
        };
        self.round_trips.iter().map(add).collect()
    }

    /// Adds the only route.
    pub(super) fn add_route(&mut self) -> RoutePair {
        self.add_routes()[0]
    }
}

/// The numbers of links as routes have them.
pub(crate) fn link_numbers(route: &[usize]) -> Vec<u32> {
    let number = |link: &usize| u32::try_from(*link).expect("fewer than 2^32 links");
    route.iter().map(number).collect()
}

/// A size on the wire in bytes.
pub(super) fn wire_size(size: Bytes) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}
