//! Reports of the links of a network.

use polypath_core::frame::{PathId, Payload};
use polypath_core::time::Time;
use polypath_core::units::Rate;
use polypath_link::{Counters, Link, MAX_PACKETS};

use super::{Side, World};
use crate::flow::BackgroundBytes;
use crate::packet::LinkPacket;

/// One direction of one link of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u32);

/// The direction in which a link of a path carries packets, by the side to which they go.
pub type Direction = Side;

/// The name of a link, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkName {
    /// `path1/core.0` for a link of a path, `core.0` for one that paths share, `path1/n2/host7` for
    /// that of a background host; for a link of a graph, its name there.
    pub name: String,
    /// The path, by its position in the scenario; `None` for a link of a graph, or one that paths
    /// share.
    pub path: Option<PathId>,
    /// The side to which it carries packets; `None` for the links of background hosts and of
    /// graphs.
    pub towards: Option<Direction>,
    /// True for a link between two inner nodes, which carries background traffic (its load is the
    /// path load of the PPD paper, 5).
    pub inner: bool,
}

/// Mean load of the links of a path in the direction `towards`: of those between its inner nodes,
/// which carry background traffic (the PPD paper's path load, section 5), or of all where there are
/// none. Links that it shares with other paths do not count.
///
/// `links` are links with the share of the time in which each was transmitting.
pub fn path_load<'a>(
    links: impl IntoIterator<Item = (&'a LinkName, f64)>,
    path: PathId,
    towards: Direction,
) -> Option<f64> {
    let of_path = |name: &LinkName| name.path == Some(path) && name.towards == Some(towards);
    let (mut inner, mut all) = (Mean::default(), Mean::default());
    for (name, load) in links.into_iter().filter(|(name, _)| of_path(name)) {
        all.add(load);
        if name.inner {
            inner.add(load);
        }
    }
    inner.value().or(all.value())
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// A link and its totals since the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkReport<'a> {
    /// The link.
    pub id: LinkId,
    /// Its name.
    pub name: &'a LinkName,
    /// Its rate in bits per second.
    pub rate: Rate,
    /// Its totals.
    pub counters: Counters,
}

/// An overflow of the bounds on packets in memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overflow {
    /// A queue exceeded the maximum of any queue.
    #[error(
        "the queue of link `{link}` held {MAX_PACKETS} packets at {at} and was to hold more; lower the load or give \
         the queue a limit"
    )]
    Queue {
        /// The name of the link.
        link: String,
        /// The time of the event.
        at: Time,
    },
    /// All queues and links together held more than [`MAX_IN_FLIGHT`](super::MAX_IN_FLIGHT)
    /// packets.
    #[error(
        "{held} packets were in flight at {at}, {longest} of them in the queue of link `{link}`, the longest; lower \
         the load or give the queues lower limits"
    )]
    Total {
        /// Packets in all queues and on all links.
        held: usize,
        /// Packets in the longest queue.
        longest: usize,
        /// The name of its link.
        link: String,
        /// The time of the event.
        at: Time,
    },
}

impl<X: Payload> World<X> {
    /// Every link with its totals, those of background hosts included.
    pub fn links(&self) -> impl Iterator<Item = LinkReport<'_>> {
        self.reports(Link::counters)
    }

    /// The same, with the totals [up to `now`](Link::counters_at).
    pub fn links_at(&self, now: Time) -> impl Iterator<Item = LinkReport<'_>> {
        self.reports(move |link| link.counters_at(now))
    }

    fn reports(
        &self,
        counters: impl Fn(&Link<LinkPacket>) -> Counters,
    ) -> impl Iterator<Item = LinkReport<'_>> {
        let links = self.fabric.links.iter().zip(&self.names.links);
        links.zip(0..).map(move |((link, name), id)| LinkReport {
            id: LinkId(id),
            name,
            rate: link.rate(),
            counters: counters(link),
        })
    }

    /// The bytes that background traffic has delivered so far.
    #[must_use]
    pub fn background(&self) -> BackgroundBytes {
        self.agents.background()
    }
}
