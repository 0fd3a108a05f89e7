//! The `polypath node` processes of a scheme, as in a deployment.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use polypath_core::class::Classes;
use polypath_core::endpoint::ProbingConfig;
use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::spacing::SpacingConfig;
use polypath_core::tariff::{Tariff, Tariffs};
use polypath_core::time::Duration;
use polypath_live::config::{Control, LivenessSetting, Off};
use polypath_sim::Side;
use serde::Serialize;

use crate::addressing::{
    NODE_PORT, OVERLAY_DEVICE, overlay_addresses, path_address, path_device, side_name,
};
use crate::namespace::Namespace;
use crate::process::Process;

/// The configuration that both nodes of a scheme share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverlayConfig<'a> {
    /// The names of the paths.
    pub(crate) paths: &'a [String],
    /// The path policy.
    pub(crate) policy: PolicyConfig,
    /// The probing of paths.
    pub(crate) probing: ProbingConfig,
    /// The liveness detection of paths.
    pub(crate) liveness: LivenessSetting,
    /// The costs of paths; nodes refuse them with a policy that does not regard any.
    pub(crate) tariffs: &'a Tariffs,
    /// The classes of packets; nodes refuse them with a policy that treats all packets alike.
    pub(crate) classes: &'a Classes,
    /// The spacing of packets, if they are spaced.
    pub(crate) spacing: Option<&'a SpacingConfig>,
}

/// The paths of a node's files.
#[derive(Clone, Debug)]
pub(crate) struct NodeFiles {
    directory: PathBuf,
    side: Side,
}

/// A running node, killed on drop.
#[derive(Debug)]
pub(crate) struct NodeProcess {
    process: Process,
    files: NodeFiles,
}

impl NodeFiles {
    /// The files of the node at `side`, in `directory`.
    pub(crate) fn new(directory: &Path, side: Side) -> Self {
        let directory = directory.to_owned();
        Self { directory, side }
    }

    /// The private key.
    pub(crate) fn key(&self) -> PathBuf {
        self.with_suffix("key")
    }

    /// The event stream.
    pub(crate) fn events(&self) -> PathBuf {
        self.with_suffix("events")
    }

    /// The state, which a path with a quota requires.
    pub(crate) fn state(&self) -> PathBuf {
        self.with_suffix("state.json")
    }

    /// The statistics.
    pub(crate) fn stats(&self) -> PathBuf {
        self.with_suffix("stats.json")
    }

    /// The 99th percentile of the lateness at the node's deadlines, from its statistics; fails if
    /// the file cannot be read or lacks it.
    pub(crate) fn lateness(&self) -> io::Result<Duration> {
        let stats: serde_json::Value = serde_json::from_slice(&fs::read(self.stats())?)?;
        let us = stats["drive"]["lateness_us"]["p99"].as_u64();
        let us = us.ok_or_else(|| io::Error::other("the statistics have no lateness"))?;
        Ok(Duration::from_micros(us))
    }

    fn log(&self) -> PathBuf {
        self.with_suffix("log")
    }

    /// The configuration file.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.with_suffix("toml")
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        self.directory
            .join(format!("{}.{suffix}", side_name(self.side)))
    }

    /// Writes the node's configuration file: its side of `overlay`, with the public key of the
    /// peer.
    pub(crate) fn configure(&self, overlay: OverlayConfig<'_>, peer: &str) -> io::Result<()> {
        let configuration = Configuration::new(self.side, overlay, peer);
        let text = toml::to_string(&configuration).map_err(io::Error::other)?;
        fs::write(self.configuration(), text)
    }
}

impl NodeProcess {
    /// Starts the program `binary` as a node in `namespace` with the configuration in `files`; its
    /// time zero is `origin_ns` on `CLOCK_MONOTONIC`.
    pub(crate) fn start(
        binary: &Path,
        namespace: &Namespace,
        files: NodeFiles,
        origin_ns: u64,
    ) -> io::Result<Self> {
        let mut command = Command::new(binary);
        command.arg("node").arg(files.configuration());
        command.arg("--events").arg(files.events());
        command.arg("--stats").arg(files.stats());
        command.arg("--state").arg(files.state());
        command.arg("--origin-ns").arg(origin_ns.to_string());
        let name = format!("the {}'s node", side_name(files.side));
        let process = Process::start(namespace, name, &mut command, files.log())?;
        Ok(Self { process, files })
    }

    /// Fails with the end of the node's log if it has exited.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.process.check()
    }

    /// Sends SIGTERM to the node; fails if it has already exited.
    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.process.terminate()
    }

    /// Waits for the exit of the terminated node and returns its files, which are then complete.
    pub(crate) fn finish(self) -> io::Result<NodeFiles> {
        self.process.finish()?;
        Ok(self.files)
    }
}

/// A node's configuration file.
#[derive(Serialize)]
struct Configuration<'a> {
    // TOML requires plain values before tables.
    control: Control,
    liveness: LivenessSetting,
    node: NodeTable,
    peer: PeerTable<'a>,
    policy: PolicyConfig,
    probing: ProbingConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a Classes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spacing: Option<&'a SpacingConfig>,
    path: Vec<PathTable<'a>>,
}

#[derive(Serialize)]
struct NodeTable {
    key_file: PathBuf,
    tun: TunTable,
}

#[derive(Serialize)]
struct TunTable {
    name: &'static str,
    addresses: [String; 2],
    /// Off, so that each packet has its own time as in the simulation.
    offload: bool,
}

#[derive(Serialize)]
struct PeerTable<'a> {
    public_key: &'a str,
}

#[derive(Serialize)]
struct PathTable<'a> {
    name: &'a str,
    interface: String,
    local: String,
    remote: String,
    #[serde(skip_serializing_if = "Tariff::is_free")]
    tariff: Tariff,
}

impl<'a> Configuration<'a> {
    fn new(side: Side, overlay: OverlayConfig<'a>, peer: &'a str) -> Self {
        let paths = (0..).map(PathId).zip(overlay.paths);
        Self {
            liveness: overlay.liveness,
            control: Control::Off(Off::Off),
            node: NodeTable {
                key_file: format!("{}.key", side_name(side)).into(),
                tun: TunTable {
                    name: OVERLAY_DEVICE,
                    addresses: overlay_addresses(side).map(|prefix| prefix.to_string()),
                    offload: false,
                },
            },
            peer: PeerTable { public_key: peer },
            // As in the simulation; by default nodes have hysteresis.
            policy: overlay.policy.or_hysteresis(false),
            probing: overlay.probing,
            spacing: overlay.spacing,
            class: Some(overlay.classes)
                .filter(|classes| !classes.is_empty() && overlay.policy.respects_classes()),
            path: paths
                .map(|(path, name)| PathTable {
                    tariff: tariff(&overlay, path),
                    ..PathTable::new(path, name, side)
                })
                .collect(),
        }
    }
}

/// The tariff of `path` without what a node with this policy refuses.
fn tariff(overlay: &OverlayConfig<'_>, path: PathId) -> Tariff {
    let tariff = overlay.tariffs.of(path);
    if overlay.policy.respects_costs() {
        return tariff;
    }
    Tariff { cost: 0, ..tariff }
}

impl<'a> PathTable<'a> {
    fn new(path: PathId, name: &'a str, side: Side) -> Self {
        let address =
            |side| SocketAddr::new(path_address(path, side).addr(), NODE_PORT).to_string();
        Self {
            name,
            interface: path_device(path),
            local: address(side),
            remote: address(side.other()),
            tariff: Tariff::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_live::config::NodeConfig;
    use polypath_scenario::{MediaPolicy, MediaScenario};

    use super::*;

    const RANDOM: &str = include_str!("../../../scenarios/media-random.toml");

    #[test]
    fn a_node_has_the_classes_of_a_scenario_if_its_policy_regards_them() {
        let set = "class=[{ name = \"a\", dscp = [\"ef\"], ports = [\"5-9\", 7000], treatment = \"bulk\" }]";
        let scenario = MediaScenario::parse(RANDOM, "a.toml", &[set.parse().unwrap()]).unwrap();
        let key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        for policy in scenario.media.policies.iter().map(MediaPolicy::config) {
            let overlay = OverlayConfig {
                paths: &["one", "two"].map(String::from),
                policy,
                probing: scenario.probing,
                liveness: scenario.liveness,
                tariffs: &Tariffs::default(),
                classes: &scenario.classes,
                spacing: None,
            };
            let text = toml::to_string(&Configuration::new(Side::Client, overlay, key)).unwrap();
            let node = NodeConfig::parse(&text, "node.toml").unwrap();
            let expected = if policy.respects_classes() {
                scenario.classes.clone()
            } else {
                Classes::default()
            };
            assert_eq!(node.classes, expected, "{text}");
        }
        let mut policies = scenario.media.policies.iter();
        assert!(policies.any(|policy| policy.config().respects_classes()));
    }
}
