//! The limits at which a path is left.

use crate::repair::Share;
use crate::time::Duration;

/// The minimum limit of losses: with a smaller one a single loss would exceed it.
const MIN_LOSS: Share = Share::from_millionths(1_000);
/// The maximum limit of losses.
const MAX_LOSS: Share = Share::from_millionths(500_000);
/// The minimum difference of delays: round-trip times vary by as much.
const MIN_DELAY: Duration = Duration::from_millis(5);
/// The maximum difference of delays.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// The limits at which `single-path` leaves a live path for a better one; at least one is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LeaveConfig {
    /// The path is left if it loses a larger share of heartbeats than this, 0.001 to 0.5, and
    /// another path at most half as much.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub loss: Option<Share>,
    /// The path is left if its smoothed round-trip time exceeds that of another path by more than
    /// this, 5 ms to 10 s.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub delay: Option<Duration>,
}

/// The error of an invalid limit; each names its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaveError {
    /// Neither limit is stated.
    #[error("`leave` states no limit")]
    Empty,
    /// The share is out of range.
    #[error("`loss` must be 0.001 to 0.5")]
    Loss,
    /// The difference is out of range.
    #[error("`delay` must be {MIN_DELAY} to {MAX_DELAY}, not {0}")]
    Delay(Duration),
}

impl LeaveError {
    /// The key of the invalid value, from the table of the policy.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Empty => "leave",
            Self::Loss => "leave.loss",
            Self::Delay(_) => "leave.delay",
        }
    }

    /// The remedy, for users.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Empty => {
                "give `loss`, `delay` or both: leave = { loss = 0.02, delay = \"50 ms\" }"
            }
            Self::Loss => "use for example 0.02",
            Self::Delay(_) => "use for example \"50 ms\"",
        }
    }
}

impl LeaveConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self) -> Result<(), LeaveError> {
        match self {
            Self {
                loss: None,
                delay: None,
            } => Err(LeaveError::Empty),
            Self {
                loss: Some(loss), ..
            } if !(MIN_LOSS..=MAX_LOSS).contains(loss) => Err(LeaveError::Loss),
            Self {
                delay: Some(delay), ..
            } if !(MIN_DELAY..=MAX_DELAY).contains(delay) => Err(LeaveError::Delay(*delay)),
            Self { .. } => Ok(()),
        }
    }
}
