//! A node's configuration: a TOML file, validated whole before anything is opened.
//!
//! Every mistake is reported at once, with its line and the remedy, by the reader of scenarios
//! ([`polypath_document`]).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use polypath_core::endpoint::ProbingConfig;
use polypath_core::liveness::LivenessConfig;
use polypath_core::policy::PolicyConfig;
use polypath_document::{self as document, Document, Errors, Problems};
use polypath_session::key::PublicKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input;
use crate::tun::Prefix;

mod auto;
mod check;
mod control;
mod control_address;
pub mod relay;

pub use auto::{AutoConfig, Uplinks};
pub use control::{Control, ControlConfig, MetricsConfig};
pub use control_address::ControlAddress;

/// Least MTU of an IPv6 link (RFC 8200, section 5), in bytes.
pub(crate) const LEAST_MTU_V6: u16 = 1280;
/// Packets that wait in the TUN device unless the file says otherwise; as many as in a TUN device of
/// the kernel's making.
const DEFAULT_QUEUE: u32 = 500;

/// A node: this end, the peer, the policy and the paths between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// This end.
    pub node: LocalConfig,
    /// The other end.
    pub peer: PeerConfig,
    /// Which paths carry which packet.
    pub policy: PolicyConfig,
    /// How paths are compared, under a policy that probes.
    #[serde(default)]
    pub probing: ProbingConfig,
    /// How paths are watched; `"off"` uses every path always.
    #[serde(default)]
    pub liveness: Watch,
    /// How long a packet each path carries whole is found out (RFC 8899), where paths are watched; `"off"` lets the system fragment
    /// datagrams that routers call too long.
    #[serde(default)]
    pub pmtu: Option<Off>,
    /// Where the running node is asked for its state (`polypath status`); `"off"` asks nowhere.
    #[serde(default)]
    pub control: Control,
    /// Metrics for Prometheus; none unless they are asked for.
    #[serde(default)]
    pub metrics: Option<MetricsConfig>,
    /// Whether each path's table says by which uplink it goes, or the path finds one itself.
    #[serde(default, rename = "paths")]
    pub uplinks: Uplinks,
    /// Which interfaces may be uplinks, under `paths = "auto"`.
    #[serde(default)]
    pub auto: Option<AutoConfig>,
    /// The paths, in the same order at both ends.
    #[serde(rename = "path")]
    pub paths: Vec<PathConfig>,
}

/// Whether and how paths are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Watch {
    /// By heartbeats: a path that goes silent is left.
    Heartbeats(LivenessConfig),
    /// Not at all.
    Off(Off),
}

/// The word for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Off {
    /// None.
    Off,
}

impl Default for Watch {
    fn default() -> Self {
        Self::Heartbeats(LivenessConfig::default())
    }
}

impl From<Option<LivenessConfig>> for Watch {
    fn from(config: Option<LivenessConfig>) -> Self {
        config.map_or(Self::Off(Off::Off), Self::Heartbeats)
    }
}

impl Watch {
    /// How, if at all.
    #[must_use]
    pub fn config(self) -> Option<LivenessConfig> {
        match self {
            Self::Heartbeats(config) => Some(config),
            Self::Off(Off::Off) => None,
        }
    }
}

/// This end of the overlay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalConfig {
    /// The file of this node's private key, relative to the configuration file.
    pub key_file: PathBuf,
    /// The user that the node becomes once all is open; it starts as root then. Otherwise it stays who it is.
    #[serde(default)]
    pub user: Option<String>,
    /// The TUN device to which the routing table sends what is to cross.
    pub tun: TunDevice,
}

/// The TUN device of a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunDevice {
    /// The interface name, at most 15 characters.
    pub name: String,
    /// Addresses with their prefix lengths, IPv4 and IPv6: `"10.77.0.1/24"`.
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<Prefix>,
    /// The largest IP packet in bytes; by default what the smallest path MTU leaves.
    #[serde(default)]
    pub mtu: Option<u16>,
    /// Packets that wait for the node when it is late.
    #[serde(default = "default_queue")]
    pub queue: u32,
    /// Whether packets of a flow, and datagrams of a path, cross the kernel many in a call: several times the throughput,
    /// in bursts with one time for all. By default where the policy does not compare when copies arrive, that is under all
    /// but `probe-and-switch`, which allows no other.
    #[serde(default)]
    pub offload: Option<bool>,
}

/// The other end of the overlay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its public key, as `polypath key` printed it there.
    #[serde(deserialize_with = "public_key")]
    #[schemars(with = "String")]
    pub public_key: PublicKey,
}

/// One path to the peer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathConfig {
    /// Its name in logs and statistics.
    pub name: String,
    /// The address and port that this end sends from and receives at: `"192.0.2.1:7001"`. With port 0,
    /// for an end that gives the `remote`, the system chooses one; the other end must then leave its
    /// `remote` out. Where one path is over IPv6, frames of all paths count with its larger header. Only with
    /// `paths = "auto"` it is left out.
    #[serde(default, deserialize_with = "some_address")]
    #[schemars(with = "Option<String>")]
    pub local: Option<SocketAddr>,
    /// The address and port of the peer. At one end it may be missing: there it is learnt from the
    /// peer's first authentic datagram, and follows the peer.
    #[serde(default, deserialize_with = "some_address")]
    #[schemars(with = "Option<String>")]
    pub remote: Option<SocketAddr>,
    /// The relay by which the path goes, instead of a `remote`.
    #[serde(default)]
    pub relay: Option<PathRelay>,
    /// The interface that the path is bound to, whatever the routing table says.
    #[serde(default)]
    pub interface: Option<String>,
}

impl PathConfig {
    /// The address and port that this end sends from and receives at; any, of the family of where the path leads to,
    /// where it is found at run time.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        let any: IpAddr = match self.target() {
            Some(SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        };
        self.local.unwrap_or_else(|| (any, 0).into())
    }

    /// Where the path leads to, if that is known: the peer's address or its relay's.
    #[must_use]
    pub fn target(&self) -> Option<SocketAddr> {
        let relay = self.relay.as_ref().map(|relay| relay.address);
        self.remote.or(relay)
    }
}

#[cfg(test)]
impl PathConfig {
    /// A path of a test that sends from an address and port, by an interface if one is given.
    pub(crate) fn at(local: &str, interface: Option<&str>) -> Self {
        Self {
            name: "test".to_owned(),
            local: Some(local.parse().unwrap()),
            remote: None,
            relay: None,
            interface: interface.map(str::to_owned),
        }
    }
}

/// The relay by which a path goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRelay {
    /// Its public key, as `polypath key` printed it there.
    #[serde(deserialize_with = "public_key")]
    #[schemars(with = "String")]
    pub public_key: PublicKey,
    /// The address and port where it receives for this path: `"192.0.2.9:7101"`.
    #[serde(deserialize_with = "address")]
    #[schemars(with = "String")]
    pub address: SocketAddr,
}

/// Why a configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is the file of another program.
    #[error("{path}: this is the file of a {kind}; run it with `polypath {kind} {path}`", path = path.display())]
    OfAnother {
        /// The file.
        path: PathBuf,
        /// What it describes, by the name of the table that tells.
        kind: &'static str,
    },
    /// What it says is wrong.
    #[error(transparent)]
    Invalid(#[from] Errors),
}

/// What stands in the file `path`, which has a table `own` rather than one `other`.
fn read(path: &Path, own: &str, other: &'static str) -> Result<String, LoadError> {
    let path = path.to_owned();
    let text = match input::read_text(&path) {
        Ok(text) => text,
        Err(source) => return Err(LoadError::Read { path, source }),
    };
    let keys = document::top_level_keys(&text);
    let has = |table: &str| keys.iter().any(|key| key == table);
    if has(other) && !has(own) {
        return Err(LoadError::OfAnother { path, kind: other });
    }
    Ok(text)
}

impl Document for NodeConfig {}

impl NodeConfig {
    /// Loads the file `path`, and finds the key file beside it, whose key must not be the peer's.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = read(path, "node", "relay")?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let name = path.display().to_string();
        let check = |config: &Self, problems: &mut Problems| {
            check::check(config, problems);
            check::check_user(config, problems);
            check::check_key(config, &directory.join(&config.node.key_file), problems);
        };
        let (mut config, _) = document::read_checked(&text, &name, &[], check)?;
        config.node.key_file = directory.join(&config.node.key_file);
        if let Control::Socket(control) = &mut config.control
            && let Some(socket) = &mut control.socket
        {
            *socket = directory.join(&socket);
        }
        Ok(config)
    }

    /// Reads `text`, which came from `file_name`; or all that is wrong with it.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Errors> {
        document::read_checked(text, file_name, &[], check::check).map(|(config, _)| config)
    }

    /// Whether many packets and datagrams cross the kernel in a call.
    #[must_use]
    pub fn offload(&self) -> bool {
        self.node.tun.offload.unwrap_or(!self.policy.probes())
    }

    /// Whether it is found out how long a packet each path carries whole.
    #[must_use]
    pub fn finds_sizes(&self) -> bool {
        self.pmtu.is_none() && self.liveness.config().is_some()
    }

    /// The JSON schema of the file.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(NodeConfig).to_value()
    }
}

fn default_queue() -> u32 {
    DEFAULT_QUEUE
}

fn public_key<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<PublicKey, D::Error> {
    let text = String::deserialize(deserializer)?;
    let key: PublicKey = text.parse().map_err(serde::de::Error::custom)?;
    if key.0.iter().all(|byte| *byte == 0) {
        let words = "a key of zeros is nobody's; give that which `polypath key` printed";
        return Err(serde::de::Error::custom(words));
    }
    Ok(key)
}

fn address<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        serde::de::Error::custom(format_args!(
            "`{text}` is not an address with its port: write for example \"192.0.2.1:7001\" or \
             \"[2001:db8::1]:7001\""
        ))
    })
}

fn some_address<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
