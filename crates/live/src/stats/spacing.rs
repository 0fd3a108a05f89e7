//! The spacing of the packets that a node sends.

use polypath_core::spacing::SpacingStatistics;
use serde::Serialize;

/// The spacing of the packets that a node sends, and those that wait for their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpacingStats {
    /// The spacing in force, in microseconds.
    pub spacing_us: f64,
    /// The rate of packets of applications that it permits in bit/s, without the headers of the
    /// overlay: the advice for an encoder. Absent if it permits any rate, and before the first packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bit_per_s: Option<u64>,
    /// The round-trip time in use in milliseconds; absent before it is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// The number of packets that wait.
    pub waiting: usize,
    /// The time for which the oldest of them has waited, in milliseconds.
    pub wait_ms: f64,
    /// Packets that were dropped, since they waited for too long.
    pub dropped: u64,
}

impl From<SpacingStatistics> for SpacingStats {
    fn from(spacing: SpacingStatistics) -> Self {
        Self {
            spacing_us: spacing.spacing.as_secs_f64() * 1e6,
            rate_bit_per_s: spacing.rate.map(|rate| rate.0),
            rtt_ms: spacing.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            waiting: spacing.waiting,
            wait_ms: spacing.wait.as_secs_f64() * 1e3,
            dropped: spacing.dropped,
        }
    }
}
