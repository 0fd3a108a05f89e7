//! Preset topologies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::Graph;
use crate::path::Link;

/// A preset topology with its dimensions; all its links are duplex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "preset", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Hosts `left0`, `left1`, ... behind `west`, hosts `right0`, ... behind `east`, one link
    /// `bottleneck` between them (`MultiTCP` paper, 5.1).
    Dumbbell {
        /// The number of hosts on each side.
        #[schemars(range(min = 1, max = 100_000))]
        pairs: u32,
        /// The link of every host, called `access-HOST`.
        access: Link,
        /// The link between the sides.
        bottleneck: Link,
    },
    /// Hosts `sender0`, `sender1`, ... behind `gateway`, one link `bottleneck` from there to `sink`
    /// (packet-spacing paper, Figure 6).
    Merge {
        /// The number of senders.
        #[schemars(range(min = 1, max = 100_000))]
        senders: u32,
        /// The link of every sender, called `access-SENDER`.
        access: Link,
        /// The link that they share.
        bottleneck: Link,
    },
    /// Nodes `n0` to `nK` in a row with K links `core.0`, ..., and hosts `n1h0`, `n1h1`, ... at
    /// every inner node (PPD paper, Figure 2: one path).
    Chain {
        /// The number of links in the row.
        #[schemars(range(min = 1, max = 1000))]
        hops: u32,
        /// The number of hosts at every inner node.
        #[serde(default)]
        #[schemars(range(max = 10_000))]
        hosts: u32,
        /// Each link of the row.
        core: Link,
        /// The link of every host, called `access-HOST`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        access: Option<Link>,
    },
    /// Paths without a common link from `server` to `client`: `path0.0`, `path0.1`, ... over nodes
    /// `p0n1`, ... (PPD paper, Figure 2).
    ParallelPaths {
        /// The number of paths.
        #[schemars(range(min = 1, max = 1000))]
        paths: u32,
        /// The number of links in each.
        #[schemars(range(min = 1, max = 1000))]
        hops: u32,
        /// Each of these links.
        core: Link,
    },
}

impl Topology {
    /// The dimension, with its value, that is too small for a host of this name, if it is the name
    /// of a host.
    pub(super) fn measure_of(&self, host: &str) -> Option<(&'static str, u32)> {
        let is_numbered = |kind: &str| {
            let number = host.strip_prefix(kind);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        match self {
            Self::Dumbbell { pairs, .. } if is_numbered("left") || is_numbered("right") => {
                Some(("pairs", *pairs))
            }
            Self::Merge { senders, .. } if is_numbered("sender") => Some(("senders", *senders)),
            Self::Chain { hops, hosts, .. } => {
                let kinds = (1..*hops).map(|node| format!("n{node}h"));
                let mut found = kinds.map(|kind| is_numbered(&kind));
                found.any(|found| found).then_some(("hosts", *hosts))
            }
            _ => None,
        }
    }

    /// Its kinds of links, by their keys.
    pub(super) fn link_kinds(&self) -> Vec<(&'static str, &Link)> {
        match self {
            Self::Dumbbell {
                access, bottleneck, ..
            }
            | Self::Merge {
                access, bottleneck, ..
            } => by_keys(Some(access), None, Some(bottleneck)),
            Self::Chain { core, access, .. } => by_keys(access.as_ref(), Some(core), None),
            Self::ParallelPaths { core, .. } => by_keys(None, Some(core), None),
        }
    }

    pub(super) fn link_kinds_mut(&mut self) -> Vec<(&'static str, &mut Link)> {
        match self {
            Self::Dumbbell {
                access, bottleneck, ..
            }
            | Self::Merge {
                access, bottleneck, ..
            } => by_keys(Some(access), None, Some(bottleneck)),
            Self::Chain { core, access, .. } => by_keys(access.as_mut(), Some(core), None),
            Self::ParallelPaths { core, .. } => by_keys(None, Some(core), None),
        }
    }

    pub(super) fn add_to(&self, graph: &mut Graph) {
        match self {
            Self::Dumbbell {
                pairs,
                access,
                bottleneck,
            } => {
                graph.connect("west", "east", false, "bottleneck", bottleneck);
                for number in 0..*pairs {
                    attach(graph, &format!("left{number}"), "west", access);
                    attach(graph, &format!("right{number}"), "east", access);
                }
            }
            Self::Merge {
                senders,
                access,
                bottleneck,
            } => {
                graph.connect("gateway", "sink", false, "bottleneck", bottleneck);
                for number in 0..*senders {
                    attach(graph, &format!("sender{number}"), "gateway", access);
                }
            }
            Self::Chain {
                hops,
                hosts,
                core,
                access,
            } => add_chain(graph, *hops, *hosts, core, access.as_ref().unwrap_or(core)),
            Self::ParallelPaths { paths, hops, core } => {
                for path in 0..*paths {
                    add_path(graph, path, *hops, core);
                }
            }
        }
    }
}

/// The kinds of links that there are, by their keys.
fn by_keys<L>(access: Option<L>, core: Option<L>, bottleneck: Option<L>) -> Vec<(&'static str, L)> {
    let kinds = [
        ("access", access),
        ("core", core),
        ("bottleneck", bottleneck),
    ];
    let known = kinds.into_iter();
    known.filter_map(|(key, link)| Some((key, link?))).collect()
}

fn attach(graph: &mut Graph, host: &str, node: &str, access: &Link) {
    graph.connect(host, node, false, &format!("access-{host}"), access);
}

fn add_chain(graph: &mut Graph, hops: u32, hosts: u32, core: &Link, access: &Link) {
    for hop in 0..hops {
        let (from, to) = (format!("n{hop}"), format!("n{}", hop + 1));
        graph.connect(&from, &to, false, &format!("core.{hop}"), core);
    }
    for node in 1..hops {
        for host in 0..hosts {
            attach(
                graph,
                &format!("n{node}h{host}"),
                &format!("n{node}"),
                access,
            );
        }
    }
}

fn add_path(graph: &mut Graph, path: u32, hops: u32, core: &Link) {
    let node = |number: u32| match number {
        0 => "server".to_owned(),
        _ if number == hops => "client".to_owned(),
        _ => format!("p{path}n{number}"),
    };
    for hop in 0..hops {
        let name = format!("path{path}.{hop}");
        graph.connect(&node(hop), &node(hop + 1), false, &name, core);
    }
}
