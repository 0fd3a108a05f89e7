//! The activity of a flow, and the changes of its receiver window.

use polypath_core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The times at which a flow starts and stops, since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The start.
    #[serde(default)]
    pub start: Duration,
    /// The interval after `start` in which each flow starts at a random time, drawn uniformly.
    #[serde(default)]
    pub start_spread: Duration,
    /// The time at which it stops sending new data; by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

/// A receiver window that the application sets during the run; the next ACK advertises it. A
/// smaller one takes effect after the data advertised before has arrived: the right edge never
/// moves left (RFC 9293, section 3.8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowChange {
    /// The time of the change, since the start of the run.
    pub at: Duration,
    /// The new receiver window, in segments.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub window: u32,
}

/// The receiver window at `time`, in segments: that of the last of the ordered `changes` until
/// then, or else the `initial` one.
#[must_use]
pub fn receiver_window_at(changes: &[WindowChange], time: Duration, initial: u32) -> u32 {
    let made = changes.iter().take_while(|change| change.at <= time);
    made.last().map_or(initial, |change| change.window)
}
