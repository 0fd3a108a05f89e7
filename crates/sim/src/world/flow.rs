//! What can be read off the flows of a network.

use derive_more::{Add, Sub, Sum};
use polypath_core::frame::Payload;
use polypath_core::time::Duration;

use super::World;
use crate::tcp::SenderStats;
use crate::traffic::StreamState;

/// A flow's name, and where it is kept.
#[derive(Clone, Debug)]
pub(crate) struct FlowName {
    pub(crate) name: String,
    pub(crate) kind: FlowKind,
}

/// A flow by its kind and the number among those.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowKind {
    Tcp(u32),
    Datagrams(u32),
    Spaced(u32),
    Multihomed(u32),
    Striped(u32),
}

/// A flow and its totals since the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it goes over TCP.
    pub tcp: bool,
    /// Its totals.
    pub counters: FlowCounters,
    /// The congestion window now, in segments; nothing without an open connection.
    pub congestion_window: Option<f64>,
}

/// What a flow has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct FlowCounters {
    /// Data segments or datagrams sent; retransmissions and timeouts of TCP.
    pub sender: SenderStats,
    /// Bytes handed to the receiving application: TCP data in order, or datagrams.
    pub goodput: u64,
    /// The one-way delays of what arrived, copies included.
    pub delays: Delays,
}

/// One-way delays, from the sender to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub, Sum)]
pub struct Delays {
    /// How many packets arrived.
    pub count: u64,
    /// The sum of their delays in nanoseconds, which 64 bits do not hold: 5 million packets after an hour each.
    pub sum: u128,
}

impl Delays {
    #[inline]
    pub(crate) fn add(&mut self, delay: Duration) {
        self.count += 1;
        self.sum += u128::from(delay.as_nanos());
    }

    /// The mean in seconds; nothing if nothing arrived.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }
}

/// The files of a flow in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanFiles {
    /// How long each of those took that were finished in it: from its start to the ACK of its last segment.
    pub finished: Vec<Duration>,
    /// Whether one was under way at its end; one that the flow's stop has cut off is not.
    pub under_way: bool,
}

impl<X: Payload> World<X> {
    /// The congestion window of every flow now, in the order of [`Self::flows`] and without their totals: what is
    /// sampled often.
    #[inline]
    pub fn congestion_windows(&self) -> impl Iterator<Item = Option<f64>> {
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => self.agents.congestion_window(number),
            FlowKind::Striped(number) => self.agents.striped_congestion_window(number),
            FlowKind::Datagrams(_) | FlowKind::Spaced(_) | FlowKind::Multihomed(_) => None,
        })
    }

    /// The receivers' estimates of the round-trip times now, likewise; nothing without a connection or an estimate.
    pub fn receiver_rtts(&self) -> impl Iterator<Item = Option<Duration>> {
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => self.agents.receiver_rtt(number),
            FlowKind::Striped(number) => self.agents.striped_rtt(number),
            FlowKind::Datagrams(_) | FlowKind::Spaced(_) | FlowKind::Multihomed(_) => None,
        })
    }

    /// What the streams over several connections look like at their receivers now, likewise; nothing of other flows, and
    /// no flow at all where none is a stream.
    pub fn streams(&self) -> impl Iterator<Item = Option<StreamState>> {
        let count = match self.agents.streams() {
            0 => 0,
            _ => self.names.flows.len(),
        };
        self.names
            .flows
            .iter()
            .take(count)
            .map(|flow| match flow.kind {
                FlowKind::Striped(number) => Some(self.agents.stream_state(number)),
                FlowKind::Tcp(_)
                | FlowKind::Datagrams(_)
                | FlowKind::Spaced(_)
                | FlowKind::Multihomed(_) => None,
            })
    }

    /// The files of every flow since this was last asked, likewise.
    pub(crate) fn take_files(&mut self) -> impl Iterator<Item = SpanFiles> {
        let agents = &mut self.agents;
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => agents.take_files(number),
            FlowKind::Datagrams(_)
            | FlowKind::Spaced(_)
            | FlowKind::Multihomed(_)
            | FlowKind::Striped(_) => SpanFiles::default(),
        })
    }

    /// Every flow that lives inside, with its totals.
    pub fn flows(&self) -> impl Iterator<Item = FlowReport<'_>> {
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => FlowReport {
                name: &flow.name,
                tcp: true,
                counters: self.agents.tcp_counters(number),
                congestion_window: self.agents.congestion_window(number),
            },
            FlowKind::Datagrams(number) => FlowReport {
                name: &flow.name,
                tcp: false,
                counters: self.agents.datagram_counters(number),
                congestion_window: None,
            },
            FlowKind::Spaced(number) => FlowReport {
                name: &flow.name,
                tcp: false,
                counters: self.agents.spaced_counters(number),
                congestion_window: None,
            },
            FlowKind::Multihomed(number) => FlowReport {
                name: &flow.name,
                tcp: false,
                counters: self.agents.multihomed_counters(number),
                congestion_window: None,
            },
            FlowKind::Striped(number) => FlowReport {
                name: &flow.name,
                tcp: true,
                counters: self.agents.striped_counters(number),
                congestion_window: self.agents.striped_congestion_window(number),
            },
        })
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
