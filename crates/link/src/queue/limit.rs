//! The capacity of a queue.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use derive_more::Add;
use polypath_core::units::Bytes;

use crate::config_error::ConfigError;
use crate::drop_reason::DropReason;

/// The maximum number of packets in any queue, also an unlimited one: a queue that grows without
/// bound stops the run and does not exhaust the memory.
///
/// A waiting packet takes about 100 bytes in a simulation, and its own size in a lab.
pub const MAX_PACKETS: u32 = 1 << 20;

/// The capacity of a queue; the packet in transmission counts, as in ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of packets of any size.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
    /// No limit but [`MAX_PACKETS`], at which a run stops.
    Unlimited,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add)]
pub(crate) struct Occupancy {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
}

impl QueueLimit {
    /// Whether a packet of this size fits into the empty queue.
    #[must_use]
    pub fn admits(self, size: Bytes) -> bool {
        match self {
            Self::Packets(limit) => limit > 0,
            Self::Bytes(limit) => size <= limit,
            Self::Unlimited => true,
        }
    }

    /// The problem of a limit of zero; `key` is its key in a link of a scenario file.
    #[must_use]
    pub fn problem(self, key: &'static str) -> Option<ConfigError> {
        let is_zero = matches!(self, Self::Packets(0) | Self::Bytes(Bytes(0)));
        is_zero.then_some(ConfigError::ZeroLimit(key))
    }

    /// The reason to drop a packet of `size` bytes that arrives at a queue with these packets, if
    /// it does not fit.
    pub(crate) fn drop_reason(self, queue: Occupancy, size: u32) -> Option<DropReason> {
        self.excess(Occupancy {
            packets: queue.packets + 1,
            bytes: queue.bytes + u64::from(size),
        })
    }

    /// The reason to drop packets from a queue with these packets, if they are too many.
    pub(crate) fn excess(self, queue: Occupancy) -> Option<DropReason> {
        let is_exceeded = match self {
            Self::Packets(limit) => queue.packets > limit as usize,
            Self::Bytes(limit) => queue.bytes > limit.0,
            Self::Unlimited => false,
        };
        if is_exceeded {
            return Some(DropReason::QueueFull);
        }
        (queue.packets > MAX_PACKETS as usize).then_some(DropReason::Overflow)
    }
}

/// A text that is not a queue limit; it displays as a message for users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseLimitError(String);

impl FromStr for QueueLimit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        let trimmed = text.trim();
        if trimmed == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let packets = trimmed
            .strip_suffix("packets")
            .or(trimmed.strip_suffix("packet"));
        let Some(number) = packets.map(str::trim) else {
            let bytes = trimmed.parse().map(Self::Bytes);
            return bytes.map_err(|_| ParseLimitError::malformed(text));
        };
        number.parse().map(Self::Packets).map_err(|_| {
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            if is_number {
                return ParseLimitError(format!("`{text}` is too large"));
            }
            ParseLimitError::malformed(text)
        })
    }
}

impl ParseLimitError {
    fn malformed(text: &str) -> Self {
        Self(format!(
            "`{text}` is not a queue limit: write \"50 packets\", \"64 kB\" or \"unlimited\""
        ))
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

#[cfg(feature = "serde")]
mod file {
    use alloc::borrow::Cow;
    use alloc::string::String;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::QueueLimit;

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
}
