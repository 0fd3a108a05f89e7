//! Totals of datagrams.

use polypath_core::time::{Duration, Time};

use crate::flow::{Delays, DueDatagrams, FlowCounters};
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
    due: DueDatagrams,
    /// The times between which a datagram is sent that counts as due; none by default.
    due_span: [Time; 2],
}

impl DatagramCounters {
    /// Counters whose datagrams sent from the first to before the second time are due.
    pub(super) fn of(due_span: [Time; 2]) -> Self {
        Self {
            due_span,
            ..Self::default()
        }
    }

    pub(super) fn count_sent(&mut self, now: Time) {
        self.sent += 1;
        self.due.sent += u64::from(self.is_due(now));
    }

    /// Counts a datagram that arrived, and returns its delay.
    pub(super) fn count_arrival(&mut self, now: Time, sent: Time, bytes: u32) -> Duration {
        let delay = now.since(sent);
        self.bytes += u64::from(bytes);
        self.delays.add(delay);
        self.due.arrived += u64::from(self.is_due(sent));
        delay
    }

    /// Counts an arrival of which the application received nothing.
    pub(super) fn count_duplicate(&mut self, now: Time, sent: Time) -> Duration {
        let delay = now.since(sent);
        self.delays.add(delay);
        delay
    }

    fn is_due(&self, sent: Time) -> bool {
        (self.due_span[0]..self.due_span[1]).contains(&sent)
    }

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
            due: self.due,
        }
    }
}
