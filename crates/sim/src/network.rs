//! Builds the simulated network of a file.
//!
//! *Graph* ([`build_graph`]): the nodes, links and flows of a
//! [`Network`](polypath_scenario::Network), without ports.
//!
//! *Paths* ([`build`]): a path of k links has nodes v0 (server) to vk (client). Each of its links
//! is a pair of [`Link`]s, one for each direction, with equal parameters and separate random
//! streams. Paths that share a link use the same pair, which belongs to none of them. Background
//! hosts attach to the inner nodes v1 to v(k-1), each by its own pair of links; their flows stay on
//! their path and load its inner links equally.
//!
//! *Streams.* Each random stream is named after its component (`path1/n2/host7/tcp`,
//! `link/path1/core.0/client/loss`), so a changed path does not affect the others.

mod background;
mod convert;
mod destinations;
mod graph;

use std::collections::BTreeMap;

use polypath_core::frame::{PathId, Payload};
use polypath_core::policy::PathSet;
use polypath_core::rng::Seed;
use polypath_link::{Link, LinkConfig};
use polypath_scenario::network::RouteError;
use polypath_scenario::{LoadedPaths, Path};

use crate::agents::Agents;
use crate::fabric::Fabric;
use crate::route::Terminal;
use crate::world::{FlowName, LinkName, Names, Port, PortId, Side, World};
pub(crate) use convert::foreground_tcp;
pub use graph::{NoPayload, build_between_senders, build_graph};

/// An error in building the network of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A link is impossible.
    #[error("link {name}: {source}")]
    Link {
        /// The link.
        name: String,
        /// The problem.
        source: polypath_link::ConfigError,
    },
    /// More paths than an overlay can have.
    #[error("{0} paths are more than {max}", max = PathSet::CAPACITY)]
    TooManyPaths(usize),
    /// Background traffic has no two inner nodes to travel between.
    #[error("path {0}: background traffic needs at least 3 links")]
    TooFewLinks(String),
    /// No flow, or more than one, has the kind `multihomed`, or nodes are the senders of a network
    /// between sources.
    #[error("the network has no senders: give it one flow of kind `multihomed`")]
    NoSenders,
    /// A flow names a node that no link has, or a link that does not exist.
    #[error("there is no node or link `{0}`")]
    UnknownStop(String),
    /// A flow has no route.
    #[error("flow {flow}: {source}")]
    Route {
        /// The flow.
        flow: String,
        /// The cause.
        source: RouteError,
    },
}

/// The network of the paths of a file, with a port at each end of every path and idle background
/// sources.
///
/// # Errors
/// If the paths make no network; a file that was read has no such error.
pub fn build<'a, X: Payload>(
    paths: impl Into<LoadedPaths<'a>>,
    seed: Seed,
) -> Result<World<X>, BuildError> {
    let loaded = paths.into();
    let mut network = NetworkBuilder::new(seed);
    for (index, path) in loaded.paths.iter().enumerate() {
        let id = u8::try_from(index)
            .ok()
            .filter(|id| *id < PathSet::CAPACITY)
            .ok_or(BuildError::TooManyPaths(loaded.paths.len()))?;
        network.add_path(loaded, path, PathId(id))?;
    }
    Ok(network.finish())
}

/// A network under construction.
struct NetworkBuilder {
    seed: Seed,
    fabric: Fabric,
    agents: Agents,
    ports: Vec<Port>,
    link_names: Vec<LinkName>,
    flow_names: Vec<FlowName>,
    /// The links that paths share, to the client and to the server, by their names.
    shared: BTreeMap<String, (u32, u32)>,
}

/// The links of a path, in order from the server, by the side to which they carry packets.
struct Chain {
    path: PathId,
    to_client: Vec<u32>,
    to_server: Vec<u32>,
}

impl NetworkBuilder {
    fn new(seed: Seed) -> Self {
        Self {
            seed,
            fabric: Fabric::default(),
            agents: Agents::default(),
            ports: Vec::new(),
            link_names: Vec::new(),
            flow_names: Vec::new(),
            shared: BTreeMap::new(),
        }
    }

    fn finish<X: Payload>(self) -> World<X> {
        let names = Names {
            links: self.link_names,
            flows: self.flow_names,
        };
        World::new(self.fabric, self.agents, self.ports, names)
    }

    fn add_path(
        &mut self,
        loaded: LoadedPaths<'_>,
        path: &Path,
        id: PathId,
    ) -> Result<(), BuildError> {
        let chain = self.add_chain(path, id)?;
        self.add_port(id, Side::Server, chain.to_client.iter().copied());
        self.add_port(id, Side::Client, chain.to_server.iter().rev().copied());
        match loaded.profile(path).zip(loaded.profile_back(path)) {
            Some((profile, back)) => self.add_background(loaded.tcp, path, profile, back, &chain),
            None => Ok(()),
        }
    }

    fn add_chain(&mut self, path: &Path, id: PathId) -> Result<Chain, BuildError> {
        let mut chain = Chain {
            path: id,
            to_client: Vec::new(),
            to_server: Vec::new(),
        };
        let last = path.hops().saturating_sub(1);
        for (position, (name, link)) in path.expanded().enumerate() {
            let name = LinkName {
                name,
                path: (!link.shared).then_some(id),
                towards: None,
                inner: position > 0 && position < last,
            };
            let (to_client, to_server) = self.add_duplex(name, link)?;
            chain.to_client.push(to_client);
            chain.to_server.push(to_server);
        }
        Ok(chain)
    }

    /// The two directions of a link: those of an earlier path if the link is shared.
    fn add_duplex(
        &mut self,
        name: LinkName,
        link: &polypath_scenario::Link,
    ) -> Result<(u32, u32), BuildError> {
        if let Some(known) = self.shared.get(&name.name).filter(|_| link.shared) {
            return Ok(*known);
        }
        let mut add = |side, link: &polypath_scenario::Link| {
            let config = link.config().map_err(|source| BuildError::Link {
                name: name.name.clone(),
                source,
            })?;
            let towards = Some(side);
            self.add_link(
                &config,
                LinkName {
                    towards,
                    ..name.clone()
                },
            )
        };
        let both = (
            add(Side::Client, link)?,
            add(Side::Server, &link.reversed())?,
        );
        if link.shared {
            self.shared.insert(name.name, both);
        }
        Ok(both)
    }

    fn add_link(&mut self, config: &LinkConfig, name: LinkName) -> Result<u32, BuildError> {
        let stream = match name.towards {
            Some(Side::Client) => format!("{}/client", name.name),
            Some(Side::Server) => format!("{}/server", name.name),
            None => name.name.clone(),
        };
        let duplex = duplex_name(&name.name);
        let link = Link::of_duplex(config, self.seed, &stream, duplex);
        let link = link.map_err(|source| BuildError::Link {
            name: name.name.clone(),
            source,
        })?;
        self.fabric.links.push(link);
        self.link_names.push(name);
        Ok(u32::try_from(self.link_names.len() - 1).expect("fewer than 2^32 links"))
    }

    /// Adds a port whose packets cross `links` and leave at the port of the other side.
    fn add_port(&mut self, path: PathId, side: Side, links: impl Iterator<Item = u32>) {
        let id = PortId { path, side };
        debug_assert_eq!(id.position(), self.ports.len(), "ports are added in order");
        let exit = u32::try_from(id.opposite().position()).expect("two ports a path");
        let route = self.fabric.routes.add(links, Terminal::Port(exit));
        self.ports.push(Port { id, route });
    }
}

/// The name that both directions of a link have; in a graph that of the reverse one ends in `/back`.
fn duplex_name(name: &str) -> &str {
    name.strip_suffix("/back").unwrap_or(name)
}

#[cfg(test)]
mod tests;
