//! What paths rest on, interfaces and addresses, which come and go while a node runs.
//!
//! Once the kernel says that something has changed, all that there is is read anew. What it means for each path follows
//! from that and from what the path rests on now, and from nothing else; so no notification can be missed for good.
//! Under `paths = "auto"` what a path rests on is decided here, too ([`crate::uplink`]).

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::Desk;
use super::change::{Change, PathChange};
use crate::clock::Clock;
use crate::config::{AutoConfig, NodeConfig, Uplinks};
use crate::network::Network;
use crate::network::netlink::{self, Listener};
use crate::stats::Standing;
use crate::udp::PathSocket;
use crate::uplink::{self, Choice};
use footing::{Footing, Seat};

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
    /// Which path has which uplink, where the file does not say so.
    seats: Option<Seats>,
    /// Whether it is found out how long a packet each path carries whole.
    sizes: bool,
    clock: Clock,
    /// When the kernel is asked next, if it is to be.
    look_at: Option<Time>,
    /// Not before.
    rest_until: Time,
}

/// Which path has which uplink.
#[derive(Debug)]
struct Seats {
    choice: Choice,
    auto: AutoConfig,
    /// The node's own TUN device.
    tun: String,
    /// Those that no path has, as the log has them.
    left: Vec<String>,
    /// The interfaces that are no uplinks, with the reasons, as looked at last.
    others: Vec<String>,
}

impl Underlay {
    /// Listens in the network namespace of the calling thread; all is looked at once soon.
    pub(crate) fn new(config: &NodeConfig) -> io::Result<Self> {
        let clock = Clock::starting_now();
        let is_auto = config.uplinks == Uplinks::Auto;
        let seats = || Seats {
            choice: Choice::new(config.paths.len()),
            auto: config.auto.clone().unwrap_or_default(),
            tun: config.node.tun.name.clone(),
            left: Vec::new(),
            others: Vec::new(),
        };
        Ok(Self {
            listener: Listener::new(is_auto)?,
            paths: config.paths.iter().cloned().map(Footing::new).collect(),
            seats: is_auto.then(seats),
            look_at: Some(clock.now()),
            rest_until: Time::ZERO,
            sizes: config.finds_sizes(),
            clock,
        })
    }

    /// Notes the sockets that the paths start with, and what they rest on.
    pub(crate) fn start<'a>(
        &mut self,
        paths: impl Iterator<Item = (&'a PathSocket, &'a Standing)>,
    ) {
        for (footing, (socket, standing)) in self.paths.iter_mut().zip(paths) {
            footing.start(socket, standing.clone());
        }
    }

    /// Gives the paths the uplinks that there are when the node starts: their sockets, none for those that wait.
    pub(crate) fn find(&mut self) -> io::Result<Vec<(Option<PathSocket>, Standing)>> {
        let network = netlink::read(&self.targets())?;
        self.seat(&network);
        let mut found = Vec::new();
        for (index, footing) in self.paths.iter_mut().enumerate() {
            let mut socket = None;
            if let Some(mut step) = footing.step(&network, seat(self.seats.as_ref(), index)) {
                socket = step.socket.take();
                footing.tell(&step, &network);
                footing.take(step);
            }
            found.push((socket, footing.standing().clone()));
        }
        Ok(found)
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
        let network = netlink::read(&self.targets());
        let now = self.clock.now();
        self.rest_until = now + Duration::from_nanos(now.since(began).as_nanos() * PARTS);
        let done = network
            .map_err(|error| format!("the kernel does not say which interfaces there are: {error}"))
            .and_then(|network| self.follow(&network, desk));
        if let Err(why) = done {
            tracing::warn!("{why}; the paths stay as they are until this goes");
            self.look_at = Some(self.clock.now() + RETRY);
        }
    }

    /// The paths whose socket is bound to an interface that is not there.
    pub(super) fn adrift(&self) -> Vec<PathId> {
        let paths = (0..).map(PathId).zip(&self.paths);
        let adrift = paths.filter(|(_, footing)| footing.is_adrift());
        adrift.map(|(path, _)| path).collect()
    }

    /// The file was read again, and says this of the paths.
    pub(super) fn adopt(&mut self, config: &NodeConfig) {
        self.sizes = config.finds_sizes();
        for (footing, config) in self.paths.iter_mut().zip(&config.paths) {
            footing.adopt(config);
        }
        if let Some(seats) = &mut self.seats {
            seats.auto = config.auto.clone().unwrap_or_default();
        }
        self.look_at = Some(self.clock.now());
    }

    /// Where the paths lead to, if their routes matter.
    fn targets(&self) -> Vec<IpAddr> {
        let paths = self.paths.iter().filter(|_| self.seats.is_some());
        let targets = paths.filter_map(|path| path.config().target());
        targets.map(|target| target.ip()).collect()
    }

    /// Decides anew which path has which uplink.
    fn seat(&mut self, network: &Network) {
        let targets = self.targets();
        let Some(seats) = &mut self.seats else { return };
        let Seats { tun, auto, .. } = &*seats;
        let allowed = |name: &str| name != tun && auto.allows(name);
        let uplinks = uplink::uplinks(network, &targets, allowed);
        let others = uplink::others(network, &targets, allowed);
        let left = seats.choice.decide(&uplinks);
        if left != seats.left && !left.is_empty() {
            let left = left.join(", ");
            tracing::info!(left, "more uplinks than paths: these carry nothing");
        }
        seats.left = left;
        let waits = (0..self.paths.len()).any(|path| seats.choice.held(path).is_none());
        if waits && others != seats.others && !others.is_empty() {
            let interfaces = others.join("; ");
            tracing::info!(interfaces, "a path waits for an uplink, and these are none");
        }
        seats.others = others;
    }

    fn follow(&mut self, network: &Network, desk: &Desk) -> Result<(), String> {
        self.seat(network);
        let (paths, seats) = ((0..).map(PathId).zip(&mut self.paths), self.seats.as_ref());
        let steps = paths.filter_map(|(id, path)| {
            let step = path.step(network, seat(seats, id.index()));
            Some((id, step?))
        });
        let mut steps: Vec<_> = steps.collect();
        let changes = steps.iter_mut().map(|(id, step)| PathChange {
            path: *id,
            name: step.name.clone(),
            remote: None,
            interface: None,
            socket: step.socket.take(),
            mtu: step.mtu,
            standing: step.standing_anew(),
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

/// What path `index` has.
fn seat(seats: Option<&Seats>, index: usize) -> Seat<'_> {
    match seats {
        None => Seat::Listed,
        Some(seats) => seats.choice.held(index).map_or(Seat::Waiting, Seat::Held),
    }
}

impl AsFd for Underlay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
