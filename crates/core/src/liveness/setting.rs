//! Liveness detection as files of nodes and scenarios state it: a table, or `"off"`.

use super::LivenessConfig;

/// Liveness detection of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(untagged)
)]
pub enum LivenessSetting {
    /// By heartbeats; a silent path carries no data.
    Heartbeats(LivenessConfig),
    /// None.
    Off(Off),
}

/// The value `"off"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Off {
    /// Off.
    Off,
}

impl Default for LivenessSetting {
    fn default() -> Self {
        Self::Heartbeats(LivenessConfig::default())
    }
}

impl From<Option<LivenessConfig>> for LivenessSetting {
    fn from(config: Option<LivenessConfig>) -> Self {
        config.map_or(Self::Off(Off::Off), Self::Heartbeats)
    }
}

impl LivenessSetting {
    /// The parameters of the heartbeats, if there are any.
    #[must_use]
    pub const fn config(self) -> Option<LivenessConfig> {
        match self {
            Self::Heartbeats(config) => Some(config),
            Self::Off(Off::Off) => None,
        }
    }
}
