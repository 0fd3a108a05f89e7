//! What paths rest on, interfaces and addresses, which come and go while a node runs.
//!
//! Once the kernel says that something has changed, all that there is is read anew. What it means for each path follows
//! from that and from what the path rests on now, and from nothing else; so no notification can be missed for good.
//! Under `paths = "auto"` what a path rests on is decided here, too ([`crate::interfaces::uplink`]).

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::binding::{BindTarget, PathBinding};
use crate::clock::Clock;
use crate::config::{AutoConfig, NodeConfig, Uplinks};
use crate::control::change::{Change, PathChange};
use crate::control::commands::ControlHandle;
use crate::interfaces::netlink::{self, Listener};
use crate::interfaces::network::Network;
use crate::interfaces::uplink::{self, Choice};
use crate::stats::InterfaceStatus;
use crate::udp::PathSocket;

/// Changes come in flocks: how long after the first the kernel is asked what there is.
const SETTLING: Duration = Duration::from_millis(50);
/// How long until what failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// However much changes: of so many parts of the time, one at most is spent on it.
const PARTS: u64 = 10;

/// The paths, and what they rest on.
#[derive(Debug)]
pub(crate) struct InterfaceMonitor {
    listener: Listener,
    paths: Vec<PathBinding>,
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

impl InterfaceMonitor {
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
            paths: config.paths.iter().cloned().map(PathBinding::new).collect(),
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
        paths: impl Iterator<Item = (&'a PathSocket, &'a InterfaceStatus)>,
    ) {
        for (binding, (socket, interface_status)) in self.paths.iter_mut().zip(paths) {
            binding.start(socket, interface_status.clone());
        }
    }

    /// Gives the paths the uplinks that there are when the node starts: their sockets, none for those that wait.
    pub(crate) fn find(&mut self) -> io::Result<Vec<(Option<PathSocket>, InterfaceStatus)>> {
        let network = netlink::read(&self.targets())?;
        self.seat(&network);
        let mut found = Vec::new();
        for (index, binding) in self.paths.iter_mut().enumerate() {
            let mut socket = None;
            if let Some(mut update) = binding.update(&network, seat(self.seats.as_ref(), index)) {
                socket = update.socket.take();
                binding.tell(&update, &network);
                binding.take(update);
            }
            found.push((socket, binding.interface_status().clone()));
        }
        Ok(found)
    }

    /// How long nothing is to be done unless something is heard.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let at = self.look_at?.max(self.rest_until);
        Some(at.since(self.clock.now().min(at)))
    }

    /// Takes the word that something has changed.
    pub(crate) fn hear(&mut self) -> io::Result<()> {
        if self.listener.hear()? {
            let soon = self.clock.now() + SETTLING;
            self.look_at = Some(self.look_at.map_or(soon, |at| at.min(soon)));
        }
        Ok(())
    }

    /// Looks at what there is, if it is time to, and has the paths follow.
    pub(crate) fn look_if_due(&mut self, handle: &ControlHandle) {
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
            .and_then(|network| self.follow(&network, handle));
        if let Err(why) = done {
            tracing::warn!("{why}; the paths stay as they are until this goes");
            self.look_at = Some(self.clock.now() + RETRY);
        }
    }

    /// The paths whose socket is bound to an interface that is not there.
    pub(crate) fn adrift(&self) -> Vec<PathId> {
        let paths = (0..).map(PathId).zip(&self.paths);
        let adrift = paths.filter(|(_, binding)| binding.is_adrift());
        adrift.map(|(path, _)| path).collect()
    }

    /// The file was read again, and says this of the paths.
    pub(crate) fn adopt(&mut self, config: &NodeConfig) {
        self.sizes = config.finds_sizes();
        for (binding, config) in self.paths.iter_mut().zip(&config.paths) {
            binding.adopt(config);
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

    fn follow(&mut self, network: &Network, handle: &ControlHandle) -> Result<(), String> {
        self.seat(network);
        let (paths, seats) = ((0..).map(PathId).zip(&mut self.paths), self.seats.as_ref());
        let updates = paths.filter_map(|(id, path)| {
            let update = path.update(network, seat(seats, id.index()));
            Some((id, update?))
        });
        let mut updates: Vec<_> = updates.collect();
        let changes = updates.iter_mut().map(|(id, update)| PathChange {
            path: *id,
            name: update.name.clone(),
            remote: None,
            interface: None,
            socket: update.socket.take(),
            mtu: update.mtu,
            interface_status: update.new_status(),
        });
        let paths: Vec<_> = changes.collect();
        if !paths.is_empty() {
            let settings = None;
            let sizes = self.sizes;
            handle.change(Change {
                settings,
                sizes,
                paths,
            })?;
        }
        for (id, update) in updates {
            let binding = &mut self.paths[id.index()];
            binding.tell(&update, network);
            binding.take(update);
        }
        if self.paths.iter().any(PathBinding::has_failed) {
            self.look_at = Some(self.clock.now() + RETRY);
        }
        Ok(())
    }
}

/// What path `index` has.
fn seat(seats: Option<&Seats>, index: usize) -> BindTarget<'_> {
    match seats {
        None => BindTarget::Configured,
        Some(seats) => seats
            .choice
            .held(index)
            .map_or(BindTarget::Waiting, BindTarget::Uplink),
    }
}

impl AsFd for InterfaceMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
