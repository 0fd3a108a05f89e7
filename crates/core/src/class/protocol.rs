//! The protocol in an IP packet.

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

/// The protocol in an IP packet, by its number (IANA). In files it is a name of [`Protocol::NAMES`]
/// or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Protocol(u8);

/// A text that is no protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a protocol: write tcp, udp, icmp, icmpv6, sctp, gre, esp, or a number from 0 to 255"
)]
pub struct ParseProtocolError(String);

impl Protocol {
    /// RFC 9293.
    pub const TCP: Self = Self(6);
    /// RFC 768.
    pub const UDP: Self = Self(17);
    /// The protocols with a name in files.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("tcp", Self::TCP),
        ("udp", Self::UDP),
        ("icmp", Self(1)),
        ("icmpv6", Self(58)),
        ("sctp", Self(132)),
        ("gre", Self(47)),
        ("esp", Self(50)),
    ];

    /// The protocol with this number.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether its ports are read ([`crate::packet::parse`]).
    #[must_use]
    pub fn has_ports(self) -> bool {
        self == Self::TCP || self == Self::UDP
    }

    fn name(self) -> Option<&'static str> {
        let named = Self::NAMES.iter().find(|(_, protocol)| *protocol == self);
        named.map(|(name, _)| *name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Protocol {
    type Err = ParseProtocolError;

    fn from_str(text: &str) -> Result<Self, ParseProtocolError> {
        let named = Self::NAMES.iter().find(|(name, _)| *name == text);
        named
            .map(|(_, protocol)| *protocol)
            .or_else(|| text.parse().ok().map(Self))
            .ok_or_else(|| ParseProtocolError(text.into()))
    }
}

#[cfg(feature = "serde")]
mod serialization {
    use alloc::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Protocol;
    use crate::notation::text_or_number;

    impl Serialize for Protocol {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Protocol {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            text_or_number(deserializer, "the name or number of a protocol")
        }
    }

    impl schemars::JsonSchema for Protocol {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Protocol")
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "type": ["string", "integer"],
                "minimum": 0,
                "maximum": u8::MAX,
                "description": "\"tcp\", \"udp\", \"icmp\", \"icmpv6\", \"sctp\", \"gre\", \"esp\", or a number of a protocol in IP packets"
            })
        }
    }
}
