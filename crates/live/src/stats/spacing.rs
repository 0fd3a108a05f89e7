//! The spacing of the packets that a node sends.

use polypath_core::frame::OVER_IPV4;
use polypath_core::spacing::SpacingStatistics;
use polypath_core::units::{Bytes, Rate};
use serde::Serialize;
use serde_json::Value;

/// The spacing of the packets that a node sends, and those that wait for their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpacingStats {
    /// The spacing in force, in microseconds.
    pub spacing_us: f64,
    /// The average size of packets of applications in bytes, without the headers of the overlay; 0
    /// before the first.
    pub packet_bytes: u64,
    /// The rate of packets of applications that it permits in bit/s, without the headers of the
    /// overlay. Absent if it permits any rate, and before the first packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bit_per_s: Option<u64>,
    /// That of their payload, if they are UDP over IPv4: the advice for an encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bit_per_s: Option<u64>,
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
        let payload = Bytes(spacing.packet.0.saturating_sub(OVER_IPV4.into()));
        let payload_rate = spacing
            .rate
            .and_then(|_| Rate::average(payload, spacing.spacing));
        Self {
            spacing_us: spacing.spacing.as_secs_f64() * 1e6,
            packet_bytes: spacing.packet.0,
            rate_bit_per_s: spacing.rate.map(|rate| rate.0),
            payload_bit_per_s: payload_rate.map(|rate| rate.0),
            rtt_ms: spacing.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            waiting: spacing.waiting,
            wait_ms: spacing.wait.as_secs_f64() * 1e3,
            dropped: spacing.dropped,
        }
    }
}

/// The rate for an encoder, in the state of a node ([`Stats`](super::Stats) as JSON): that of its
/// `spacing`, `at_s` in seconds since time zero, and `null` for rates without a limit that is known, as
/// before the first packet. `None` if the node does not space its packets.
#[must_use]
pub fn rate_advice(state: &Value) -> Option<Value> {
    let mut advice = state["spacing"].as_object()?.clone();
    let seconds = state["at"].as_f64().map(|nanoseconds| nanoseconds / 1e9);
    advice.insert("at_s".to_owned(), seconds.into());
    for rate in ["payload_bit_per_s", "rate_bit_per_s"] {
        advice.entry(rate).or_insert(Value::Null);
    }
    Some(advice.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn advice_has_the_rate_or_states_that_there_is_none() {
        assert_eq!(rate_advice(&json!({ "at": 1, "spacing": null })), None);
        let state = json!({ "at": 2_500_000_000_u64, "spacing": {
            "spacing_us": 2000.0, "packet_bytes": 1344, "rate_bit_per_s": 5_376_000,
            "payload_bit_per_s": 5_264_000, "waiting": 0, "wait_ms": 0.0, "dropped": 0,
        } });
        let found = rate_advice(&state).unwrap();
        assert_eq!(
            (&found["at_s"], &found["payload_bit_per_s"]),
            (&2.5.into(), &5_264_000.into())
        );
        let free = json!({ "at": 0, "spacing": { "spacing_us": 0.0, "waiting": 0 } });
        let free = rate_advice(&free).unwrap();
        assert_eq!(free["payload_bit_per_s"], Value::Null);
        assert!(free.get("rate_bit_per_s").is_some());
    }
}
