//! Reports of the flows of a network.

use polypath_core::frame::Payload;
use polypath_core::time::Duration;

use super::World;
use crate::agents::StreamState;
use crate::flow::{FlowCounters, FlowKind, SpanFiles};

/// A flow's name and its location.
#[derive(Clone, Debug)]
pub(crate) struct FlowName {
    pub(crate) name: String,
    pub(crate) kind: FlowKind,
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
    /// The current congestion window in segments; `None` without an open connection.
    pub congestion_window: Option<f64>,
}

impl<X: Payload> World<X> {
    /// The current congestion window of every flow, in the order of [`Self::flows`] and without the
    /// totals, for frequent samples.
    #[inline]
    pub fn congestion_windows(&self) -> impl Iterator<Item = Option<f64>> {
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => self.agents.tcp.congestion_window(number),
            FlowKind::Agent(number) => self.agents.agent(number).congestion_window(),
            FlowKind::Datagrams(_) => None,
        })
    }

    /// The receivers' current estimates of the round-trip times, in the same order; `None` without
    /// a connection or an estimate.
    pub fn receiver_rtts(&self) -> impl Iterator<Item = Option<Duration>> {
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => self.agents.tcp.receiver_rtt(number),
            FlowKind::Agent(number) => self.agents.agent(number).receiver_rtt(),
            FlowKind::Datagrams(_) => None,
        })
    }

    /// The current states of the streams over several connections at their receivers, in the same
    /// order; `None` for other flows, and empty if no flow is a stream.
    pub fn streams(&self) -> impl Iterator<Item = Option<StreamState>> {
        let count = if self.agents.has_streams() {
            self.names.flows.len()
        } else {
            0
        };
        self.names
            .flows
            .iter()
            .take(count)
            .map(|flow| match flow.kind {
                FlowKind::Agent(number) => self.agents.agent(number).stream_state(),
                FlowKind::Tcp(_) | FlowKind::Datagrams(_) => None,
            })
    }

    /// The files of every flow since the last call, in the same order.
    pub(crate) fn take_files(&mut self) -> impl Iterator<Item = SpanFiles> {
        let agents = &mut self.agents;
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => agents.tcp.take_files(number),
            FlowKind::Datagrams(_) | FlowKind::Agent(_) => SpanFiles::default(),
        })
    }

    /// Every flow of the network, with its totals.
    pub fn flows(&self) -> impl Iterator<Item = FlowReport<'_>> {
        self.names.flows.iter().map(|flow| match flow.kind {
            FlowKind::Tcp(number) => FlowReport {
                name: &flow.name,
                tcp: true,
                counters: self.agents.tcp.counters(number),
                congestion_window: self.agents.tcp.congestion_window(number),
            },
            FlowKind::Datagrams(number) => FlowReport {
                name: &flow.name,
                tcp: false,
                counters: self.agents.datagrams.counters(number),
                congestion_window: None,
            },
            FlowKind::Agent(number) => {
                let agent = self.agents.agent(number);
                FlowReport {
                    name: &flow.name,
                    tcp: agent.is_tcp(),
                    counters: agent.counters(),
                    congestion_window: agent.congestion_window(),
                }
            }
        })
    }
}
