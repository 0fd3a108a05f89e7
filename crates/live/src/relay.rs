//! A relay: for each path a UDP socket and a [`Relay`], driven by the real clock.
//!
//! What it decides is in `polypath-session`; here is only what moves bytes.

use std::io;
use std::path::{Path, PathBuf};

use polypath_session::entropy::BoxedEntropy;
use polypath_session::relay::{Relay, RelayConfig};
use polypath_session::session::Limits;
use serde::Serialize;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::clock::Clock;
use crate::config::relay::RelayFile;
use crate::drive::{Driver, StopHandle, Token};
use crate::keys::{self, KeyError, SystemEntropy};
use crate::notify::{Notifier, Supervision};
use crate::privilege::{self, PrivilegeError};
use crate::stats::{self, StatsFile, StatsWriter};
use crate::udp::{PathSocket, UdpError};
use event_handler::RelayEventHandler;
use path::Path as RelayPath;
pub use path::{NodeStats, PathStats};

mod event_handler;
mod path;

/// Version of the statistics file; it changes when a field changes its meaning.
pub const VERSION: u32 = 1;

/// What a relay counted so far.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// [`VERSION`].
    pub version: u32,
    /// When, in nanoseconds since the start of the run.
    pub at: polypath_core::time::Time,
    /// The paths.
    pub paths: Vec<PathStats>,
    /// How well deadlines were met; at the end of the run.
    pub drive: Option<Value>,
}

/// Why a relay could not be set up, or what ended it.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The key file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A socket.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// A file that is to be written.
    #[error(
        "--stats {path}: {source}; name a file in a directory that exists and can be written",
        path = path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Privileges that are to be given up.
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

/// Runs a relay until `SIGINT` or `SIGTERM`, and says what it counted; `stats` is where it writes that meanwhile.
pub fn run(file: &RelayFile, stats: Option<&Path>) -> Result<Stats, RelayError> {
    let mut relay = RelayServer::open(file, stats)?;
    privilege::give_up(None)?;
    relay.report_to(Notifier::from_env());
    let stop = relay.stop_handle();
    // A hangup, or a reload that is meant for a node, does not end it.
    signal_hook::flag::register(SIGHUP, relay.handler.hangup.clone())?;
    stop.stop_on(SIGINT)?;
    stop.stop_on(SIGTERM)?;
    relay.run()
}

impl RelayServer {
    /// Opens all that `file` names, in the network namespace of the calling thread.
    pub fn open(file: &RelayFile, stats: Option<&Path>) -> Result<Self, RelayError> {
        let clock = Clock::starting_now();
        let private_key = keys::load(&file.relay.key_file)?;
        let stats = stats.map(stats_writer).transpose()?;
        let driver = Driver::new(clock)?;
        let mut paths = Vec::new();
        for (index, path) in (0..).zip(&file.paths) {
            // Its configuration was checked: a path joins two nodes.
            let [first, second] = &path.nodes[..] else {
                continue;
            };
            let socket = PathSocket::open(&path.socket())?;
            driver.watch(&socket, Token(index))?;
            let config = RelayConfig {
                private_key: private_key.clone(),
                nodes: [first.public_key, second.public_key],
                // What IP has joined again of a node that fragments is taken, too.
                max_datagram: path::LONGEST,
                rate: path.rate,
                limits: Limits::default(),
            };
            let entropy = || Box::new(SystemEntropy) as BoxedEntropy;
            let relay = Relay::new(&config, [entropy(), entropy()]);
            paths.push(RelayPath::new(path, socket, relay, clock));
        }
        let handler = RelayEventHandler::new(paths, stats, clock.now());
        Ok(Self { handler, driver })
    }

    /// Tells the service manager from now on how the relay does.
    fn report_to(&mut self, notifier: Notifier) {
        let now = self.driver.clock().now();
        self.handler.supervision = Supervision::new(notifier, now);
    }

    /// Ends [`RelayServer::run`] from elsewhere.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Forwards datagrams until it is stopped, and says what it counted.
    pub fn run(&mut self) -> Result<Stats, RelayError> {
        tracing::info!(paths = self.handler.len(), "ready");
        self.handler.supervision.notify_ready();
        let (report, ended) = self.driver.run_to_the_end(&mut self.handler);
        let now = self.driver.clock().now();
        let stats = self.handler.finish(now, stats::drive(&report));
        Ok(ended.map(|()| stats)?)
    }
}

fn stats_writer(path: &Path) -> Result<StatsWriter<Stats>, RelayError> {
    let opened = StatsFile::new(path);
    let started = opened.and_then(|file| StatsWriter::start(file, "the relay"));
    started.map_err(|source| RelayError::File {
        path: path.to_owned(),
        source,
    })
}
