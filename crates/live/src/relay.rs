//! A relay: a UDP socket and a [`Relay`] for each path, driven by the real clock.
//!
//! Decisions are made in `polypath-session`; this module only moves bytes.

mod event_handler;
mod log;
mod path;
mod stats;

use std::io;
use std::path::{Path, PathBuf};

use polypath_session::entropy::BoxedEntropy;
use polypath_session::relay::{Relay, RelayConfig};
use polypath_session::session::Limits;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::clock::Clock;
use crate::config::relay::RelayFile;
use crate::drive::{Driver, StopHandle, Token};
use crate::keys::{self, KeyError, SystemEntropy};
use crate::notify::{Notifier, Supervision};
use crate::privilege::{self, PrivilegeError};
use crate::snapshot::SnapshotWriter;
use crate::stats as counters;
use crate::udp::{PathSocket, UdpError};
use event_handler::RelayEventHandler;
use path::RelayPath;
pub use stats::{NodeStats, PathStats, Stats, VERSION};

/// An error that prevents the start of a relay, or that stops it.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The key file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A socket.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// The statistics file.
    #[error(
        "--stats {path}: {source}; the relay runs as the user `{user}`, which must be able to create files in its \
         directory, and that must exist: give the user a directory (`chown {user} DIR`), \
         name another file, or another `user` in `[relay]`",
        path = path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// The user of the process.
        user: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Privileges could not be dropped.
    #[error(transparent)]
    Privilege(#[from] PrivilegeError),
    /// The drive loop.
    #[error("the relay stopped: {0}")]
    Drive(#[from] io::Error),
}

/// A relay that is set up: its sockets are open.
pub struct RelayServer {
    handler: RelayEventHandler,
    driver: Driver,
}

/// Runs a relay until `SIGINT` or `SIGTERM` and returns its counters, which it also writes to the
/// file `stats` each second.
pub fn run(file: &RelayFile, stats: Option<&Path>) -> Result<Stats, RelayError> {
    privilege::forbid_dumps();
    // Connected before the drop, as the manager's socket may be root's.
    let notifier = Notifier::from_env();
    let mut relay = RelayServer::open(file)?;
    let default = privilege::default_user();
    privilege::drop_privileges(file.relay.user.as_deref().or(default))?;
    privilege::forbid_dumps();
    if let Some(path) = stats {
        // The user without privileges replaces the file each second, so it has to be able to.
        relay.handler.stats = Some(stats_writer(path)?);
    }
    relay.report_to(notifier);
    let stop = relay.stop_handle();
    // `SIGHUP`, which reloads a node, does not end a relay.
    signal_hook::flag::register(SIGHUP, relay.handler.hangup.clone())?;
    stop.stop_on(SIGINT)?;
    stop.stop_on(SIGTERM)?;
    relay.run()
}

impl RelayServer {
    /// Opens the sockets and the key of `file`, in the network namespace of the calling thread.
    pub fn open(file: &RelayFile) -> Result<Self, RelayError> {
        let clock = Clock::starting_now();
        let private_key = keys::load(&file.relay.key_file)?;
        let driver = Driver::new(clock)?;
        let mut paths = Vec::new();
        for (index, path) in (0..).zip(&file.paths) {
            // The configuration is checked: a path joins two nodes.
            let [first, second] = &path.nodes[..] else {
                continue;
            };
            let socket = PathSocket::open(&path.socket())?;
            driver.watch(&socket, Token(index))?;
            let config = RelayConfig {
                private_key: private_key.clone(),
                nodes: [first.public_key, second.public_key],
                // Datagrams that a node had to fragment are accepted.
                max_datagram: path::MAX_DATAGRAM,
                rate: path.rate,
                limits: Limits::default(),
                receives_ecn: true,
            };
            let entropy = || Box::new(SystemEntropy) as BoxedEntropy;
            let relay = Relay::new(&config, [entropy(), entropy()]);
            paths.push(RelayPath::new(path, socket, relay, clock));
        }
        let handler = RelayEventHandler::new(paths, clock.now());
        Ok(Self { handler, driver })
    }

    /// Reports the relay's status to the service manager from now on.
    fn report_to(&mut self, notifier: Notifier) {
        let now = self.driver.clock().now();
        self.handler.supervision = Supervision::new(notifier, now);
    }

    /// A handle that ends [`RelayServer::run`] from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Forwards datagrams until it is stopped, and returns its counters.
    pub fn run(&mut self) -> Result<Stats, RelayError> {
        tracing::info!(paths = self.handler.len(), "ready");
        self.handler.supervision.notify_ready();
        let (report, ended) = self.driver.run_to_the_end(&mut self.handler);
        let now = self.driver.clock().now();
        let stats = self.handler.finish(now, counters::drive(&report));
        Ok(ended.map(|()| stats)?)
    }
}

fn stats_writer(path: &Path) -> Result<SnapshotWriter<Stats>, RelayError> {
    SnapshotWriter::of_statistics(path).map_err(|source| RelayError::File {
        path: path.to_owned(),
        user: privilege::current_user(),
        source,
    })
}
