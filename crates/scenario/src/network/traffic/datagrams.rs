//! Datagrams whose times nothing in the network changes.

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Direction, FlowPacket, TrafficKind};
use crate::check::bounds::{MIN_GAP, at_least, at_most_a_day, check_gap};
use crate::check::{check_packet, check_rate, positive};
use crate::tcp::Tcp;
use crate::trace::{PacketTrace, TraceFormat};
use polypath_document::Problems;

/// Datagrams at even intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// The size of a datagram on the wire.
    pub packet: Bytes,
    /// The interval between the starts of successive datagrams.
    pub interval: Duration,
    /// Each interval is drawn within this share of `interval`, uniformly.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Each flow's interval is drawn once within this share of `interval`, uniformly: clocks
    /// differ.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub drift: f64,
}

/// Datagrams at exponential intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// The size of a datagram on the wire.
    pub packet: Bytes,
    /// The mean rate.
    pub rate: Rate,
}

/// Bursts of datagrams at a constant rate with exponential on and off times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// The size of a datagram on the wire.
    pub packet: Bytes,
    /// The rate while on.
    pub peak: Rate,
    /// The mean of the on times.
    pub on: Duration,
    /// The mean of the off times.
    pub off: Duration,
}

/// Bursts of datagrams at a constant rate with Pareto on and off times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// The size of a datagram on the wire.
    pub packet: Bytes,
    /// The rate while on.
    pub peak: Rate,
    /// The mean of the on times.
    pub on: Duration,
    /// The mean of the off times.
    pub off: Duration,
    /// The shape of both distributions; below 2 the sum of many is self-similar.
    #[schemars(range(min = 1.001, max = 100.0))]
    pub shape: f64,
}

/// Recorded datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The file, relative to this one.
    pub file: PacketTrace,
    /// The form of the file.
    #[serde(default)]
    pub format: TraceFormat,
    /// The interval at which the recording starts again; it is played once, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Duration>,
}

fn datagram(size: Bytes, key: &'static str) -> Vec<FlowPacket> {
    vec![FlowPacket::new(Direction::There, "datagram", size, key)]
}

impl TrafficKind for Cbr {
    fn check(&self, key: &str, problems: &mut Problems) {
        check_packet(&format!("{key}.packet"), self.packet, problems);
        let key = format!("{key}.interval");
        positive(&key, self.interval, problems);
        at_least(&key, self.interval, MIN_GAP, problems);
        at_most_a_day(&key, self.interval, problems);
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        datagram(self.packet, "traffic.packet")
    }
}

impl TrafficKind for Poisson {
    fn check(&self, key: &str, problems: &mut Problems) {
        check_packet(&format!("{key}.packet"), self.packet, problems);
        check_rate(&format!("{key}.rate"), self.rate, problems);
        check_gap(key, "rate", self.rate, self.packet, problems);
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        datagram(self.packet, "traffic.packet")
    }
}

impl TrafficKind for Exponential {
    fn check(&self, key: &str, problems: &mut Problems) {
        let at = |leaf: &str| format!("{key}.{leaf}");
        check_packet(&at("packet"), self.packet, problems);
        check_rate(&at("peak"), self.peak, problems);
        positive(&at("on"), self.on, problems);
        check_gap(key, "peak", self.peak, self.packet, problems);
        at_most_a_day(&at("on"), self.on, problems);
        at_most_a_day(&at("off"), self.off, problems);
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        datagram(self.packet, "traffic.packet")
    }
}

impl TrafficKind for Pareto {
    fn check(&self, key: &str, problems: &mut Problems) {
        let Self {
            packet,
            peak,
            on,
            off,
            shape: _,
        } = *self;
        let bursts = Exponential {
            packet,
            peak,
            on,
            off,
        };
        bursts.check(key, problems);
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        datagram(self.packet, "traffic.packet")
    }
}

impl TrafficKind for Recording {
    fn check(&self, _key: &str, _problems: &mut Problems) {}

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        let largest = self.file.entries.iter().map(|packet| packet.bytes).max();
        datagram(Bytes(largest.unwrap_or_default().into()), "traffic.file")
    }
}

impl Recording {
    /// Checks that the recording, which has been read, ends before it starts again.
    pub(in crate::network) fn check_repeat(&self, key: &str, problems: &mut Problems) {
        let entries = &self.file.entries;
        let (Some(repeat), Some(last)) = (self.repeat, entries.last()) else {
            return;
        };
        let key = format!("{key}.repeat");
        // In ns-2's form the recording has the pause before its first datagram, and may start again
        // with the last.
        let is_short = match self.format {
            TraceFormat::Text => repeat <= last.at,
            TraceFormat::Ns2 => repeat < last.at,
        };
        if is_short {
            let message = format!("the last datagram is sent at {}", last.at);
            problems.report(&key, message, "make `repeat` longer");
        }
        at_least(&key, repeat, MIN_GAP * entries.len() as u64, problems);
        at_most_a_day(&key, repeat, problems);
    }
}
