//! Which path takes which uplink, under `paths = "auto"`: a decision, without a socket.
//!
//! An uplink is an interface by which packets leave for where a path leads to. One that stays keeps its path. Of those
//! that come, the ones with the lowest route metrics are served first, each by the path that it had, if that is free;
//! as many paths as can be get one, without moving an uplink that stays.

use std::net::IpAddr;

use crate::interfaces::network::{Link, Network};

/// How the TUN devices of nodes are known: what is noted beside their names.
pub(crate) const TUN_NOTE: &str = "polypath node";

/// An interface that can carry one of the paths at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uplink {
    pub(crate) name: String,
    /// Of its best route; the lower, the better.
    metric: u32,
    /// For each path, the addresses to send from, the best first; none where it cannot carry the path.
    sources: Vec<Vec<IpAddr>>,
    /// Those of its addresses that are deprecated.
    deprecated: Vec<IpAddr>,
}

/// What a path has of an uplink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AssignedUplink {
    /// The interface.
    pub(crate) name: String,
    /// The address that it sends from.
    pub(crate) source: IpAddr,
}

/// Which path has which uplink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    paths: Vec<Place>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    held: Option<AssignedUplink>,
    /// The interface that it had last.
    last: Option<String>,
}

/// The uplinks in `network` by the goodness of their routes, of those interfaces that `allowed` lets be any, for paths
/// that lead to `targets`.
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

/// The interfaces that are none, each with the reason, for a message; without loopback and TUN devices of nodes, which
/// nobody takes for any.
pub(crate) fn others(
    network: &Network,
    targets: &[IpAddr],
    allowed: impl Fn(&str) -> bool,
) -> Vec<String> {
    let may_be = |link: &&Link| !link.is_loopback && link.alias != TUN_NOTE;
    let links = network.links.iter().filter(may_be);
    let told = links.filter_map(|link| {
        let why = obstacle(network, link, targets, &allowed)?;
        Some(format!("{}: {why}", link.name))
    });
    told.collect()
}

/// Why `link` is no uplink, if it is none.
fn obstacle(
    network: &Network,
    link: &Link,
    targets: &[IpAddr],
    allowed: &impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let leads_to = |target: &&IpAddr| {
        let mut routes = network.routes.iter();
        routes.any(|route| route.link == link.index && route.destination.contains(**target))
    };
    let has_source = |target: &IpAddr| !sources(network, link.index, *target).is_empty();
    let mut routed = targets.iter().filter(leads_to).peekable();
    if link.is_loopback {
        Some("loopback")
    } else if link.alias == TUN_NOTE {
        Some("the TUN device of a node")
    } else if !allowed(&link.name) {
        Some("left out by `auto`")
    } else if !link.is_up {
        Some("down, or without a carrier")
    } else if routed.peek().is_none() {
        Some("no route by it to where a path leads")
    } else if !routed.any(has_source) {
        Some("no address beyond its link, of the family of where a path leads")
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
    let leads = |target: IpAddr| routes().filter(move |route| route.destination.contains(target));
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

/// The addresses of interface `link` to send from to `target`, the best first.
fn sources(network: &Network, link: u32, target: IpAddr) -> Vec<IpAddr> {
    // Nothing beyond a site answers to an address of the site alone (RFC 4193).
    let is_local = |ip: IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unique_local());
    let addresses = network.addresses.iter().filter(|address| {
        address.link == link && address.is_wide && address.ip.is_ipv4() == target.is_ipv4()
    });
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_by_key(|address| {
        let other_reach = is_local(address.ip) != is_local(target);
        (other_reach, address.is_deprecated, address.is_second_choice)
    });
    addresses.into_iter().map(|address| address.ip).collect()
}

impl Uplink {
    /// Whether `path` may go on sending from `source`.
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

impl Choice {
    /// Of `paths` paths that have none yet.
    pub(crate) fn new(paths: usize) -> Self {
        Self {
            paths: vec![Place::default(); paths],
        }
    }

    /// What path `index` has, if anything.
    pub(crate) fn held(&self, index: usize) -> Option<&AssignedUplink> {
        self.paths.get(index)?.held.as_ref()
    }

    /// Gives the paths what there is, and says the names of those that are left, the best first.
    pub(crate) fn decide(&mut self, uplinks: &[Uplink]) -> Vec<String> {
        for (index, place) in self.paths.iter_mut().enumerate() {
            place.renew(index, uplinks);
        }
        let held: Vec<_> = self.paths.iter().flat_map(|place| &place.held).collect();
        let is_new = |uplink: &&Uplink| held.iter().all(|held| held.name != uplink.name);
        let new: Vec<_> = uplinks.iter().filter(is_new).collect();
        let mut taken = vec![None; self.paths.len()];
        let mut left = Vec::new();
        for number in 0..new.len() {
            let mut tried = vec![false; self.paths.len()];
            if !self.seat(number, &new, &mut taken, &mut tried) {
                left.push(new[number].name.clone());
            }
        }
        for (index, number) in taken.into_iter().enumerate() {
            if let Some(number) = number {
                self.paths[index].take(index, new[number]);
            }
        }
        left
    }

    /// Finds a path for uplink `number` of `new` in `taken`, and others for those that have to give way, of the paths
    /// that were not `tried` (an augmenting path: H. W. Kuhn, "The Hungarian method", 1955).
    fn seat(
        &self,
        number: usize,
        new: &[&Uplink],
        taken: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        let order = self.order(new[number]);
        if let Some(free) = order.iter().find(|path| taken[**path].is_none()) {
            taken[*free] = Some(number);
            return true;
        }
        for path in order {
            if !std::mem::replace(&mut tried[path], true)
                && let Some(other) = taken[path]
                && self.seat(other, new, taken, tried)
            {
                taken[path] = Some(number);
                return true;
            }
        }
        false
    }

    /// The paths without an uplink that `uplink` can carry: those that it had, those that had none, those of others.
    fn order(&self, uplink: &Uplink) -> Vec<usize> {
        let paths = self.paths.iter().enumerate();
        let free = paths.filter(|(path, place)| place.held.is_none() && uplink.carries(*path));
        let mut free: Vec<_> = free.collect();
        free.sort_by_key(|(_, place)| match &place.last {
            Some(name) if *name == uplink.name => 0,
            None => 1,
            Some(_) => 2,
        });
        free.into_iter().map(|(path, _)| path).collect()
    }
}

impl Place {
    /// Keeps what it has while that is there, with the address that it has while that is there and no other is to be taken
    /// rather, since the network may have renumbered.
    fn renew(&mut self, path: usize, uplinks: &[Uplink]) {
        let Some(held) = self.held.take() else { return };
        let stays = uplinks
            .iter()
            .find(|uplink| uplink.name == held.name && uplink.carries(path));
        let Some(uplink) = stays else { return };
        if uplink.keeps(path, held.source) {
            self.held = Some(held);
        } else {
            self.take(path, uplink);
        }
    }

    fn take(&mut self, path: usize, uplink: &Uplink) {
        let name = uplink.name.clone();
        self.last = Some(name.clone());
        let source = uplink.sources[path].first();
        self.held = source.map(|&source| AssignedUplink { name, source });
    }
}

#[cfg(test)]
mod tests;
