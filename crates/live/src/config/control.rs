//! The control socket and the metrics endpoint.

use std::net::SocketAddr;
use std::path::PathBuf;

use polypath_document::Problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NodeConfig, Off};

/// The control socket of a running node, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Control {
    /// A socket.
    Socket(ControlConfig),
    /// None.
    Off(Off),
}

/// The control socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ControlConfig {
    /// The path of the socket, relative to the configuration file; by default it is named after the
    /// TUN device, in `/run/polypath`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

/// The metrics endpoint for Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsConfig {
    /// The address and port of the HTTP server: `"127.0.0.1:9600"`. It has no access control.
    #[serde(deserialize_with = "super::address")]
    #[schemars(with = "String")]
    pub listen: SocketAddr,
}

impl Default for Control {
    fn default() -> Self {
        Self::Socket(ControlConfig::default())
    }
}

/// Checks the control socket and the metrics endpoint.
pub(super) fn check(config: &NodeConfig, problems: &mut Problems) {
    if let Control::Socket(ControlConfig { socket: Some(path) }) = &config.control
        && path.file_name().is_none()
    {
        let message = format!("`{}` is not the path of a file", path.display());
        let remedy = "name the socket, as \"/run/polypath/pp0.sock\", or write control = \"off\"";
        problems.report("control.socket", message, remedy);
    }
    if let Some(metrics) = &config.metrics
        && metrics.listen.port() == 0
    {
        let remedy = "give a port, as \"127.0.0.1:9600\"";
        problems.report("metrics.listen", "clients cannot know this port", remedy);
    }
}
