//! The differentiated services codepoint (DSCP) of IP packets (RFC 2474).

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

/// A differentiated services codepoint: the class of a packet, from 0 to 63 (RFC 2474, section 3).
///
/// As text it is one of the names of the standards, or a number if it has none: `cs0` to `cs7` (RFC
/// 2474), `af11` to `af43` (RFC 2597), `ef` (RFC 3246), `va` (RFC 5865) and `le` (RFC 8622).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// A text or number that is no codepoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a DSCP: write a name (ef, va, le, cs0 to cs7, af11 to af43) or a number from 0 to \
     63"
)]
pub struct ParseDscpError(String);

/// The codepoints with names, by number.
const NAMES: [(&str, Dscp); 23] = [
    ("cs0", Dscp::DEFAULT),
    ("le", Dscp(1)),
    ("cs1", Dscp(8)),
    ("af11", Dscp(10)),
    ("af12", Dscp(12)),
    ("af13", Dscp(14)),
    ("cs2", Dscp(16)),
    ("af21", Dscp(18)),
    ("af22", Dscp(20)),
    ("af23", Dscp(22)),
    ("cs3", Dscp(24)),
    ("af31", Dscp(26)),
    ("af32", Dscp(28)),
    ("af33", Dscp(30)),
    ("cs4", Dscp(32)),
    ("af41", Dscp(34)),
    ("af42", Dscp(36)),
    ("af43", Dscp(38)),
    ("cs5", Dscp(40)),
    ("va", Dscp(44)),
    ("ef", Dscp::EF),
    ("cs6", Dscp(48)),
    ("cs7", Dscp(56)),
];

impl Dscp {
    /// That of packets without a class (`cs0`; RFC 2474, section 4.1).
    pub const DEFAULT: Self = Self(0);
    /// Expedited forwarding (RFC 3246).
    pub const EF: Self = Self(46);
    /// The highest codepoint.
    pub const MAX: Self = Self(63);

    /// The codepoint with this number; none above 63.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number <= Self::MAX.0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The codepoint in the six high bits of a traffic class or TOS byte (RFC 2474, section 3).
    #[must_use]
    pub const fn of_traffic_class(class: u8) -> Self {
        Self(class >> 2)
    }

    /// The traffic class or TOS byte with this codepoint and an ECN field of 0.
    #[must_use]
    pub const fn traffic_class(self) -> u8 {
        self.0 << 2
    }

    /// The number, from 0 to 63.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether it is that of packets without a class.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.0 == Self::DEFAULT.0
    }

    /// The name of the standards; most numbers have none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let named = NAMES.iter().find(|(_, dscp)| *dscp == self);
        named.map(|(name, _)| *name)
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Dscp {
    type Err = ParseDscpError;

    fn from_str(text: &str) -> Result<Self, ParseDscpError> {
        let trimmed = text.trim();
        let named = NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(trimmed));
        named
            .map(|(_, dscp)| *dscp)
            .or_else(|| Self::new(trimmed.parse().ok()?))
            .ok_or_else(|| ParseDscpError(text.into()))
    }
}

/// Codepoints are names or numbers in files: `"ef"`, `46`.
#[cfg(feature = "serde")]
mod serialization {
    use alloc::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Dscp;
    use crate::notation::text_or_number;

    impl Serialize for Dscp {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Dscp {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            text_or_number(deserializer, "the name or number of a DSCP")
        }
    }

    impl schemars::JsonSchema for Dscp {
        fn schema_name() -> Cow<'static, str> {
            Cow::Borrowed("Dscp")
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "type": ["string", "integer"],
                "minimum": 0,
                "maximum": Dscp::MAX.number(),
                "description": "a name or number of a DSCP: \"ef\", \"va\", \"le\", \"cs0\" to \"cs7\", \"af11\" to \"af43\", 0 to 63"
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_are_those_of_the_standards() {
        // RFC 2474 (4.2.2), RFC 2597 (6), RFC 3246 (2.7), RFC 5865 (2), RFC 8622 (1).
        for class in 0..8 {
            assert_eq!(alloc::format!("cs{class}").parse(), Ok(Dscp(class << 3)));
        }
        for (class, drop) in (1..5).flat_map(|class| [(class, 1), (class, 2), (class, 3)]) {
            let name = alloc::format!("af{class}{drop}");
            assert_eq!(name.parse(), Ok(Dscp(class << 3 | drop << 1)));
        }
        let others = [("ef", 0b10_1110), ("va", 0b10_1100), ("le", 0b00_0001)];
        for (name, number) in others {
            assert_eq!(name.parse(), Ok(Dscp(number)));
            assert_eq!(name.to_uppercase().parse(), Ok(Dscp(number)));
        }
    }

    #[test]
    fn text_is_parsed_back() {
        let named = (0..=63).filter(|number| {
            let dscp = Dscp::new(*number).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(number.to_string().parse(), Ok(dscp));
            dscp.to_string() != number.to_string()
        });
        assert_eq!(named.count(), NAMES.len());
    }

    #[test]
    fn other_texts_are_refused_with_the_notation() {
        for text in ["", "64", "-1", "af14", "af51", "cs8", "4 6", "0x2e"] {
            let error = text.parse::<Dscp>().unwrap_err().to_string();
            let named = error.contains(&alloc::format!("`{text}`"));
            assert!(named && error.contains("af43"), "{error}");
        }
        assert_eq!(Dscp::new(64), None);
    }
}
