//! Totals of flows.

use derive_more::{Add, Sub, Sum};
use polypath_core::time::Duration;

use crate::tcp::SenderStats;

/// A flow, by its kind and its number within that kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowKind {
    Tcp(u32),
    Datagrams(u32),
    /// An agent, by its number.
    Agent(u32),
}

/// The totals of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct FlowCounters {
    /// Data segments or datagrams sent; retransmissions and timeouts of TCP.
    pub sender: SenderStats,
    /// Bytes handed to the receiving application: TCP data in order, or datagrams.
    pub goodput: u64,
    /// The one-way delays of the packets that arrived, copies included; through a tunnel, of the
    /// first copies.
    pub delays: Delays,
    /// Heartbeats of the sender of a flow over several paths, which measure or monitor them.
    pub heartbeats: u64,
    /// All bytes that such a flow sent on the wire, in both directions; 0 for others.
    pub wire_bytes: u64,
    /// The datagrams of such a flow that were due before the end of the run; 0 for others.
    pub due: DueDatagrams,
}

/// Datagrams sent early enough to arrive before the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct DueDatagrams {
    /// The number sent.
    pub sent: u64,
    /// The number of these that arrived.
    pub arrived: u64,
}

impl DueDatagrams {
    /// The share of lost datagrams; `None` if none were due.
    #[must_use]
    pub fn lost(&self) -> Option<f64> {
        (self.sent > 0).then(|| 1.0 - self.arrived as f64 / self.sent as f64)
    }
}

/// One-way delays, from the sender to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct Delays {
    /// The number of packets that arrived.
    pub count: u64,
    /// The sum of their delays in nanoseconds, which can exceed 64 bits: 5 million packets after
    /// an hour each.
    pub sum: u128,
}

impl Delays {
    #[inline]
    pub(crate) fn add(&mut self, delay: Duration) {
        self.count += 1;
        self.sum += u128::from(delay.as_nanos());
    }

    /// The mean in seconds; `None` if nothing arrived.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }
}

/// The files of a flow in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanFiles {
    /// The durations of the files that were finished in it, each from its start to the ACK of its
    /// last segment.
    pub finished: Vec<Duration>,
    /// Whether a file was being sent at its end; one that the flow's stop cut off does not count.
    pub under_way: bool,
}

/// Bytes that background traffic has delivered to its sinks since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundBytes {
    /// TCP data delivered in order, over all sessions.
    pub tcp: u64,
    /// Datagrams delivered.
    pub udp: u64,
}

impl BackgroundBytes {
    /// The data delivered between `earlier` and `self`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            tcp: self.tcp - earlier.tcp,
            udp: self.udp - earlier.udp,
        }
    }

    /// The sum of both.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.tcp + self.udp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millions_of_packets_may_take_an_hour_each() {
        let hour = Duration::from_secs(3600);
        let mut delays = Delays::default();
        for _ in 0..3_000_000 {
            delays.add(hour);
        }
        let twice = delays + delays;
        assert_eq!(twice.count, 6_000_000);
        assert_eq!(twice.mean(), Some(3600.0));
    }
}
