//! An address with its prefix length: `10.77.0.1/24`.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An IP address and its prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

/// Why text is not an address with its prefix length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address with its prefix length: write for example \"10.77.0.1/24\" or \"fd77::1/64\""
)]
pub struct ParsePrefixError(String);

impl Prefix {
    /// `address` with a prefix of `len` bits; none if the address has fewer bits.
    #[must_use]
    pub fn new(address: IpAddr, len: u8) -> Option<Self> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (len <= bits).then_some(Self { address, len })
    }

    /// The address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether `address` has this prefix.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        // The address left-aligned, of either family.
        let (own, other) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (
                u128::from(own.to_bits()) << 96,
                u128::from(other.to_bits()) << 96,
            ),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits()),
            _ => return false,
        };
        (own ^ other).leading_zeros() >= u32::from(self.len)
    }

    /// The prefix length in bits.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "the length of a prefix, not of a list"
    )]
    pub fn len(&self) -> u8 {
        self.len
    }
}

impl FromStr for Prefix {
    type Err = ParsePrefixError;
    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        let read = || {
            let (address, len) = text.split_once('/')?;
            Self::new(address.parse().ok()?, len.parse().ok()?)
        };
        read().ok_or_else(|| ParsePrefixError(text.to_owned()))
    }
}

impl TryFrom<String> for Prefix {
    type Error = ParsePrefixError;
    fn try_from(text: String) -> Result<Self, ParsePrefixError> {
        text.parse()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl schemars::JsonSchema for Prefix {
    fn schema_name() -> Cow<'static, str> {
        "Prefix".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let description = "an address with its prefix length: \"10.77.0.1/24\"";
        schemars::json_schema!({ "type": "string", "description": description })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_families() {
        for text in ["10.77.0.1/24", "fd77::1/64", "0.0.0.0/0", "::1/128"] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_prefix_contains_the_addresses_that_share_its_bits() {
        for (prefix, inside, outside) in [
            ("10.77.0.1/24", "10.77.0.255", "10.77.1.0"),
            ("10.77.0.1/32", "10.77.0.1", "10.77.0.0"),
            ("192.0.2.0/25", "192.0.2.127", "192.0.2.128"),
            ("0.0.0.0/0", "255.255.255.255", "::"),
            ("0.0.0.0/0", "192.0.2.1", "2001:db8::1"),
            ("fd77::1/64", "fd77::ffff:0:0:0", "fd77:0:0:1::"),
            ("::/0", "2001:db8::1", "192.0.2.1"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::"),
        ] {
            let prefix: Prefix = prefix.parse().unwrap();
            assert!(
                prefix.contains(inside.parse().unwrap()),
                "{prefix} {inside}"
            );
            assert!(
                !prefix.contains(outside.parse().unwrap()),
                "{prefix} {outside}"
            );
        }
    }

    #[test]
    fn refuses_invalid_prefixes() {
        for text in [
            "10.77.0.1",
            "10.77.0.1/33",
            "fd77::1/129",
            "x/1",
            "10.0.0.1/-1",
            "",
        ] {
            let error = text.parse::<Prefix>().unwrap_err().to_string();
            assert!(error.contains("for example"), "{error}");
        }
    }
}
