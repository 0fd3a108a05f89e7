//! Datagrams over the way with the lowest delay of several (delay-centric paper).

use polypath_core::policy::DelayCentricConfig;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Datagrams at even intervals, each of which the receiver acknowledges, over one of several ways at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multihomed {
    /// The size of a datagram on the wire.
    pub packet: Bytes,
    /// From the start of one datagram to the start of the next.
    pub interval: Duration,
    /// Each interval is drawn within this share of `interval`, uniformly.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Each flow's interval is drawn once within this share of `interval`, uniformly: clocks differ.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub drift: f64,
    /// How many datagrams there are; without end, if absent. After the last there are no heartbeats, either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub packets: Option<u64>,
    /// The size of an ACK and of the answer to a heartbeat on the wire; the paper's is 52 B.
    #[serde(default = "default_ack")]
    pub ack: Bytes,
    /// The size of a heartbeat on the wire; that of a datagram, as the paper has it, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Bytes>,
    /// For each way the nodes and links that it passes in this order, there and back, between the flow's ends.
    #[schemars(length(min = 1, max = 64))]
    pub ways: Vec<Vec<String>>,
    /// The way of the first datagram.
    #[serde(default)]
    pub first: FirstWay,
    /// What chooses the way.
    pub policy: DelayCentricConfig,
}

/// The way on which a flow begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstWay {
    /// The first of the list.
    #[default]
    Listed,
    /// Any of them, drawn for each flow.
    Random,
}

fn default_ack() -> Bytes {
    Bytes(52)
}
