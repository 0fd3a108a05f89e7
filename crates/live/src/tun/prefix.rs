//! An address together with the length of its network, as people write it: `10.77.0.1/24`.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An IP address and the number of leading bits that it shares with its network.
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
    /// `address` in a network of `len` leading bits; none where the address has fewer bits.
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

    /// The number of leading bits that it shares with its network.
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
    fn refuses_what_is_no_prefix() {
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
