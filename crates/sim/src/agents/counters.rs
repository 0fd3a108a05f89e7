//! Totals of datagrams.

use crate::flow::{Delays, FlowCounters};
use crate::tcp::SenderStats;

/// Totals of a flow of datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DatagramCounters {
    /// Datagrams sent.
    pub(super) sent: u64,
    /// Bytes received.
    pub(super) bytes: u64,
    pub(super) delays: Delays,
    /// Heartbeats sent.
    pub(super) heartbeats: u64,
    /// Bytes on the wire of both directions.
    pub(super) wire_bytes: u64,
}

impl DatagramCounters {
    pub(super) fn totals(&self) -> FlowCounters {
        FlowCounters {
            sender: SenderStats {
                sent: self.sent,
                ..SenderStats::default()
            },
            goodput: self.bytes,
            delays: self.delays,
            heartbeats: self.heartbeats,
            wire_bytes: self.wire_bytes,
        }
    }
}
