//! The MACs of handshake messages: keyed BLAKE2s with 16 bytes (RFC 7693).

use blake2::digest::consts::U16;
use blake2::digest::{FixedOutput, Mac as _};
use blake2::{Blake2s256, Blake2sMac, Digest};
use zeroize::Zeroize;

use crate::key::PublicKey;

/// Length of a MAC in bytes.
pub(crate) const MAC_LEN: usize = 16;
/// Length of a key in bytes.
pub(crate) const MAC_KEY_LEN: usize = 32;

/// The label of the MAC that every handshake message has.
const HANDSHAKE_LABEL: &[u8] = b"polypath mac 4--";
/// The label of the MAC of a cookie reply.
const COOKIE_LABEL: &[u8] = b"polypath cookie ";

/// A MAC.
pub(crate) type Tag = [u8; MAC_LEN];

/// The key of a MAC, erased when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct MacKey([u8; MAC_KEY_LEN]);

impl MacKey {
    /// A secret key.
    pub(crate) const fn new(key: [u8; MAC_KEY_LEN]) -> Self {
        Self(key)
    }

    /// The key that a 16-byte secret is padded to.
    pub(crate) fn from_short(secret: &Tag) -> Self {
        let mut key = [0; MAC_KEY_LEN];
        key[..MAC_LEN].copy_from_slice(secret);
        Self(key)
    }

    /// The key of handshake messages to `receiver`: a valid MAC proves, at the cost of a hash, that
    /// the sender knows the receiver's public key (`WireGuard`'s `mac1`, section 5.4.4 of its
    /// paper).
    pub(crate) fn of_handshakes_to(receiver: &PublicKey) -> Self {
        Self::derive(HANDSHAKE_LABEL, receiver)
    }

    /// The key of cookie replies of `sender`.
    pub(crate) fn of_cookies_from(sender: &PublicKey) -> Self {
        Self::derive(COOKIE_LABEL, sender)
    }

    fn derive(label: &[u8], key: &PublicKey) -> Self {
        let hash = Blake2s256::new().chain_update(label).chain_update(key.0);
        Self(hash.finalize().into())
    }

    /// The MAC of the concatenation of `parts`.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> Tag {
        self.hash(parts).finalize_fixed().into()
    }

    /// Whether `tag` is the MAC of the concatenation of `parts`, in constant time.
    pub(crate) fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.hash(parts).verify_slice(tag).is_ok()
    }

    fn hash(&self, parts: &[&[u8]]) -> Blake2sMac<U16> {
        let hash = <Blake2sMac<U16> as blake2::digest::KeyInit>::new(&self.0.into());
        parts.iter().fold(hash, blake2::digest::Mac::chain_update)
    }
}

impl Drop for MacKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keyed BLAKE2s-128 of `abc`, as printed by Python's `hashlib.blake2s(b"abc",
    /// key=bytes(range(32)), digest_size=16)`.
    #[test]
    fn a_tag_is_keyed_blake2s_of_the_concatenation() {
        let key = MacKey::new(std::array::from_fn(|at| u8::try_from(at).unwrap()));
        let expected = [
            0x61, 0xba, 0x5f, 0x16, 0x5c, 0x19, 0x46, 0x92, 0xe0, 0x9d, 0x12, 0x52, 0x0c, 0xc4,
            0xc7, 0x4a,
        ];
        assert_eq!(key.tag(&[b"abc"]), expected);
        assert_eq!(key.tag(&[b"a", b"", b"bc"]), expected);
        assert!(key.verify(&[b"ab", b"c"], &expected));
        assert!(!key.verify(&[b"abd"], &expected));
        assert!(!key.verify(&[b"abc"], &expected[..15]), "another length");
    }
}
