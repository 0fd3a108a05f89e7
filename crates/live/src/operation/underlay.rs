//! What paths rest on, interfaces and addresses, which come and go while a node runs.
//!
//! Once the kernel says that something has changed, all that there is is read anew. What it means for each path follows
//! from that and from what the path rests on now, and from nothing else; so no notification can be missed for good.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::Desk;
use super::change::{Change, PathChange};
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::network::Network;
use crate::network::netlink::{self, Listener};
use crate::stats::Standing;
use footing::Footing;

mod footing;

pub(crate) use footing::WAITS;

/// Changes come in flocks: how long after the first the kernel is asked what there is.
const SETTLING: Duration = Duration::from_millis(50);
/// How long until what failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// However much changes: of so many parts of the time, one at most is spent on it.
const PARTS: u64 = 10;

/// The paths, and what they rest on.
#[derive(Debug)]
pub(crate) struct Underlay {
    listener: Listener,
    paths: Vec<Footing>,
    /// Whether it is found out how long a packet each path carries whole.
    sizes: bool,
    clock: Clock,
    /// When the kernel is asked next, if it is to be.
    look_at: Option<Time>,
    /// Not before.
    rest_until: Time,
}

impl Underlay {
    /// Listens in the network namespace of the calling thread; all is looked at once soon.
    ///
    /// Of each path there is what the file says, the number of the interface that its socket is bound to, and what it
    /// rests on.
    pub(crate) fn new(
        sizes: bool,
        paths: impl IntoIterator<Item = (PathConfig, Option<u32>, Standing)>,
    ) -> io::Result<Self> {
        let clock = Clock::starting_now();
        let paths = paths.into_iter();
        Ok(Self {
            listener: Listener::new(false)?,
            paths: paths
                .map(|(config, bound, standing)| Footing::new(config, bound, standing))
                .collect(),
            look_at: Some(clock.now()),
            rest_until: Time::ZERO,
            sizes,
            clock,
        })
    }

    /// How long nothing is to be done unless something is heard.
    pub(super) fn idle(&self) -> Option<Duration> {
        let at = self.look_at?.max(self.rest_until);
        Some(at.since(self.clock.now().min(at)))
    }

    /// Takes the word that something has changed.
    pub(super) fn hear(&mut self) -> io::Result<()> {
        if self.listener.hear()? {
            let soon = self.clock.now() + SETTLING;
            self.look_at = Some(self.look_at.map_or(soon, |at| at.min(soon)));
        }
        Ok(())
    }

    /// Looks at what there is, if it is time to, and has the paths follow.
    pub(super) fn look_if_due(&mut self, desk: &Desk) {
        if self.idle() != Some(Duration::from_nanos(0)) {
            return;
        }
        self.look_at = None;
        let began = self.clock.now();
        let done = netlink::read(&[])
            .map_err(|error| format!("the kernel does not say which interfaces there are: {error}"))
            .and_then(|network| self.follow(&network, desk));
        let now = self.clock.now();
        self.rest_until = now + Duration::from_nanos(now.since(began).as_nanos() * PARTS);
        if let Err(why) = done {
            tracing::warn!("{why}; the paths stay as they are until this goes");
            self.look_at = Some(now + RETRY);
        }
    }

    /// The paths whose socket is bound to an interface that is not there.
    pub(super) fn adrift(&self) -> Vec<PathId> {
        let paths = (0..).map(PathId).zip(&self.paths);
        let adrift = paths.filter(|(_, footing)| footing.is_adrift());
        adrift.map(|(path, _)| path).collect()
    }

    /// The file was read again, and says this of the paths.
    pub(super) fn adopt(&mut self, sizes: bool, paths: &[PathConfig]) {
        self.sizes = sizes;
        for (footing, config) in self.paths.iter_mut().zip(paths) {
            footing.adopt(config);
        }
        self.look_at = Some(self.clock.now());
    }

    fn follow(&mut self, network: &Network, desk: &Desk) -> Result<(), String> {
        let paths = (0..).map(PathId).zip(&mut self.paths);
        let steps = paths.filter_map(|(id, path)| Some((id, path.step(network)?)));
        let mut steps: Vec<_> = steps.collect();
        let changes = steps.iter_mut().map(|(id, step)| PathChange {
            path: *id,
            name: step.name.clone(),
            remote: None,
            interface: None,
            socket: step.socket.take(),
            standing: Some(step.standing.clone()),
        });
        let paths: Vec<_> = changes.collect();
        if !paths.is_empty() {
            let settings = None;
            let sizes = self.sizes;
            desk.change(Change {
                settings,
                sizes,
                paths,
            })?;
        }
        for (id, step) in steps {
            let footing = &mut self.paths[id.index()];
            footing.tell(&step, network);
            footing.take(step);
        }
        if self.paths.iter().any(Footing::has_failed) {
            self.look_at = Some(self.clock.now() + RETRY);
        }
        Ok(())
    }
}

impl AsFd for Underlay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
