//! A node: a TUN device, a [`Tunnel`] and a UDP socket for each path, driven by the real clock.
//!
//! What the node's machines decide is in `polypath-core` and `polypath-session`; here is only what moves
//! bytes. A packet goes out before the next is read. Datagrams of all paths meet the machines in the order
//! and with the times in which the kernel received them, and deadlines in between at their own time, so
//! that a node that is woken late decides as one that is woken in time, however many datagrams wait.
//!
//! The price of that order: whoever floods one path faster than the node reads holds up the datagrams of
//! all paths, by as long as it takes to read what waits in that path's socket (4 MB), junk included. Junk
//! costs its reading and a look at its header, or one hash, but for the few initiations that the session
//! reads in a time; where there is much of it, the kernel drops it before (`paths::flood`).

use std::path::{Path, PathBuf};

use polypath_core::endpoint::{ConfigError, EndpointConfig};
use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_session::key::PrivateKey;
use polypath_session::record::Recorder;
use polypath_session::session::{Limits, SessionConfig};
use polypath_session::tunnel::{Tunnel, packet_overhead};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::clock::Clock;
use crate::config::{LEAST_MTU_V6, NodeConfig, PathConfig};
use crate::control::ControlError;
use crate::control::ReloadHandle;
use crate::control::thread::ControlThread;
use crate::drive::{Driver, StopHandle, Token};
use crate::interfaces::netlink;
use crate::interfaces::uplink::TUN_ALIAS;
use crate::keys::{self, KeyError, SystemEntropy};
use crate::notify::Notifier;
use crate::privilege::PrivilegeError;
use crate::recording::{self, Header};
use crate::stats::{self, Stats, StatsFile, StatsWriter};
use crate::tun::batch::Packets;
use crate::tun::{Tun, TunConfig, TunError};
use crate::udp::{PathSocket, UdpError};
use event_handler::NodeEventHandler;
use events::EventFile;
use io::NodeIo;
use paths::{Paths, TunMtu};
use silence_detector::SilenceDetector;
use sockets::OpenedPaths;

mod control;
mod driver;
mod event_handler;
mod events;
mod icmp;
mod inbox;
mod io;
mod management;
mod paths;
mod rates;
mod silence_detector;
mod sockets;

/// What a run writes, and its time zero.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where to write events, one line of JSON each ([`polypath_core::event::Stamped`]) after a line with
    /// the version of the stream.
    pub events: Option<PathBuf>,
    /// Where to write counters ([`Stats`]), each second and at the end.
    pub stats: Option<PathBuf>,
    /// Where to record what comes to the endpoint and what it decides ([`crate::recording`]).
    pub record: Option<PathBuf>,
    /// The file to read again on a reload; without it there is none.
    pub file: Option<PathBuf>,
    /// Time zero in nanoseconds on `CLOCK_MONOTONIC`, for several processes of one run; not in the future.
    pub origin_ns: Option<u64>,
}

/// Why a node could not be set up, or what ended it.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The key file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A path.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// The TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// What the kernel has of interfaces cannot be read, and the paths are to find theirs.
    #[error(
        "paths = \"auto\": the kernel does not say which interfaces there are: {0}; list the paths' addresses"
    )]
    Network(std::io::Error),
    /// The endpoint.
    #[error(transparent)]
    Endpoint(#[from] ConfigError),
    /// The paths leave too little for the TUN device.
    #[error(
        "the paths' MTU leaves {0} bytes for a packet, and IPv6 needs 1280: raise the MTU of the \
         interfaces (`ip link set DEV mtu 1500`), have long datagrams fragmented (`mtu = 1280` in `node.tun`), or take \
         the IPv6 addresses from `node.tun.addresses`"
    )]
    Mtu(u16),
    /// Time zero is still to come, and a node's time would stand still until then.
    #[error(
        "--origin-ns {origin}: that is in the future, now is {now}; give a time that has passed"
    )]
    Origin {
        /// Time zero.
        origin: u64,
        /// The time of the start.
        now: u64,
    },
    /// A file that is to be written.
    #[error(
        "{option} {path}: {source}; name a file in a directory that exists and can be written",
        path = path.display()
    )]
    File {
        /// The option of the command line that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The control socket.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Where metrics are to be served.
    #[error("{0}")]
    Metrics(String),
    /// Privileges that are to be given up.
    #[error(transparent)]
    Privilege(#[from] PrivilegeError),
    /// The event stream, which had to end before the node did.
    #[error("the event stream is cut off: {0}")]
    Events(std::io::Error),
    /// The drive loop.
    #[error("the node stopped: {0}")]
    Drive(#[from] std::io::Error),
}

/// A node that is set up: sockets and TUN device are open.
pub struct Node {
    handler: NodeEventHandler,
    driver: Driver,
    control_thread: ControlThread,
}

/// Runs a node until `SIGINT` or `SIGTERM`, and says what it counted.
pub fn run(config: &NodeConfig, options: &Options) -> Result<Stats, NodeError> {
    let notifier = Notifier::from_env();
    let mut node = Node::open_told(config, options, &notifier)?;
    let stop = node.stop_handle();
    stop.stop_on(SIGINT)?;
    stop.stop_on(SIGTERM)?;
    node.reload_handle().reload_on(SIGHUP)?;
    node.run()
}

impl Node {
    /// Opens all that `config` names, in the network namespace of the calling thread.
    pub fn open(config: &NodeConfig, options: &Options) -> Result<Self, NodeError> {
        Self::open_told(config, options, &Notifier::default())
    }

    fn open_told(
        config: &NodeConfig,
        options: &Options,
        notifier: &Notifier,
    ) -> Result<Self, NodeError> {
        let clock = clock(options.origin_ns)?;
        let private_key = keys::load(&config.node.key_file)?;
        let own = private_key.public();
        let events = options.events.as_deref().map(EventFile::create);
        let events = events.transpose()?;
        let stats = options.stats.as_deref().map(stats_writer).transpose()?;
        let endpoint = config.endpoint();
        let record = |path: &PathBuf| recorder(path, endpoint);
        let recorder = options.record.as_ref().map(record).transpose()?;
        let OpenedPaths {
            sockets,
            interface_statuses,
            monitor,
        } = sockets::open(config)?;
        let mtu = tun_mtu(config, &sockets)?;
        let longest = sockets.iter().map(PathSocket::mtu).max().unwrap_or(0) as usize;
        // A TUN device of a larger MTU than the paths' sends datagrams that IP fragments and joins again.
        let max_datagram = longest.max(usize::from(mtu) + packet_overhead(true));
        let session = session(config, private_key, max_datagram, clock);
        let mut tunnel = tunnel(config, endpoint, &session)?;
        if let Some(recorder) = recorder {
            tunnel = tunnel.with_recorder(recorder);
        }
        let tun = open_tun(config, mtu)?;
        let driver = Driver::new(clock)?;
        driver.watch(&tun, event_handler::TUN)?;
        for (index, socket) in (0..).zip(&sockets) {
            driver.watch(socket, Token(index))?;
        }
        let heard = SilenceDetector::new(config.paths.len(), config.policy, config.liveness);
        let offload = config.offload();
        let mut paths = Paths::new(&config.paths, sockets, max_datagram, clock, heard, offload);
        for (id, interface_status) in (0..).map(PathId).zip(interface_statuses) {
            paths.stand(id, interface_status);
        }
        let is_given = config.node.tun.mtu.is_some();
        paths.carry_for(TunMtu { mtu, is_given });
        let io = NodeIo::new(Packets::new(tun, offload), paths, events);
        let mut handler = NodeEventHandler::new(tunnel, io, stats, driver.watcher(), clock);
        handler.find_sizes(clock.now(), config.discovers_mtu())?;
        let control_thread = control::start(config, options, own, notifier, monitor, &mut handler)?;
        Ok(Self {
            handler,
            driver,
            control_thread,
        })
    }

    /// Lets the node read its configuration again, from elsewhere.
    #[must_use]
    pub fn reload_handle(&self) -> ReloadHandle {
        self.control_thread.reload_handle()
    }

    /// Ends [`Node::run`] from elsewhere.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Carries packets until it is stopped, and says what it counted.
    pub fn run(&mut self) -> Result<Stats, NodeError> {
        tracing::info!(tun = self.handler.tun_name(), "ready");
        self.handler.management.supervision.notify_ready();
        let (report, ended) = self.driver.run_to_the_end(&mut self.handler);
        let now = self.driver.clock().now();
        let finished = self.handler.finish(now, stats::drive(&report));
        ended?;
        finished.map_err(NodeError::Events)
    }
}

fn clock(origin_ns: Option<u64>) -> Result<Clock, NodeError> {
    let now = Clock::starting_now();
    let origin = origin_ns.unwrap_or(now.origin_ns());
    if origin > now.origin_ns() {
        let now = now.origin_ns();
        return Err(NodeError::Origin { origin, now });
    }
    Ok(Clock::starting_at(origin))
}

fn recorder(path: &Path, endpoint: EndpointConfig) -> Result<Recorder, NodeError> {
    recording::start(path, &Header::new(endpoint)).map_err(|source| NodeError::File {
        option: "--record",
        path: path.to_owned(),
        source,
    })
}

fn stats_writer(path: &Path) -> Result<StatsWriter<Stats>, NodeError> {
    let opened = StatsFile::new(path);
    let started = opened.and_then(|file| StatsWriter::start(file, "the node"));
    started.map_err(|source| NodeError::File {
        option: "--stats",
        path: path.to_owned(),
        source,
    })
}

fn session(
    config: &NodeConfig,
    private_key: PrivateKey,
    max_datagram: usize,
    clock: Clock,
) -> SessionConfig {
    let known = |path: &PathConfig| path.target().is_some();
    SessionConfig {
        private_key,
        peer: config.peer.public_key,
        reachable: config.paths.iter().map(known).collect(),
        max_datagram,
        wall_clock: clock.wall_at_zero(),
        limits: Limits::default(),
    }
}

fn tunnel(
    config: &NodeConfig,
    endpoint: EndpointConfig,
    session: &SessionConfig,
) -> Result<Tunnel, ConfigError> {
    let entropy = Box::new(SystemEntropy);
    let mut tunnel = Tunnel::new(&endpoint, session.clone(), entropy)?;
    for (id, path) in (0..).map(PathId).zip(&config.paths) {
        if let Some(relay) = &path.relay {
            let session = session.with_relay(relay.public_key);
            tunnel.add_relay(id, session, Box::new(SystemEntropy));
        }
    }
    Ok(tunnel)
}

/// The TUN device's MTU: what the smallest path leaves, unless the configuration says otherwise.
fn tun_mtu(config: &NodeConfig, sockets: &[PathSocket]) -> Result<u16, NodeError> {
    let room = |(path, socket): (&PathConfig, &PathSocket)| {
        let room = socket.mtu().saturating_sub(socket.headers()) as usize;
        room.saturating_sub(packet_overhead(path.relay.is_some()))
    };
    let paths = config.paths.iter().zip(sockets);
    let room = paths.map(room).min().unwrap_or(0);
    let room = u16::try_from(room).unwrap_or(u16::MAX);
    let mtu = config.node.tun.mtu.unwrap_or(room);
    if config.probing.pair_len > mtu {
        let pair_len = config.probing.pair_len;
        tracing::warn!(pair_len, mtu, "packet pairs are longer than packets can be");
    }
    let mut addresses = config.node.tun.addresses.iter();
    if mtu < LEAST_MTU_V6 && addresses.any(|prefix| prefix.address().is_ipv6()) {
        return Err(NodeError::Mtu(mtu));
    }
    Ok(mtu)
}

fn open_tun(config: &NodeConfig, mtu: u16) -> Result<Tun, TunError> {
    let tun = &config.node.tun;
    let device = Tun::open(&TunConfig {
        name: tun.name.clone(),
        addresses: tun.addresses.clone(),
        mtu,
        queue: tun.queue,
        offload: config.offload(),
    })?;
    // Or another node that looks for uplinks would take it for one.
    if let Err(error) = netlink::set_alias(device.name(), TUN_ALIAS) {
        tracing::debug!(%error, "the TUN device cannot be marked as that of a node");
    }
    Ok(device)
}

/// The start of the second after `now`.
pub(crate) fn next_second(now: Time) -> Time {
    const SECOND: u64 = 1_000_000_000;
    Time((now.0 / SECOND + 1).saturating_mul(SECOND))
}
