//! The quality of the peer's packets as they arrive.

use polypath_core::estimate::ArrivalStatistics;
use serde::Serialize;

/// The quality of the peer's packets as they arrive, repaired ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ArrivalStats {
    /// Packets that arrived, each once.
    pub packets: u64,
    /// Packets between the first and the newest that have not arrived yet.
    pub missing: u64,
    /// Packets that arrived after a newer one (RFC 4737).
    pub reordered: u64,
    /// The interarrival jitter of RFC 3550 (section 6.4.1) in milliseconds.
    pub jitter_ms: f64,
}

impl From<ArrivalStatistics> for ArrivalStats {
    fn from(arrivals: ArrivalStatistics) -> Self {
        Self {
            packets: arrivals.packets,
            missing: arrivals.missing,
            reordered: arrivals.reordered,
            jitter_ms: arrivals.jitter.as_secs_f64() * 1e3,
        }
    }
}
