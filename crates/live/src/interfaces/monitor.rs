//! The interface monitor: it rebinds paths when interfaces, addresses or routes change.
//!
//! A notification of the kernel only causes a reading of the whole state. The binding of each path
//! follows from that state and its current binding alone, so that a lost notification does no
//! lasting harm. Under `paths = "auto"` uplinks are assigned to paths here, too
//! ([`super::uplink`]).

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::binding::{BindTarget, BindingUpdate, PathBinding};
use super::log;
use super::netlink::{self, Listener};
use super::network::Network;
use super::uplink::{self, UplinkAssignment};
use crate::clock::Clock;
use crate::config::{AutoConfig, NodeConfig, Uplinks};
use crate::control::change::{Change, PathChange};
use crate::control::commands::ControlHandle;
use crate::stats::InterfaceStatus;
use crate::udp::PathSocket;

/// Delay from the first notification to the reading: changes come in groups.
const SETTLING: Duration = Duration::from_millis(50);
/// Delay until a failed update is retried.
const RETRY: Duration = Duration::from_secs(2);
/// The inverse of the largest share of time that is spent on updates.
const DUTY_CYCLE: u64 = 10;

/// The paths of a node and their bindings.
#[derive(Debug)]
pub(crate) struct InterfaceMonitor {
    listener: Listener,
    paths: Vec<PathBinding>,
    /// Present under `paths = "auto"`.
    auto: Option<AutoUplinks>,
    /// Whether path MTU discovery runs.
    discovers_mtu: bool,
    clock: Clock,
    /// The next reading, if one is due.
    update_at: Option<Time>,
    /// No reading starts before this time.
    idle_until: Time,
}

/// The assignment of uplinks to paths.
#[derive(Debug)]
struct AutoUplinks {
    assignment: UplinkAssignment,
    config: AutoConfig,
    /// The node's own TUN device, which is never an uplink.
    tun: Option<String>,
    /// The uplinks without a path, as logged last.
    surplus: Vec<String>,
    /// The interfaces that are not uplinks, with reasons, as of the last update.
    obstacles: Vec<String>,
}

/// The initial binding of a path.
#[derive(Debug)]
pub(crate) struct InitialBinding {
    /// The socket; none for a path without an uplink.
    pub(crate) socket: Option<PathSocket>,
    pub(crate) status: InterfaceStatus,
}

impl InterfaceMonitor {
    /// A monitor of the network namespace of the calling thread; its first update is due
    /// immediately.
    pub(crate) fn new(config: &NodeConfig) -> io::Result<Self> {
        let clock = Clock::starting_now();
        let is_auto = config.uplinks == Uplinks::Auto;
        let auto = || AutoUplinks {
            assignment: UplinkAssignment::new(config.paths.len()),
            config: config.auto.clone().unwrap_or_default(),
            tun: config.node.tun.as_ref().map(|tun| tun.name.clone()),
            surplus: Vec::new(),
            obstacles: Vec::new(),
        };
        Ok(Self {
            listener: Listener::new(is_auto)?,
            paths: config.paths.iter().cloned().map(PathBinding::new).collect(),
            auto: is_auto.then(auto),
            update_at: Some(clock.now()),
            idle_until: Time::ZERO,
            discovers_mtu: config.discovers_mtu(),
            clock,
        })
    }

    /// Records the sockets of listed paths and their interfaces.
    pub(crate) fn start<'a>(
        &mut self,
        paths: impl Iterator<Item = (&'a PathSocket, &'a InterfaceStatus)>,
    ) {
        for (binding, (socket, status)) in self.paths.iter_mut().zip(paths) {
            binding.start(socket, status.clone());
        }
    }

    /// Assigns the uplinks that exist when the node starts.
    pub(crate) fn find_uplinks(&mut self) -> io::Result<Vec<InitialBinding>> {
        let network = netlink::read(&self.targets())?;
        self.assign(&network);
        let mut found = Vec::new();
        for (index, binding) in self.paths.iter_mut().enumerate() {
            let mut socket = None;
            if let Some(mut update) = binding.update(&network, target(self.auto.as_ref(), index)) {
                socket = update.socket.take();
                binding.log(&update, &network);
                binding.apply(update);
            }
            let status = binding.status().clone();
            found.push(InitialBinding { socket, status });
        }
        Ok(found)
    }

    /// The time until the next update, if one is due without a further notification.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let at = self.update_at?.max(self.idle_until);
        Some(at.since(self.clock.now().min(at)))
    }

    /// Receives all pending notifications and schedules an update if there was one.
    pub(crate) fn receive_notifications(&mut self) -> io::Result<()> {
        if self.listener.receive()? {
            let soon = self.clock.now() + SETTLING;
            self.update_at = Some(self.update_at.map_or(soon, |at| at.min(soon)));
        }
        Ok(())
    }

    /// Reads the interfaces, if that is due, and rebinds the paths that are affected.
    pub(crate) fn update_if_due(&mut self, handle: &ControlHandle) {
        if self.idle() != Some(Duration::from_nanos(0)) {
            return;
        }
        self.update_at = None;
        let started = self.clock.now();
        let network = netlink::read(&self.targets());
        let now = self.clock.now();
        self.idle_until = now + Duration::from_nanos(now.since(started).as_nanos() * DUTY_CYCLE);
        let updated = network
            .map_err(|error| format!("cannot list the interfaces: {error}"))
            .and_then(|network| self.update(&network, handle));
        if let Err(why) = updated {
            log::update_failed(&why);
            self.update_at = Some(self.clock.now() + RETRY);
        }
    }

    /// The paths whose socket is bound to an interface that no longer exists.
    pub(crate) fn unbound_paths(&self) -> Vec<PathId> {
        let paths = (0..).map(PathId).zip(&self.paths);
        let unbound = paths.filter(|(_, binding)| binding.is_unbound());
        unbound.map(|(path, _)| path).collect()
    }

    /// Adopts a configuration that a reload has put into force.
    pub(crate) fn adopt(&mut self, config: &NodeConfig) {
        self.discovers_mtu = config.discovers_mtu();
        for (binding, config) in self.paths.iter_mut().zip(&config.paths) {
            binding.adopt(config);
        }
        if let Some(auto) = &mut self.auto {
            auto.config = config.auto.clone().unwrap_or_default();
        }
        self.update_at = Some(self.clock.now());
    }

    /// The addresses whose routes matter: those of peers and relays, under `paths = "auto"`.
    fn targets(&self) -> Vec<IpAddr> {
        let paths = self.paths.iter().filter(|_| self.auto.is_some());
        let targets = paths.filter_map(|path| path.config().target());
        targets.map(|target| target.ip()).collect()
    }

    /// Assigns uplinks to paths again.
    fn assign(&mut self, network: &Network) {
        let targets = self.targets();
        let Some(auto) = &mut self.auto else { return };
        let AutoUplinks { tun, config, .. } = &*auto;
        let allowed = |name: &str| tun.as_deref() != Some(name) && config.allows(name);
        let uplinks = uplink::uplinks(network, &targets, allowed);
        let obstacles = uplink::obstacles(network, &targets, allowed);
        let surplus = auto.assignment.assign(&uplinks);
        if surplus != auto.surplus && !surplus.is_empty() {
            log::surplus_uplinks(&surplus);
        }
        auto.surplus = surplus;
        let waits = (0..self.paths.len()).any(|path| auto.assignment.of(path).is_none());
        if waits && obstacles != auto.obstacles && !obstacles.is_empty() {
            log::no_uplink(&obstacles);
        }
        auto.obstacles = obstacles;
    }

    fn update(&mut self, network: &Network, handle: &ControlHandle) -> Result<(), String> {
        self.assign(network);
        let (paths, auto) = ((0..).map(PathId).zip(&mut self.paths), self.auto.as_ref());
        let updates = paths.filter_map(|(id, path)| {
            let update = path.update(network, target(auto, id.index()));
            Some((id, update?))
        });
        let mut updates: Vec<_> = updates.collect();
        let paths = updates.iter_mut();
        let paths: Vec<_> = paths.map(|(id, update)| change(*id, update)).collect();
        if !paths.is_empty() {
            let settings = None;
            let discovers_mtu = self.discovers_mtu;
            handle.change(Change {
                settings,
                discovers_mtu,
                paths,
            })?;
        }
        for (id, update) in updates {
            let binding = &mut self.paths[id.index()];
            binding.log(&update, network);
            binding.apply(update);
        }
        if self.paths.iter().any(PathBinding::has_failed) {
            self.update_at = Some(self.clock.now() + RETRY);
        }
        Ok(())
    }
}

/// The change for the packet thread; it takes the socket of `update`.
fn change(path: PathId, update: &mut BindingUpdate) -> PathChange {
    PathChange {
        path,
        name: update.name.clone(),
        remote: None,
        interface: None,
        socket: update.socket.take(),
        copied: None,
        mtu: update.mtu,
        interface_status: update.changed_status(),
    }
}

/// The bind target of path `index`.
fn target(auto: Option<&AutoUplinks>, index: usize) -> BindTarget<'_> {
    match auto {
        None => BindTarget::Configured,
        Some(auto) => auto
            .assignment
            .of(index)
            .map_or(BindTarget::None, BindTarget::Uplink),
    }
}

impl AsFd for InterfaceMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
