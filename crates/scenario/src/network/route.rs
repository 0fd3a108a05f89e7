//! Static routes: the fewest links, or the nodes and links that a flow states.

use std::collections::{BTreeMap, VecDeque};

use super::graph::Graph;

/// The reason for which no route exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No links lead from one to the other.
    #[error("no links lead from `{from}` to `{to}`")]
    Unreachable {
        /// The node at which the search started.
        from: String,
        /// The node that was not reached.
        to: String,
    },
    /// An explicit route passes a node twice.
    #[error("the path passes `{0}` twice")]
    Loop(String),
    /// An explicit route lists an end of the flow.
    #[error("`{0}` is an end of the flow")]
    End(String),
    /// The return route would use a simplex link.
    #[error("the link `{0}` is simplex, and nothing comes back over it")]
    OneWay(String),
    /// Both ends are the same node.
    #[error("the flow leads from `{0}` to itself")]
    Nowhere(String),
}

/// A node or link on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A node, by its number.
    Node(usize),
    /// A link, by the number of either direction; the route uses the direction of travel.
    Link(usize),
}

/// A route and the return route of its ACKs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The numbers of the links, in order.
    pub there: Vec<usize>,
    /// The numbers of the links of the return route, over the same explicit links.
    pub back: Vec<usize>,
}

/// Finds routes with the fewest links; of equally short ones, that over the earliest links of the
/// file.
#[derive(Debug)]
pub struct Router<'a> {
    graph: &'a Graph,
    /// The links that leave each node, in the order of the file.
    out: Vec<Vec<usize>>,
    /// The links that enter each node.
    into: Vec<Vec<usize>>,
    /// Routes that were searched before.
    known: BTreeMap<(usize, usize), Option<Vec<usize>>>,
}

impl<'a> Router<'a> {
    /// A router for a graph.
    #[must_use]
    pub fn new(graph: &'a Graph) -> Self {
        let mut out = vec![Vec::new(); graph.nodes.len()];
        let mut into = vec![Vec::new(); graph.nodes.len()];
        for (number, link) in graph.links.iter().enumerate() {
            out[link.from].push(number);
            into[link.to].push(number);
        }
        Self {
            graph,
            out,
            into,
            known: BTreeMap::new(),
        }
    }

    /// The links from the first of `stops` over the others, in order, to the last; both ends are
    /// nodes. A link is entered at its nearer end.
    ///
    /// # Errors
    /// Consecutive stops that are not connected, a node that is passed twice, or equal ends.
    pub fn route(&mut self, stops: &[Stop]) -> Result<Vec<usize>, RouteError> {
        let directed = self.direct(stops)?;
        self.follow(&directed)
    }

    /// The route over `stops` like [`Router::route`], and back over the same stops.
    ///
    /// # Errors
    /// As [`Router::route`] for both directions, and a simplex link among the stops.
    pub fn round_trip(&mut self, stops: &[Stop]) -> Result<RoundTrip, RouteError> {
        let mut directed = self.direct(stops)?;
        let there = self.follow(&directed)?;
        directed.reverse();
        for stop in &mut directed {
            if let Stop::Link(link) = stop {
                let link_there = &self.graph.links[*link];
                let back = self.graph.opposite(*link);
                *link = back.ok_or_else(|| RouteError::OneWay(link_there.name.clone()))?;
            }
        }
        let back = self.follow(&directed)?;
        Ok(RoundTrip { there, back })
    }

    /// The stops with each link in the direction of travel.
    fn direct(&mut self, stops: &[Stop]) -> Result<Vec<Stop>, RouteError> {
        self.refuse_ends(stops)?;
        let mut at = None;
        let mut directed = Vec::with_capacity(stops.len());
        for &stop in stops {
            let stop = match (stop, at) {
                (Stop::Link(link), Some(at)) => Stop::Link(self.in_direction(at, link)),
                (stop, _) => stop,
            };
            at = Some(self.exit(stop));
            directed.push(stop);
        }
        Ok(directed)
    }

    fn refuse_ends(&self, stops: &[Stop]) -> Result<(), RouteError> {
        let [first, inner @ .., last] = stops else {
            return Ok(());
        };
        let name = |stop: &Stop| match *stop {
            Stop::Node(node) => self.graph.nodes[node].clone(),
            Stop::Link(link) => self.graph.links[link].name.clone(),
        };
        if first == last {
            return Err(RouteError::Nowhere(name(first)));
        }
        match inner.iter().find(|stop| *stop == first || *stop == last) {
            Some(end) => Err(RouteError::End(name(end))),
            None => Ok(()),
        }
    }

    /// The direction of `link` whose start is nearer to the node `at`; of equally near ones, the
    /// named one.
    fn in_direction(&mut self, at: usize, link: usize) -> usize {
        let graph = self.graph;
        let far = |router: &mut Self, link: usize| {
            let leg = router.leg(at, graph.links[link].from);
            leg.map_or(usize::MAX, |leg| leg.len())
        };
        match graph.opposite(link) {
            Some(opposite) if far(self, opposite) < far(self, link) => opposite,
            _ => link,
        }
    }

    /// The links over stops whose links have the direction of travel.
    fn follow(&mut self, stops: &[Stop]) -> Result<Vec<usize>, RouteError> {
        let mut route = Vec::new();
        for pair in stops.windows(2) {
            let (from, to) = (self.exit(pair[0]), self.entry(pair[1]));
            let leg = self.leg(from, to);
            route.extend(leg.ok_or_else(|| RouteError::Unreachable {
                from: self.graph.nodes[from].clone(),
                to: self.graph.nodes[to].clone(),
            })?);
            if let Stop::Link(link) = pair[1] {
                route.push(link);
            }
        }
        let first = stops.first().map(|stop| self.entry(*stop));
        self.refuse_loops(first, &route)?;
        Ok(route)
    }

    fn entry(&self, stop: Stop) -> usize {
        match stop {
            Stop::Node(node) => node,
            Stop::Link(link) => self.graph.links[link].from,
        }
    }

    fn exit(&self, stop: Stop) -> usize {
        match stop {
            Stop::Node(node) => node,
            Stop::Link(link) => self.graph.links[link].to,
        }
    }

    fn refuse_loops(&self, first: Option<usize>, route: &[usize]) -> Result<(), RouteError> {
        let nodes = first
            .into_iter()
            .chain(route.iter().map(|l| self.graph.links[*l].to));
        let mut nodes: Vec<usize> = nodes.collect();
        nodes.sort_unstable();
        match nodes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(RouteError::Loop(self.graph.nodes[pair[0]].clone())),
            None => Ok(()),
        }
    }

    /// The links from one node to another.
    ///
    /// Where a single link leaves the first node or enters the last, it is taken, and the search is
    /// between its other end: the routes of a thousand hosts behind two routers are searched once.
    fn leg(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        if from == to {
            return Some(Vec::new());
        }
        let (mut route, mut first) = (Vec::new(), from);
        if let [only] = self.out[from][..] {
            (route, first) = (vec![only], self.graph.links[only].to);
        }
        let mut last = None;
        if let [only] = self.into[to][..]
            && first != to
        {
            last = Some(only);
        }
        let end = last.map_or(to, |link| self.graph.links[link].from);
        route.extend(self.search(first, end)?);
        route.extend(last);
        Some(route)
    }

    fn search(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        if from == to {
            return Some(Vec::new());
        }
        if let Some(known) = self.known.get(&(from, to)) {
            return known.clone();
        }
        let found = self.breadth_first(from, to);
        self.known.insert((from, to), found.clone());
        found
    }

    fn breadth_first(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_by: Vec<Option<usize>> = vec![None; self.graph.nodes.len()];
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            for &link in &self.out[node] {
                let next = self.graph.links[link].to;
                if next == from || came_by[next].is_some() {
                    continue;
                }
                came_by[next] = Some(link);
                if next == to {
                    return Some(self.trace(from, to, &came_by));
                }
                open.push_back(next);
            }
        }
        None
    }

    fn trace(&self, from: usize, to: usize, came_by: &[Option<usize>]) -> Vec<usize> {
        let mut route = Vec::new();
        let mut at = to;
        while at != from
            && let Some(link) = came_by[at]
        {
            route.push(link);
            at = self.graph.links[link].from;
        }
        route.reverse();
        route
    }
}
