//! A node: a TUN device or UDP ports for applications, a
//! [`Tunnel`](polypath_session::tunnel::Tunnel) and a UDP socket for each path, driven by the real
//! clock.
//!
//! Decisions are made in `polypath-core` and `polypath-session`; this module only moves bytes.
//! Without offload a packet is sent before the next one is read; with offload several are read in
//! one call, and sent at the end of the turn. Machines receive the datagrams of all paths in the
//! order and with the times in which the kernel received them, with deadlines in between at their
//! own time (`driver`): a node that is woken late decides as one that is woken in time.
//!
//! The price of that order: a flood on one path that is faster than the node reads delays the
//! datagrams of all paths by the time it takes to read that path's receive buffer (4 MB). A junk
//! datagram costs a read and a look at its header or one hash; the session bounds the number of
//! handshake initiations that it processes. In a flood of junk the kernel drops it
//! (`paths::flood_guard`).
//!
//! | module | |
//! | --- | --- |
//! | `event_handler` | the node as the drive loop sees it |
//! | `driver` | the machine: wakes in order of time |
//! | `io` | TUN device or UDP ports, sockets, ICMP replies, event stream |
//! | `paths` | the sockets of the paths, peer addresses, path MTUs |
//! | `setup` | opening the device, the sockets and the tunnel from the configuration |
//! | `management`, `control` | commands of the control thread: reload, status |
//! | `statistics` | counters |
//! | `quotas`, `state_file` | the use of quotas, and what the next run needs |
//! | `path_log`, `session_log` | log lines |

mod control;
mod driver;
mod error;
mod event_handler;
mod io;
mod management;
mod path_log;
mod paths;
mod quotas;
mod session_log;
mod setup;
mod state_file;
mod statistics;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::Signal;
use polypath_core::endpoint::EndpointConfig;
use polypath_core::frame::PathId;
use polypath_session::session::SessionConfig;
use polypath_session::tunnel::packet_overhead;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::config::NodeConfig;
use crate::control::ReloadHandle;
use crate::control::thread::ControlThread;
use crate::drive::{Driver, StopHandle, Token};
use crate::keys;
use crate::notify::Notifier;
use crate::privilege;
use crate::stats::{self, Stats};
use crate::udp::PathSocket;
pub use error::NodeError;
use event_handler::{NodeEventHandler, OutputFiles};
use io::NodeIo;
use io::events::EventFile;
use io::sockets::{self, OpenedPaths};
use paths::silence_detector::SilenceDetector;
use paths::{Paths, TunMtu};
use quotas::Quotas;
use state_file::{SavedState, StateFile};

/// Output files of a run, and its time zero.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The file of the event stream: a line with its version, then one line of JSON per event
    /// ([`polypath_core::event::Stamped`]).
    pub events: Option<PathBuf>,
    /// The file of counters ([`Stats`]), replaced each second and at the end.
    pub stats: Option<PathBuf>,
    /// The file that keeps the timestamp of the peer's newest initiation, its learned addresses, and
    /// the use of quotas, for the next run.
    pub state: Option<PathBuf>,
    /// The file that records the inputs and outputs of the endpoint ([`crate::recording`]).
    pub record: Option<PathBuf>,
    /// The configuration file that a reload reads; without it the node cannot reload.
    pub file: Option<PathBuf>,
    /// Time zero in nanoseconds on `CLOCK_MONOTONIC`, for several processes of one run; not in the
    /// future.
    pub origin_ns: Option<u64>,
}

/// A node that is set up: sockets and TUN device are open.
pub struct Node {
    handler: NodeEventHandler,
    driver: Driver,
    control_thread: ControlThread,
}

/// Runs a node until `SIGINT` or `SIGTERM` and returns its counters.
pub fn run(config: &NodeConfig, options: &Options) -> Result<Stats, NodeError> {
    let notifier = Notifier::from_env();
    privilege::forbid_dumps();
    let mut node = Node::open_notifying(config, options, &notifier)?;
    privilege::forbid_dumps();
    let stop = node.stop_handle();
    let received = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM] {
        // Registered first: the number is there when the node stops.
        let number = usize::try_from(signal).unwrap_or(0);
        signal_hook::flag::register_usize(signal, received.clone(), number)?;
        stop.stop_on(signal)?;
    }
    node.reload_handle().reload_on(SIGHUP)?;
    let stats = node.run()?;
    let signal = i32::try_from(received.load(Ordering::Relaxed)).ok();
    let signal = signal.and_then(|number| Signal::try_from(number).ok());
    tracing::info!(signal = signal.map(Signal::as_str), "stopped");
    Ok(stats)
}

impl Node {
    /// Opens the TUN device, sockets and files of `config` and `options`, in the network namespace
    /// of the calling thread.
    pub fn open(config: &NodeConfig, options: &Options) -> Result<Self, NodeError> {
        Self::open_notifying(config, options, &Notifier::default())
    }

    fn open_notifying(
        config: &NodeConfig,
        options: &Options,
        notifier: &Notifier,
    ) -> Result<Self, NodeError> {
        let clock = setup::clock(options.origin_ns)?;
        let private_key = keys::load(&config.node.key_file)?;
        let public_key = private_key.public();
        let preshared = config.peer.preshared_key_file.as_deref();
        let preshared_key = preshared.map(keys::load_preshared).transpose()?;
        let events = options.events.as_deref().map(EventFile::create);
        let events = events.transpose()?;
        let stats = options.stats.as_deref().map(setup::stats_writer);
        let stats = stats.transpose()?;
        let wall_clock = clock.wall_at_zero().saturating_add(clock.now().0);
        let state_file = setup::state_file(config, options, wall_clock)?;
        let endpoint = EndpointConfig {
            seed: setup::seed()?,
            ..config.endpoint()
        };
        let recorder = options.record.as_deref();
        let recorder = recorder.map(|path| setup::recorder(path, &endpoint));
        let recorder = recorder.transpose()?;
        let OpenedPaths {
            sockets,
            interface_statuses,
            monitor,
        } = sockets::open(config)?;
        let mtu = setup::tun_mtu(config, &sockets)?;
        let longest = sockets.iter().map(PathSocket::mtu).max().unwrap_or(0) as usize;
        // With an MTU of the TUN device above those of the paths, IP fragments and reassembles
        // datagrams.
        let max_datagram = longest.max(usize::from(mtu) + packet_overhead(true));
        let former = state_file.as_ref().map(StateFile::kept).cloned();
        let former: SavedState = former.unwrap_or_default();
        let path_name = |path: PathId| &*config.paths[path.index()].name;
        let mut quotas = Quotas::new(&endpoint.tariffs, path_name, former.quotas, wall_clock);
        quotas.log_unused();
        let session = SessionConfig {
            preshared_key,
            peer_timestamp: former.timestamp,
            ..setup::session(config, private_key, max_datagram, clock)
        };
        let mut tunnel = setup::tunnel(config, &endpoint, &session)?;
        if let Some(recorder) = recorder {
            tunnel = tunnel.with_recorder(recorder);
        }
        let application = setup::open_application(config, mtu, clock)?;
        let driver = Driver::new(clock)?;
        application.watch(&driver, event_handler::APPLICATION)?;
        for (index, socket) in (0..).zip(&sockets) {
            driver.watch(socket, Token(index))?;
        }
        let detector = SilenceDetector::new(config.paths.len(), config.policy, config.liveness);
        let offload = config.offload();
        let mut paths = Paths::new(
            &config.paths,
            sockets,
            max_datagram,
            clock,
            detector,
            offload,
        );
        for (id, interface_status) in (0..).map(PathId).zip(interface_statuses) {
            paths.set_interface_status(id, interface_status);
        }
        let tun = config.node.tun.as_ref();
        let is_configured = tun.is_some_and(|tun| tun.mtu.is_some());
        paths.set_tun_mtu(TunMtu { mtu, is_configured });
        let io = NodeIo::new(application, paths, events);
        let files = OutputFiles {
            stats,
            state_file,
            config: options.file.clone(),
        };
        let mut handler = NodeEventHandler::new(tunnel, io, files, quotas, driver.watcher(), clock);
        handler.set_former_use(clock.now())?;
        let control_thread = control::start(
            config,
            options.file.clone(),
            public_key,
            notifier,
            monitor,
            &mut handler,
        )?;
        handler.check_quota_state_as_user(&endpoint.tariffs)?;
        // These send datagrams: after everything at which a start may fail.
        handler.set_mtu_discovery(clock.now(), config.discovers_mtu())?;
        handler.set_former_addresses(clock.now(), &former.addresses)?;
        Ok(Self {
            handler,
            driver,
            control_thread,
        })
    }

    /// A handle that lets another thread, or a signal, reload the configuration.
    #[must_use]
    pub fn reload_handle(&self) -> ReloadHandle {
        self.control_thread.reload_handle()
    }

    /// A handle that ends [`Node::run`] from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Carries packets until it is stopped, and returns its counters.
    pub fn run(&mut self) -> Result<Stats, NodeError> {
        self.handler.start()?;
        tracing::info!(tun = self.handler.name(), "ready");
        self.handler.management.supervision.notify_ready();
        let (report, ended) = self.driver.run_to_the_end(&mut self.handler);
        let now = self.driver.clock().now();
        let finished = self.handler.finish(now, stats::drive(&report));
        ended?;
        finished.map_err(NodeError::Events)
    }
}
