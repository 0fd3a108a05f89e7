//! Settings of the multipath overlay and of the lab.

use polypath_core::endpoint::ProbingConfig;
use polypath_core::liveness::LivenessConfig;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sizes of frames on the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// The overheads of a deployment: outer headers, seal and frame header around each packet.
    #[default]
    Wire,
    /// The overheads of the PPD paper (section 3.3): data packets without overhead, probes of 40
    /// bytes.
    Paper,
}

/// The endpoints of the multipath overlay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Overlay {
    /// The sizes of frames on the links.
    pub encapsulation: Encapsulation,
    /// The lag of data behind its probe, in delta T, above which the path is left (PPD paper,
    /// section 5.2).
    #[schemars(range(min = 0.0))]
    pub threshold: f64,
    /// The time between two packet pairs on a path, which measure delta T (PPD paper, section 3.3).
    pub pair_interval: Duration,
    /// The size of the second packet of a pair, equal to that of data packets.
    pub pair_len: Bytes,
    /// The window of data sequence numbers in which copies are combined.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub window: u32,
    /// The heartbeats by which silent paths are detected and avoided. Without this table every path
    /// is always used, as in the papers.
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

/// The settings of the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lab {
    /// The congestion control of the real hosts.
    pub congestion_control: CongestionControl,
    /// The 99th percentile of the emulator's own lateness above which the run is invalid.
    pub lateness_bound: Duration,
}

impl CongestionControl {
    /// Its name in the kernel.
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
