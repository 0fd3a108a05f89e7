//! A node's configuration: a TOML file, validated whole before anything is opened.
//!
//! Every mistake is reported at once, with its line and the remedy, by the reader of scenarios
//! ([`polypath_document`]).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use polypath_core::class::Classes;
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::{Encapsulation, OVER_IPV4, OVER_IPV6};
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::spacing::SpacingConfig;
use polypath_core::tariff::Tariff;
use polypath_document::file::{self, FileError};
use polypath_document::{self as document, Document, Errors, FileKind, Problems};
use polypath_session::key::PublicKey;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::udp::traffic_class::CopiedFields;

mod auto;
mod check;
mod control;
mod control_address;
pub mod relay;
mod udp_port;

pub use auto::{AutoConfig, Uplinks};
pub use control::{Control, ControlConfig, MetricsConfig};
pub use control_address::ControlAddress;
pub use polypath_core::liveness::{LivenessSetting, Off};
pub use udp_port::{OverlayAddresses, UdpPort};

/// Least MTU of an IPv6 link (RFC 8200, section 5), in bytes.
pub(crate) const MIN_MTU_V6: u16 = 1280;
/// The default queue length of the TUN device in packets, as the kernel's own (`TUN_READQ_SIZE`).
const DEFAULT_QUEUE: u32 = 500;
/// Sequence numbers remembered to recognize copies: one second at 90 Mbit/s of full packets.
pub(crate) const COMBINING_WINDOW: u32 = 8192;

/// The configuration of a node: this node, its peer, and the policy and paths between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// This node.
    pub node: LocalConfig,
    /// The peer node.
    pub peer: PeerConfig,
    /// The policy that selects the paths of each packet.
    pub policy: PolicyConfig,
    /// The comparison of paths, under a policy that probes.
    #[serde(default)]
    pub probing: ProbingConfig,
    /// Liveness detection of paths by heartbeats. With `"off"` every path is always used.
    #[serde(default)]
    pub liveness: LivenessSetting,
    /// Path MTU discovery (RFC 8899), which needs liveness detection. With `"off"` the kernel
    /// fragments datagrams that exceed the path MTU.
    #[serde(default)]
    pub pmtu: Option<Off>,
    /// The control socket, at which the running node answers `polypath status`; `"off"` disables
    /// it.
    #[serde(default)]
    pub control: Control,
    /// The metrics endpoint for Prometheus; off by default.
    #[serde(default)]
    pub metrics: Option<MetricsConfig>,
    /// The source of the paths' local addresses and interfaces: their tables, or uplinks found at
    /// run time.
    #[serde(default, rename = "paths")]
    pub uplinks: Uplinks,
    /// The classes of packets under the policy `in-time`, at both nodes the same: the first that
    /// matches a packet determines its treatment. By default TCP is bulk, all else media.
    #[serde(default, rename = "class")]
    pub classes: Classes,
    /// The spacing of the packets that this node sends; by default each is sent at once.
    #[serde(default)]
    pub spacing: Option<SpacingConfig>,
    /// The interfaces that may be uplinks, under `paths = "auto"`.
    #[serde(default)]
    pub auto: Option<AutoConfig>,
    /// The paths, in the same order at both nodes.
    #[serde(rename = "path")]
    pub paths: Vec<PathConfig>,
}

/// This node of the overlay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalConfig {
    /// The file of this node's private key, relative to the configuration file.
    pub key_file: PathBuf,
    /// The user to whom the node, started as root, drops its privileges once all sockets are open;
    /// by default it keeps its user.
    #[serde(default)]
    pub user: Option<String>,
    /// The TUN device; packets routed to it travel to the peer.
    #[serde(default)]
    pub tun: Option<TunDevice>,
    /// UDP ports in place of a TUN device: datagrams that applications send there travel to the peer.
    /// They need no privileges.
    #[serde(default)]
    pub udp: Vec<UdpPort>,
}

/// The TUN device of a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunDevice {
    /// The interface name, at most 15 characters.
    pub name: String,
    /// Addresses with their prefix lengths, IPv4 and IPv6: `"10.77.0.1/24"`.
    #[serde(deserialize_with = "prefixes")]
    #[schemars(with = "Vec<String>")]
    pub addresses: Vec<IpNet>,
    /// The MTU in bytes; by default the smallest path MTU less the overhead of the overlay.
    #[serde(default)]
    pub mtu: Option<u16>,
    /// The queue length of the device in packets.
    #[serde(default = "default_queue")]
    pub queue: u32,
    /// Whether segmentation and receive offload (GSO, GRO) are used. They multiply the throughput,
    /// but the packets of a burst share one timestamp. By default on, except under
    /// `probe-and-switch`, which compares arrival times and does not allow it.
    #[serde(default)]
    pub offload: Option<bool>,
}

/// The peer node of the overlay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its public key, as printed by `polypath key` on its machine.
    #[serde(deserialize_with = "public_key")]
    #[schemars(with = "String")]
    pub public_key: PublicKey,
    /// The file of a key that both nodes have in common, relative to the configuration file; made
    /// by `polypath key --preshared` on one machine and copied to the other. It protects recorded
    /// traffic from a future quantum computer.
    #[serde(default)]
    pub preshared_key_file: Option<PathBuf>,
}

/// One path to the peer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathConfig {
    /// The name in logs and statistics.
    pub name: String,
    /// The local address and port: `"192.0.2.1:7001"`. Required unless `paths = "auto"`. With port
    /// 0 the system chooses a port; `remote` or `relay` must then be given here, and `remote`
    /// omitted at the peer. If any path uses IPv6, its larger header is assumed for all.
    #[serde(default, deserialize_with = "some_address")]
    #[schemars(with = "Option<String>")]
    pub local: Option<SocketAddr>,
    /// The address and port of the peer. One of the two nodes may omit it: it then learns the
    /// address from the peer's first authentic datagram, and follows the peer when that changes.
    #[serde(default, deserialize_with = "some_address")]
    #[schemars(with = "Option<String>")]
    pub remote: Option<SocketAddr>,
    /// The relay that forwards the path's datagrams, instead of a `remote`.
    #[serde(default)]
    pub relay: Option<PathRelay>,
    /// The interface that the path is bound to, regardless of the routing table.
    #[serde(default)]
    pub interface: Option<String>,
    /// Its cost to this node, which it regards in what it sends: `{ cost = 1 }`.
    #[serde(default)]
    pub tariff: Tariff,
    /// Whether the datagrams on it have the DSCP of the packet in them (RFC 2474), so that queues
    /// on the way treat them alike. An observer on the path then sees the class of each packet.
    #[serde(default = "default_true")]
    pub copy_dscp: bool,
    /// Whether the datagrams on it have the ECN field of the packet in them, if the peer and the
    /// relay pass on marks (RFC 6040), so that a congested queue marks packets of an ECN-capable
    /// transport instead of dropping them. `false` for what this node sends into a network that
    /// drops or rewrites the field.
    #[serde(default = "default_true")]
    pub copy_ecn: bool,
}

impl PathConfig {
    /// The local address and port; where they are found at run time, the unspecified address of the
    /// target's family.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        let any = || (unspecified(self.target()), 0).into();
        self.local.unwrap_or_else(any)
    }

    /// The address of the peer or relay, if it is configured.
    #[must_use]
    pub fn target(&self) -> Option<SocketAddr> {
        let relay = self.relay.as_ref().map(|relay| relay.address);
        self.remote.or(relay)
    }

    /// The fields of the traffic class that a datagram has of the packet in it.
    #[must_use]
    pub(crate) fn copied(&self) -> CopiedFields {
        CopiedFields {
            dscp: self.copy_dscp,
            ecn: self.copy_ecn,
        }
    }
}

impl PathConfig {
    /// A path of any interface and remote address, bound to `local`, with the default settings.
    pub(crate) fn bound_to(name: &str, local: SocketAddr) -> Self {
        Self {
            name: name.to_owned(),
            local: Some(local),
            remote: None,
            relay: None,
            interface: None,
            tariff: Tariff::default(),
            copy_dscp: default_true(),
            copy_ecn: default_true(),
        }
    }

    /// A path of a test.
    #[cfg(test)]
    pub(crate) fn at(local: &str, interface: Option<&str>) -> Self {
        Self {
            interface: interface.map(str::to_owned),
            ..Self::bound_to("test", local.parse().unwrap())
        }
    }
}

/// The unspecified address of the family of `address`, by default that of IPv4.
#[must_use]
pub fn unspecified(address: Option<SocketAddr>) -> IpAddr {
    match address {
        Some(SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// The relay of a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRelay {
    /// Its public key, as printed by `polypath key` on its machine.
    #[serde(deserialize_with = "public_key")]
    #[schemars(with = "String")]
    pub public_key: PublicKey,
    /// The address and port at which it receives for this path: `"192.0.2.9:7101"`.
    #[serde(deserialize_with = "address")]
    #[schemars(with = "String")]
    pub address: SocketAddr,
}

/// An error in loading a configuration.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read, or is of another kind.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content is invalid.
    #[error(transparent)]
    Invalid(#[from] Errors),
}

impl Document for NodeConfig {}

impl NodeConfig {
    /// Loads the file `path`; relative paths in it are relative to its directory.
    ///
    /// # Errors
    /// All mistakes of the file at once, also a peer's key that is the node's own.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = file::read_text(path, &[FileKind::Node])?;
        Ok(Self::of_file(path, &text)?)
    }

    /// Parses `text`, the content of the file `path`, like [`Self::load`].
    ///
    /// # Errors
    /// All mistakes of the file at once, also a peer's key that is the node's own.
    pub fn of_file(path: &Path, text: &str) -> Result<Self, Errors> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let name = path.display().to_string();
        let check = |config: &Self, problems: &mut Problems| {
            check::check(config, problems);
            check::check_user("node.user", config.node.user.as_deref(), problems);
            check::check_key(config, &directory.join(&config.node.key_file), problems);
            check::check_preshared_key(config, directory, problems);
        };
        let (mut config, _) = document::read_checked(text, &name, &[], check)?;
        config.node.key_file = directory.join(&config.node.key_file);
        if let Some(file) = &mut config.peer.preshared_key_file {
            *file = directory.join(&file);
        }
        if let Control::Socket(control) = &mut config.control
            && let Some(socket) = &mut control.socket
        {
            *socket = directory.join(&socket);
        }
        Ok(config)
    }

    /// Parses `text` of the file `file_name`.
    ///
    /// # Errors
    /// All mistakes of the text at once.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Errors> {
        document::read_checked(text, file_name, &[], check::check).map(|(config, _)| config)
    }

    /// Whether segmentation and receive offload are on.
    #[must_use]
    pub fn offload(&self) -> bool {
        let configured = self.node.tun.as_ref().and_then(|tun| tun.offload);
        configured.unwrap_or(!self.policy.probes())
    }

    /// Whether path MTU discovery runs.
    #[must_use]
    pub fn discovers_mtu(&self) -> bool {
        self.pmtu.is_none() && self.liveness.config().is_some()
    }

    /// The configuration of the endpoint that carries the packets, without a seed: a node draws one at
    /// its start.
    #[must_use]
    pub fn endpoint(&self) -> EndpointConfig {
        // An endpoint assumes one header size: with one path over IPv6, the 48 B of all frames.
        let v6 = self.paths.iter().any(|path| path.local().is_ipv6());
        let outer = if v6 { OVER_IPV6 } else { OVER_IPV4 };
        EndpointConfig {
            paths: u8::try_from(self.paths.len()).unwrap_or(u8::MAX),
            policy: self.policy.or_hysteresis(true),
            encapsulation: Encapsulation::deployed(outer),
            window: COMBINING_WINDOW,
            first_sequence: 0,
            seed: Seed::default(),
            probing: self.probing,
            detector: None,
            liveness: self.liveness.config(),
            tariffs: self.paths.iter().map(|path| path.tariff).collect(),
            classes: self.classes.clone(),
            spacing: self.spacing,
        }
    }

    /// The JSON schema of the file.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(NodeConfig).to_value()
    }
}

fn default_true() -> bool {
    true
}

fn default_queue() -> u32 {
    DEFAULT_QUEUE
}

fn public_key<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<PublicKey, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// An address with its prefix length, as text.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Prefix(IpNet);

impl TryFrom<String> for Prefix {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| {
            format!(
                "`{text}` is not an address with its prefix length: write for example \
                 \"10.77.0.1/24\" or \"fd77::1/64\""
            )
        })
    }
}

fn prefixes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let prefixes = Vec::<Prefix>::deserialize(deserializer)?;
    Ok(prefixes.into_iter().map(|Prefix(prefix)| prefix).collect())
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
