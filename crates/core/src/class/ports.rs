//! Ranges of ports.

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

/// Ports from the first to the last. In files it is a port or two: `5004`, `"6000-6100"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// A text that is no range of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a port, as 5004, nor a range of ports, as \"6000-6100\"")]
pub struct ParsePortsError(String);

impl PortRange {
    /// One port.
    #[must_use]
    pub const fn only(port: u16) -> Self {
        Self {
            first: port,
            last: port,
        }
    }

    /// The ports from `first` to `last`; `None` if there is none.
    #[must_use]
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// Whether `port` is among them.
    #[must_use]
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    /// Whether all ports of `other` are among them.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            self.first.fmt(f)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl FromStr for PortRange {
    type Err = ParsePortsError;

    fn from_str(text: &str) -> Result<Self, ParsePortsError> {
        let port = |text: &str| text.trim().parse::<u16>().ok();
        let range = match text.split_once('-') {
            Some((first, last)) => port(first).zip(port(last)),
            None => port(text).map(|port| (port, port)),
        };
        range
            .and_then(|(first, last)| Self::new(first, last))
            .ok_or_else(|| ParsePortsError(text.into()))
    }
}

#[cfg(feature = "serde")]
mod serialization {
    use alloc::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::PortRange;
    use crate::notation::text_or_number;

    impl Serialize for PortRange {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if self.first == self.last {
                self.first.serialize(serializer)
            } else {
                serializer.collect_str(self)
            }
        }
    }

    impl<'de> Deserialize<'de> for PortRange {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            text_or_number(deserializer, "a port or a range of ports")
        }
    }

    impl schemars::JsonSchema for PortRange {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("PortRange")
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "type": ["string", "integer"],
                "minimum": 0,
                "maximum": u16::MAX,
                "examples": [5004],
                "description": "a port or a range of ports: 5004, \"6000-6100\""
            })
        }
    }
}
