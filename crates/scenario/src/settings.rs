//! Settings of the multipath overlay and of the lab.

use polypath_core::endpoint::ProbingConfig;
use polypath_core::liveness::LivenessConfig;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which frame sizes the links see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// Those of a deployment: outer headers, seal and frame header around each packet.
    #[default]
    Wire,
    /// Those of the PPD paper (section 3.3): data packets as they are, probes of 40 bytes.
    Paper,
}

/// The endpoints of the multipath overlay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Overlay {
    /// Which frame sizes the links see.
    pub encapsulation: Encapsulation,
    /// By how many delta T the data may trail its probe before the path is left (PPD paper, 5.2).
    #[schemars(range(min = 0.0))]
    pub threshold: f64,
    /// The time between two packet pairs on a path, which measure delta T (PPD paper, 3.3).
    pub pair_interval: Duration,
    /// The size of the trailing packet of a pair, that of the data packets.
    pub pair_len: Bytes,
    /// How many data sequence numbers back copies are still combined.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub window: u32,
    /// How paths are watched by heartbeats, so that one that goes silent is left. Without this table every path is
    /// used always, as in the papers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness: Option<LivenessConfig>,
}

/// The congestion control that the kernel uses in the lab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// RFC 5681.
    #[default]
    Reno,
    /// RFC 9438.
    Cubic,
}

/// What only the lab needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lab {
    /// The congestion control of the real hosts.
    pub congestion_control: CongestionControl,
    /// 99th percentile of the emulator's own lateness above which the run is invalid.
    pub lateness_bound: Duration,
}

impl CongestionControl {
    /// The name by which the kernel knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CongestionControl::Reno => "reno",
            CongestionControl::Cubic => "cubic",
        }
    }
}

impl Default for Overlay {
    fn default() -> Self {
        let probing = ProbingConfig::default();
        Self {
            encapsulation: Encapsulation::Wire,
            threshold: probing.threshold,
            pair_interval: probing.pair_interval,
            pair_len: Bytes(probing.pair_len.into()),
            window: 4096,
            liveness: None,
        }
    }
}

impl Default for Lab {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::Reno,
            lateness_bound: Duration::from_millis(2),
        }
    }
}
