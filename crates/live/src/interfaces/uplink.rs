//! The assignment of uplinks to paths, under `paths = "auto"`: pure decisions, without sockets.
//!
//! An uplink is an interface with a route to the target of a path. An uplink that stays keeps its
//! path. New uplinks are assigned in the order of their route metrics, each to the path that it had
//! before, if that is free. As many paths as possible get one, without moving an uplink that stays.

use std::net::IpAddr;

use super::network::{Link, Network};

/// The interface alias that marks the TUN devices of nodes.
pub(crate) const TUN_ALIAS: &str = "polypath node";

/// An interface that can carry at least one of the paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uplink {
    pub(crate) name: String,
    /// The metric of its best route; lower is better.
    metric: u32,
    /// The source addresses for each path, best first; empty where it cannot carry the path.
    sources: Vec<Vec<IpAddr>>,
    /// Its deprecated addresses.
    deprecated: Vec<IpAddr>,
}

/// The uplink of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AssignedUplink {
    /// The name of the interface.
    pub(crate) name: String,
    /// The source address of the path's datagrams.
    pub(crate) source: IpAddr,
}

/// The assignment of uplinks to paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UplinkAssignment {
    paths: Vec<PathAssignment>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PathAssignment {
    current: Option<AssignedUplink>,
    /// The interface that the path had last.
    last: Option<String>,
}

/// The uplinks in `network` for paths to `targets`, best route first, among the interfaces that
/// `allowed` accepts.
pub(crate) fn uplinks(
    network: &Network,
    targets: &[IpAddr],
    allowed: impl Fn(&str) -> bool,
) -> Vec<Uplink> {
    let may_be = |link: &&Link| obstacle(network, link, targets, &allowed).is_none();
    let links = network.links.iter().filter(may_be);
    let mut uplinks: Vec<_> = links
        .filter_map(|link| uplink(network, link, targets))
        .collect();
    uplinks.sort_by(|a, b| (a.metric, &a.name).cmp(&(b.metric, &b.name)));
    uplinks
}

/// The interfaces that are not uplinks, each with the reason, for a message.
///
/// Loopback and the TUN devices of nodes are left out: they are never expected to be uplinks.
pub(crate) fn obstacles(
    network: &Network,
    targets: &[IpAddr],
    allowed: impl Fn(&str) -> bool,
) -> Vec<String> {
    let may_be = |link: &&Link| !link.is_loopback && link.alias != TUN_ALIAS;
    let links = network.links.iter().filter(may_be);
    let obstacles = links.filter_map(|link| {
        let why = obstacle(network, link, targets, &allowed)?;
        Some(format!("{}: {why}", link.name))
    });
    obstacles.collect()
}

/// The reason why `link` is not an uplink; `None` if it is one.
fn obstacle(
    network: &Network,
    link: &Link,
    targets: &[IpAddr],
    allowed: &impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let leads_to = |target: &&IpAddr| {
        let mut routes = network.routes.iter();
        routes.any(|route| route.link == link.index && route.destination.contains(*target))
    };
    let has_source = |target: &IpAddr| !sources(network, link.index, *target).is_empty();
    let mut routed = targets.iter().filter(leads_to).peekable();
    if link.is_loopback {
        Some("loopback")
    } else if link.alias == TUN_ALIAS {
        Some("the TUN device of a node")
    } else if !allowed(&link.name) {
        Some("excluded by `auto`")
    } else if !link.is_up {
        Some("down or without a carrier")
    } else if routed.peek().is_none() {
        Some("no route to the target of a path")
    } else if !routed.any(has_source) {
        Some("no routable address of the family of the target of a path")
    } else {
        None
    }
}

fn uplink(network: &Network, link: &Link, targets: &[IpAddr]) -> Option<Uplink> {
    let routes = || {
        network
            .routes
            .iter()
            .filter(|route| route.link == link.index)
    };
    let leads = |target: IpAddr| routes().filter(move |route| route.destination.contains(&target));
    let sources = |target: &IpAddr| match leads(*target).next() {
        Some(_) => sources(network, link.index, *target),
        None => Vec::new(),
    };
    let sources: Vec<_> = targets.iter().map(sources).collect();
    let usable = targets
        .iter()
        .zip(&sources)
        .filter(|(_, sources)| !sources.is_empty());
    let metrics = usable.flat_map(|(target, _)| leads(*target).map(|route| route.metric));
    let deprecated = network.addresses.iter();
    let deprecated =
        deprecated.filter(|address| address.link == link.index && address.is_deprecated);
    Some(Uplink {
        name: link.name.clone(),
        metric: metrics.min()?,
        deprecated: deprecated.map(|address| address.ip).collect(),
        sources,
    })
}

/// The source addresses of interface `link` for `target`, best first.
fn sources(network: &Network, link: u32, target: IpAddr) -> Vec<IpAddr> {
    // Hosts beyond a site do not answer to its unique local addresses (RFC 4193).
    let is_local = |ip: IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unique_local());
    let addresses = network.addresses.iter().filter(|address| {
        address.link == link && address.is_routable && address.ip.is_ipv4() == target.is_ipv4()
    });
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_by_key(|address| {
        let differs_in_scope = is_local(address.ip) != is_local(target);
        (
            differs_in_scope,
            address.is_deprecated,
            address.is_secondary,
        )
    });
    addresses.into_iter().map(|address| address.ip).collect()
}

impl Uplink {
    /// Whether `path` may keep sending from `source`.
    fn keeps(&self, path: usize, source: IpAddr) -> bool {
        let is_deprecated = |ip: &IpAddr| self.deprecated.contains(ip);
        let sources = &self.sources[path];
        let is_better = |best: &IpAddr| is_deprecated(&source) && !is_deprecated(best);
        sources.contains(&source) && !sources.first().is_some_and(is_better)
    }

    fn carries(&self, path: usize) -> bool {
        self.sources
            .get(path)
            .is_some_and(|sources| !sources.is_empty())
    }
}

impl UplinkAssignment {
    /// An assignment for `paths` paths, none of which has an uplink yet.
    pub(crate) fn new(paths: usize) -> Self {
        Self {
            paths: vec![PathAssignment::default(); paths],
        }
    }

    /// The uplink of path `index`, if it has one.
    pub(crate) fn of(&self, index: usize) -> Option<&AssignedUplink> {
        self.paths.get(index)?.current.as_ref()
    }

    /// Assigns `uplinks` and returns the names of those without a path, best first.
    pub(crate) fn assign(&mut self, uplinks: &[Uplink]) -> Vec<String> {
        for (index, path) in self.paths.iter_mut().enumerate() {
            path.keep_or_release(index, uplinks);
        }
        let kept: Vec<_> = self.paths.iter().flat_map(|path| &path.current).collect();
        let is_new = |uplink: &&Uplink| kept.iter().all(|kept| kept.name != uplink.name);
        let new: Vec<_> = uplinks.iter().filter(is_new).collect();
        let mut taken = vec![None; self.paths.len()];
        let mut surplus = Vec::new();
        for number in 0..new.len() {
            let mut tried = vec![false; self.paths.len()];
            if !self.augment(number, &new, &mut taken, &mut tried) {
                surplus.push(new[number].name.clone());
            }
        }
        for (index, number) in taken.into_iter().enumerate() {
            if let Some(number) = number {
                self.paths[index].take(index, new[number]);
            }
        }
        surplus
    }

    /// Finds a path for uplink `number` of `new` along an augmenting path of the matching `taken`,
    /// among the paths not yet `tried` (H. W. Kuhn, "The Hungarian method", 1955); returns whether
    /// there is one.
    fn augment(
        &self,
        number: usize,
        new: &[&Uplink],
        taken: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        let candidates = self.candidates(new[number]);
        if let Some(free) = candidates.iter().find(|path| taken[**path].is_none()) {
            taken[*free] = Some(number);
            return true;
        }
        for path in candidates {
            if !std::mem::replace(&mut tried[path], true)
                && let Some(other) = taken[path]
                && self.augment(other, new, taken, tried)
            {
                taken[path] = Some(number);
                return true;
            }
        }
        false
    }

    /// The free paths that `uplink` can carry: first those that it had, then those that had none.
    fn candidates(&self, uplink: &Uplink) -> Vec<usize> {
        let paths = self.paths.iter().enumerate();
        let free = paths.filter(|(index, path)| path.current.is_none() && uplink.carries(*index));
        let mut free: Vec<_> = free.collect();
        free.sort_by_key(|(_, path)| match &path.last {
            Some(name) if *name == uplink.name => 0,
            None => 1,
            Some(_) => 2,
        });
        free.into_iter().map(|(index, _)| index).collect()
    }
}

impl PathAssignment {
    /// Keeps the uplink while it exists, and its source address while that exists and is not
    /// deprecated in favour of another: the network may have been renumbered.
    fn keep_or_release(&mut self, path: usize, uplinks: &[Uplink]) {
        let Some(current) = self.current.take() else {
            return;
        };
        let stays = uplinks
            .iter()
            .find(|uplink| uplink.name == current.name && uplink.carries(path));
        let Some(uplink) = stays else { return };
        if uplink.keeps(path, current.source) {
            self.current = Some(current);
        } else {
            self.take(path, uplink);
        }
    }

    fn take(&mut self, path: usize, uplink: &Uplink) {
        let name = uplink.name.clone();
        self.last = Some(name.clone());
        let source = uplink.sources[path].first();
        self.current = source.map(|&source| AssignedUplink { name, source });
    }
}

#[cfg(test)]
mod tests;
