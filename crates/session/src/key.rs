//! Static X25519 keys (RFC 7748), which identify the two nodes of a session, and the pre-shared key
//! that they may have in common.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::entropy::{Entropy, EntropyError};
use crate::noise;

/// Length of a key in bytes.
pub const KEY_LEN: usize = 32;

/// The public half of a node's static key; as text, 44 characters of base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; KEY_LEN]);

/// The private half of a node's static key; its `Debug` form does not reveal it.
///
/// It is erased when it is dropped. The states of handshakes have copies of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateKey(Secret);

/// A secret that two nodes have in common in addition to their static keys; its `Debug` form does
/// not reveal it.
///
/// Each handshake mixes it in (Noise, section 9: `psk2`). Someone who records the datagrams and can
/// break X25519 later, as with a quantum computer, still cannot read them without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresharedKey(Secret);

/// Secret bytes in one place of the heap, so that no move leaves a copy behind. They are erased when
/// they are dropped.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Box<Zeroizing<[u8; KEY_LEN]>>);

/// A text is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a key: a key is 32 bytes in base64, 44 characters that end in `=`, and neither zero nor a \
     point of low order; `polypath key` prints one"
)]
pub struct ParseKeyError;

impl PrivateKey {
    /// Draws a new key from `entropy`.
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, EntropyError> {
        Secret::generate(entropy).map(Self)
    }

    /// The corresponding public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        noise::public_key(self)
    }

    /// The key's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_LEN] {
        self.0.as_bytes()
    }

    /// The key in base64, the format of key files.
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        self.0.to_base64()
    }
}

impl PresharedKey {
    /// Draws a new key from `entropy`.
    pub fn generate(entropy: &mut dyn Entropy) -> Result<Self, EntropyError> {
        Secret::generate(entropy).map(Self)
    }

    /// The key's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_LEN] {
        self.0.as_bytes()
    }

    /// The key in base64, the format of key files.
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        self.0.to_base64()
    }
}

impl Secret {
    /// Draws new bytes from `entropy`.
    pub(crate) fn generate(entropy: &mut dyn Entropy) -> Result<Self, EntropyError> {
        let mut secret = Self::zeroed();
        entropy.fill(&mut secret.0[..])?;
        Ok(secret)
    }

    /// The bytes.
    pub(crate) fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    fn zeroed() -> Self {
        Self(Box::new(Zeroizing::new([0; KEY_LEN])))
    }

    fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.as_slice()))
    }
}

fn decode(text: &str) -> Result<Secret, ParseKeyError> {
    let bytes = STANDARD.decode(text.trim()).map_err(|_| ParseKeyError)?;
    let bytes = Zeroizing::new(bytes);
    let mut key = Secret::zeroed();
    if bytes.len() != KEY_LEN {
        return Err(ParseKeyError);
    }
    key.0.copy_from_slice(&bytes);
    Ok(key)
}

impl FromStr for Secret {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let key = decode(text)?;
        // A key that everybody knows, as from a zeroed file.
        if **key.0 == [0; KEY_LEN] {
            return Err(ParseKeyError);
        }
        Ok(key)
    }
}

impl FromStr for PrivateKey {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        text.parse().map(Self)
    }
}

impl FromStr for PresharedKey {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        text.parse().map(Self)
    }
}

impl FromStr for PublicKey {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let key = Self(**decode(text)?.0);
        if noise::has_low_order(&key) {
            return Err(ParseKeyError);
        }
        Ok(key)
    }
}

/// A secret of a test.
#[cfg(test)]
impl From<[u8; KEY_LEN]> for Secret {
    fn from(bytes: [u8; KEY_LEN]) -> Self {
        Self(Box::new(Zeroizing::new(bytes)))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    #[test]
    fn keys_round_trip_as_text() {
        let key = PrivateKey::generate(&mut Seed(1).stream("key")).unwrap();
        assert_eq!(key.to_base64().parse().as_ref(), Ok(&key));
        let public = key.public();
        assert_eq!(public.to_string().len(), 44);
        assert_eq!(public.to_string().parse(), Ok(public));
        assert!(!format!("{key:?}").contains(key.to_base64().as_str()));
    }

    #[test]
    fn all_zero_secrets_are_refused() {
        let zeros = "A".repeat(43) + "=";
        assert_eq!(zeros.parse::<PrivateKey>(), Err(ParseKeyError));
        assert_eq!(zeros.parse::<PresharedKey>(), Err(ParseKeyError));
    }

    #[test]
    fn invalid_keys_are_refused() {
        let low_order = "AQ".to_owned() + &"A".repeat(41) + "=";
        for text in [
            "",
            "abc",
            "AAAA",
            &"A".repeat(44),
            &"=".repeat(44),
            &low_order,
        ] {
            assert_eq!(text.parse::<PublicKey>(), Err(ParseKeyError), "{text}");
        }
    }

    /// RFC 7748, section 6.1: Alice's private and public key.
    #[test]
    fn the_public_key_matches_rfc_7748() {
        let private: PrivateKey = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo="
            .parse()
            .unwrap();
        let public = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        assert_eq!(private.public().to_string(), public);
    }
}
