//! When a flow is active, and what its receiver does meanwhile.

use polypath_core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a flow starts and stops, since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// The span after `start` in which each flow starts at a time of its own, drawn uniformly.
    #[serde(default)]
    pub start_spread: Duration,
    /// When it stops sending anything new; never, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

/// A receiver window that the application sets while the run goes on; the next ACK says it. A smaller one holds once
/// what was advertised before has arrived: the right edge never moves back (RFC 9293, 3.8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowChange {
    /// When, since the start of the run.
    pub at: Duration,
    /// The receiver window from then on, in segments.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub window: u32,
}

/// The receiver window at `time`, in segments: that of the last of `changes` until then, which are in the order of time,
/// or else the `initial` one.
#[must_use]
pub fn receiver_window_at(changes: &[WindowChange], time: Duration, initial: u32) -> u32 {
    let made = changes.iter().take_while(|change| change.at <= time);
    made.last().map_or(initial, |change| change.window)
}
