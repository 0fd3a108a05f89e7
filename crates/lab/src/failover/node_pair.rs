//! Two nodes that send on one path at a time.

use std::fs;
use std::io;
use std::net::UdpSocket;

use polypath_core::endpoint::ProbingConfig;
use polypath_core::liveness::PathState;
use polypath_core::policy::PolicyConfig;
use polypath_live::config::LivenessSetting;
use polypath_live::keys;
use polypath_live::node::Options;
use polypath_live::stats::Stats;
use polypath_sim::Side;
use tempfile::TempDir;

use super::parameters::{LINKS, PRIORITY, READ_TIMEOUT};
use crate::addressing::{SIDES, overlay_addresses, side_name};
use crate::endpoints::Endpoints;
use crate::node_process::{self, NodeFiles};
use crate::node_thread::NodeThread;

const PORT: u16 = 6000;
const MEMORY: &str = "/dev/shm";

/// Two running nodes with their files.
pub(super) struct NodePair {
    nodes: [NodeThread; 2],
    files: [NodeFiles; 2],
    _directory: TempDir,
}

impl NodePair {
    /// Starts the nodes and opens the sockets of sender and receiver.
    pub(super) fn start(
        endpoints: &Endpoints,
        policy: PolicyConfig,
    ) -> io::Result<(Self, [UdpSocket; 2])> {
        let directory = scratch()?;
        let files = SIDES.map(|side| NodeFiles::new(directory.path(), side));
        let mut public = Vec::new();
        for files in &files {
            let key = keys::generate(&files.key()).map_err(io::Error::other)?;
            public.push(key.to_string());
        }
        let names = ["one", "two"].map(String::from);
        let overlay = node_process::OverlayConfig {
            paths: &names,
            policy,
            probing: ProbingConfig::default(),
            liveness: LivenessSetting::default(),
        };
        let start = |at: usize| {
            files[at].configure(overlay, &public[1 - at])?;
            let options = Options {
                stats: Some(files[at].stats()),
                ..Options::default()
            };
            let (namespace, file) = (endpoints.at(SIDES[at]), files[at].configuration());
            NodeThread::start_realtime(namespace, &file, &options, PRIORITY)
        };
        let nodes = [start(0)?, start(1)?];
        let sockets = [
            open(endpoints, Side::Server, Side::Client)?,
            open(endpoints, Side::Client, Side::Server)?,
        ];
        let overlay = Self {
            nodes,
            files,
            _directory: directory,
        };
        Ok((overlay, sockets))
    }

    /// The reason why the nodes have not settled, if any: a node with fewer than two usable paths.
    pub(super) fn unsettled(&self) -> io::Result<Option<String>> {
        for (files, side) in self.files.iter().zip(SIDES) {
            let states = states(files)?;
            let usable = |state: &&String| is_usable(state);
            if states.iter().filter(usable).count() < LINKS {
                let side = side_name(side);
                return Ok(Some(format!(
                    "the paths of the {side}'s node are {states:?}"
                )));
            }
        }
        Ok(None)
    }

    /// Ends the nodes and returns their statistics.
    pub(super) fn finish(self) -> io::Result<[Stats; 2]> {
        let [server, client] = self.nodes;
        Ok([server.finish()?, client.finish()?])
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

fn open(endpoints: &Endpoints, from: Side, to: Side) -> io::Result<UdpSocket> {
    let address = |side| (overlay_addresses(side)[0].addr(), PORT);
    let socket = endpoints.at(from).run(|| {
        let socket = UdpSocket::bind(address(from))?;
        socket.connect(address(to))?;
        Ok(socket)
    })?;
    socket.set_read_timeout(Some(READ_TIMEOUT))?;
    Ok(socket)
}
