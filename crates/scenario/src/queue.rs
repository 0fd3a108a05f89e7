//! The queues of links.
//!
//! `queue = "50 packets"` is a drop-tail queue; a table names another discipline:
//! `queue = { kind = "red", limit = "100 packets", ecn = true }`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_document::{MAX_SIZE, Notation, check_notation};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The queue of each direction of a link: the room of a drop-tail queue ("50 packets"), or a table with `kind` and
/// `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Queue {
    /// Drop-tail with this room.
    DropTail(QueueLimit),
    /// A discipline that drops or marks before the queue is full.
    Active(ActiveQueue),
}

/// A discipline that drops or marks before the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ActiveQueue {
    /// Random early detection (Floyd and Jacobson 1993), with the defaults of ns-2 2.35.
    Red {
        /// The room of the queue; in bytes, if the mean queue is to be counted in bytes.
        limit: QueueLimit,
        /// The mean queue in packets above which packets are dropped; else 5 packets or 2.5 ms, whichever is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_th: Option<f64>,
        /// The mean queue in packets at which the probability is `max_p`; else 3 `min_th`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_th: Option<f64>,
        /// The probability of a drop at `max_th`.
        #[serde(default = "default_max_p")]
        #[schemars(range(min = 0.0, max = 1.0))]
        max_p: f64,
        /// The weight of the present queue in the mean; else that of a time constant of ten round-trip times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: Option<f64>,
        /// Whether the probability rises to 1 at twice `max_th`, rather than jumps there at `max_th`.
        #[serde(default = "yes")]
        gentle: bool,
        /// Whether 1/p packets pass after a drop before the next is possible.
        #[serde(default = "yes")]
        wait: bool,
        /// Whether ECN-capable packets are marked in place of being dropped, below `max_th`.
        #[serde(default)]
        ecn: bool,
        /// The mean size of a packet, for which default thresholds, the default weight and what decays in idle times are
        /// made; ns-2's default, 500 B, whatever `tcp.segment` is.
        #[serde(default = "default_mean_packet")]
        mean_packet: Bytes,
    },
    /// Controlled delay, with the defaults of RFC 8289.
    #[serde(rename = "codel")]
    CoDel {
        /// The room of the queue.
        limit: QueueLimit,
        /// The time in the queue that is good to have at most.
        #[serde(default = "default_target")]
        target: Duration,
        /// How long it may be exceeded: about a long round-trip time.
        #[serde(default = "default_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked in place of being dropped.
        #[serde(default)]
        ecn: bool,
        /// The size of a greatest packet; nothing is dropped while no more than this waits.
        #[serde(default = "default_max_packet")]
        max_packet: Bytes,
    },
}

/// The room of a queue; the packet in transmission counts, as in ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// In packets of any size.
    Packets(u32),
    /// In bytes.
    Bytes(Bytes),
    /// Without end; a run stops where the queue would take too much memory.
    Unlimited,
}

/// The greatest limit of a queue in packets.
pub(crate) const MAX_PACKETS: u32 = 1_000_000;

/// The notations of scenario files, besides the common ones.
pub(crate) const NOTATIONS: &[Notation] = &[Notation {
    definition: "QueueLimit",
    check: |text| check_notation(text, &max_limit(text)),
    example: "50 packets",
}];

/// The greatest limit, in the unit of the text.
fn max_limit(text: &str) -> QueueLimit {
    let text = text.trim();
    if text.ends_with("packets") || text.ends_with("packet") {
        return QueueLimit::Packets(MAX_PACKETS);
    }
    QueueLimit::Bytes(MAX_SIZE)
}

impl Queue {
    /// The room of the queue.
    #[must_use]
    pub const fn limit(&self) -> QueueLimit {
        match self {
            Self::DropTail(limit)
            | Self::Active(ActiveQueue::Red { limit, .. } | ActiveQueue::CoDel { limit, .. }) => {
                *limit
            }
        }
    }
}

impl From<QueueLimit> for Queue {
    fn from(limit: QueueLimit) -> Self {
        Self::DropTail(limit)
    }
}

impl FromStr for QueueLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed == "unlimited" {
            return Ok(QueueLimit::Unlimited);
        }
        let packets = trimmed
            .strip_suffix("packets")
            .or(trimmed.strip_suffix("packet"));
        let remedy = || {
            format!(
                "`{text}` is not a queue limit: write \"50 packets\", \"64 kB\" or \"unlimited\""
            )
        };
        // Digits alone can only be too many.
        let too_large = |number: &str| {
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| format!("`{text}` is too large"))
        };
        match packets {
            Some(number) => number
                .trim()
                .parse()
                .map(QueueLimit::Packets)
                .map_err(|_| too_large(number.trim()).unwrap_or_else(remedy)),
            None => trimmed.parse().map(QueueLimit::Bytes).map_err(|_| remedy()),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Packets(n) => write!(f, "{n} packets"),
            QueueLimit::Bytes(bytes) => write!(f, "{bytes}"),
            QueueLimit::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "QueueLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a number of packets, a size or no limit: \"50 packets\", \"64 kB\", \"unlimited\""
        })
    }
}

const fn yes() -> bool {
    true
}

const fn default_max_p() -> f64 {
    0.1
}

const fn default_mean_packet() -> Bytes {
    Bytes(500)
}

const fn default_target() -> Duration {
    Duration::from_millis(5)
}

const fn default_interval() -> Duration {
    Duration::from_millis(100)
}

const fn default_max_packet() -> Bytes {
    Bytes(1500)
}

#[cfg(test)]
mod tests;
