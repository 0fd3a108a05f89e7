//! Static routes: the fewest links, or the nodes that a flow states.

use std::collections::{BTreeMap, VecDeque};

use super::graph::Graph;

/// Why there is no route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No links lead from one to the other.
    #[error("no links lead from `{from}` to `{to}`")]
    Unreachable {
        /// The node where the search began.
        from: String,
        /// The node that it did not find.
        to: String,
    },
    /// An explicit path comes back to where it was.
    #[error("the path passes `{0}` twice")]
    Loop(String),
    /// It ends where it begins, and has no links.
    #[error("the flow leads from `{0}` to itself")]
    Nowhere(String),
}

/// Finds routes by the fewest links; of equally short ones that over the links which come first in the file.
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

    /// The links from the first of `stops` over the others, in order, to the last.
    ///
    /// # Errors
    /// Where two stops in a row are not connected, a node comes twice, or the last is the first.
    pub fn route(&mut self, stops: &[usize]) -> Result<Vec<usize>, RouteError> {
        if let (Some(first), true) = (stops.first(), stops.first() == stops.last()) {
            return Err(RouteError::Nowhere(self.graph.nodes[*first].clone()));
        }
        let mut route = Vec::new();
        for pair in stops.windows(2) {
            let leg = self.leg(pair[0], pair[1]);
            route.extend(leg.ok_or_else(|| RouteError::Unreachable {
                from: self.graph.nodes[pair[0]].clone(),
                to: self.graph.nodes[pair[1]].clone(),
            })?);
        }
        self.refuse_loops(stops, &route)?;
        Ok(route)
    }

    fn refuse_loops(&self, stops: &[usize], route: &[usize]) -> Result<(), RouteError> {
        let first = stops.first().copied();
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
    /// Where a single link leaves the first node or enters the last, it is taken, and the search is between its
    /// other end: the routes of a thousand hosts behind two routers are searched once.
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
