//! Two nodes on threads of this process, with their files.

use std::fs;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use polypath_core::liveness::{LivenessSetting, PathState};
use polypath_core::policy::PolicyConfig;
use polypath_core::tariff::Tariffs;
use polypath_core::time::Duration;
use polypath_live::keys;
use polypath_live::node::Options;
use polypath_live::stats::Stats;
use polypath_scenario::Scenario;
use tempfile::TempDir;

use crate::addressing::{SIDES, STREAM_PORT, overlay_addresses, side_name};
use crate::endpoints::Endpoints;
use crate::node_process::{NodeFiles, OverlayConfig};
use crate::node_thread::NodeThread;
use crate::udp;

const MEMORY: &str = "/dev/shm";
/// The real-time priority of the nodes of a transfer and of its ends, below that of the network.
pub(crate) const PRIORITY: u8 = 5;

/// The configuration of two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodePairConfig<'a> {
    /// The part that both have in common.
    pub(crate) overlay: OverlayConfig<'a>,
    /// Whether they write their events.
    pub(crate) with_events: bool,
    /// Their time zero on `CLOCK_MONOTONIC`, in nanoseconds; their own start if absent.
    pub(crate) origin_ns: Option<u64>,
    /// Their real-time priority, if the system allows one.
    pub(crate) priority: u8,
}

/// Two running nodes with their files.
pub(crate) struct NodePair {
    nodes: [NodeThread; 2],
    files: [NodeFiles; 2],
    directory: TempDir,
}

/// The files and statistics of two nodes that have ended: of the server's side, then the client's.
pub(crate) struct FinishedPair {
    pub(crate) stats: [Stats; 2],
    pub(crate) files: [NodeFiles; 2],
    // The files exist as long as this.
    _directory: TempDir,
}

impl NodePair {
    /// Starts the nodes.
    pub(crate) fn start(endpoints: &Endpoints, config: &NodePairConfig<'_>) -> io::Result<Self> {
        let directory = scratch()?;
        let files = SIDES.map(|side| NodeFiles::new(directory.path(), side));
        let mut public = Vec::new();
        for files in &files {
            let key = keys::generate(&files.key()).map_err(io::Error::other)?;
            public.push(key.to_string());
        }
        let start = |at: usize| {
            files[at].configure(config.overlay, &public[1 - at])?;
            let options = Options {
                stats: Some(files[at].stats()),
                state: Some(files[at].state()),
                events: config.with_events.then(|| files[at].events()),
                origin_ns: config.origin_ns,
                ..Options::default()
            };
            let (namespace, file) = (endpoints.at(SIDES[at]), files[at].configuration());
            NodeThread::start_realtime(namespace, &file, &options, config.priority)
        };
        let nodes = [start(0)?, start(1)?];
        Ok(Self {
            nodes,
            files,
            directory,
        })
    }

    /// Starts nodes with this policy for a transfer over the paths of a scenario.
    pub(crate) fn of_scenario(
        scenario: &Scenario,
        policy: PolicyConfig,
        endpoints: &Endpoints,
    ) -> io::Result<Self> {
        let names = scenario.paths.iter().map(|path| path.name.clone());
        let overlay = OverlayConfig {
            paths: &names.collect::<Vec<String>>(),
            policy,
            probing: scenario.probing(),
            liveness: LivenessSetting::default(),
            tariffs: &Tariffs::default(),
            classes: &scenario.classes,
            spacing: None,
        };
        let config = NodePairConfig {
            overlay,
            with_events: false,
            origin_ns: None,
            priority: PRIORITY,
        };
        Self::start(endpoints, &config)
    }

    /// The reason why the nodes have not settled, if any: a node that cannot use `wanted` paths.
    pub(crate) fn unsettled(&self, wanted: usize) -> io::Result<Option<String>> {
        for (files, side) in self.files.iter().zip(SIDES) {
            let states = states(files)?;
            let usable = |state: &&String| is_usable(state);
            if states.iter().filter(usable).count() < wanted {
                let side = side_name(side);
                return Ok(Some(format!(
                    "the paths of the {side}'s node are {states:?}"
                )));
            }
        }
        Ok(None)
    }

    /// Fails with the error of a node that has ended.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.nodes.iter_mut().try_for_each(NodeThread::check)
    }

    /// The processor time of both nodes since their start; fails if one has ended.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        self.nodes.iter().map(NodeThread::processor_time).sum()
    }

    /// Ends the nodes and returns their statistics and files.
    pub(crate) fn finish(self) -> io::Result<FinishedPair> {
        let [server, client] = self.nodes;
        Ok(FinishedPair {
            stats: [server.finish()?, client.finish()?],
            files: self.files,
            _directory: self.directory,
        })
    }
}

/// A temporary directory, in memory if possible: a node writes its statistics between packets, and
/// a busy disk would delay it.
fn scratch() -> io::Result<TempDir> {
    tempfile::tempdir_in(MEMORY).or_else(|_| tempfile::tempdir())
}

/// The states of the node's paths, at most a second old.
fn states(files: &NodeFiles) -> io::Result<Vec<String>> {
    let bytes = match fs::read(files.stats()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let stats: serde_json::Value = serde_json::from_slice(&bytes)?;
    let paths = stats["paths"].as_array().into_iter().flatten();
    let names = paths.filter_map(|path| path["liveness"]["state"].as_str());
    Ok(names.map(str::to_owned).collect())
}

fn is_usable(state: &str) -> bool {
    [PathState::Live, PathState::Returning]
        .iter()
        .any(|usable| serde_json::json!(usable) == state)
}

/// Two connected sockets over the nodes: at the server's side, then at the client's.
pub(crate) fn open_sockets(endpoints: &Endpoints) -> io::Result<[UdpSocket; 2]> {
    let address = |side| SocketAddr::new(overlay_addresses(side)[0].addr(), STREAM_PORT);
    udp::connected_pair(endpoints, address)
}
