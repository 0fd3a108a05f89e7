//! The cryptographic primitives: `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s` with `snow`, the cipher
//! from `ring`, X25519 from `curve25519-dalek`.
//!
//! The only random draw of a handshake, its ephemeral key, is an argument.

use curve25519_dalek::MontgomeryPoint;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use zeroize::Zeroizing;

use crate::key::{KEY_LEN, PresharedKey, PrivateKey, PublicKey, Secret};

/// Length of an authentication tag in bytes (RFC 8439).
pub(crate) const TAG_LEN: usize = 16;

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// The position of the pre-shared key in the pattern.
const PSK_POSITION: u8 = 2;
/// The pre-shared key of nodes that have none, as in `WireGuard`.
const NO_PSK: [u8; KEY_LEN] = [0; KEY_LEN];
/// Mixed into the handshake by both nodes, so that messages of another protocol version do not
/// decrypt.
const PROLOGUE: &[u8] = b"polypath session 4";

/// The private half of an ephemeral key.
pub(crate) type Ephemeral = Secret;

/// The static keys of a session: this node's key pair, the peer's public key, and the key that both
/// share.
#[derive(Clone, Debug)]
pub(crate) struct StaticKeys {
    private: PrivateKey,
    pub(crate) public: PublicKey,
    pub(crate) peer: PublicKey,
    preshared: Option<PresharedKey>,
}

impl StaticKeys {
    pub(crate) fn new(
        private: PrivateKey,
        peer: PublicKey,
        preshared: Option<PresharedKey>,
    ) -> Self {
        let public = private.public();
        Self {
            private,
            public,
            peer,
            preshared,
        }
    }

    pub(crate) fn initiator(&self, ephemeral: Ephemeral) -> Result<HandshakeState, Error> {
        self.builder(ephemeral)?
            .remote_public_key(&self.peer.0)?
            .build_initiator()
    }

    pub(crate) fn responder(&self, ephemeral: Ephemeral) -> Result<HandshakeState, Error> {
        self.builder(ephemeral)?.build_responder()
    }

    fn builder(&self, ephemeral: Ephemeral) -> Result<Builder<'_>, Error> {
        let primitives = Primitives {
            ephemeral: Some(ephemeral),
        };
        let preshared = self.preshared.as_ref();
        Builder::with_resolver(PATTERN.parse()?, Box::new(primitives))
            .local_private_key(self.private.as_bytes())?
            .psk(
                PSK_POSITION,
                preshared.map_or(&NO_PSK, PresharedKey::as_bytes),
            )?
            .prologue(PROLOGUE)
    }
}

/// The public key of a private one (X25519, RFC 7748).
pub(crate) fn public_key(private: &PrivateKey) -> PublicKey {
    PublicKey(MontgomeryPoint::mul_base_clamped(*private.as_bytes()).to_bytes())
}

/// Whether `public` is a point of low order, with which every key has the same result: a node with
/// it as the peer's key talks to anyone (RFC 7748, section 7).
pub(crate) fn has_low_order(public: &PublicKey) -> bool {
    let mut dh = X25519::default();
    dh.set(&[1; KEY_LEN]);
    dh.dh(&public.0, &mut [0; KEY_LEN]).is_err()
}

/// A key pair of a handshake (X25519, RFC 7748); the private key is erased with the handshake, which
/// it is not with the implementation that `snow` has.
#[derive(Default)]
struct X25519 {
    private: Zeroizing<[u8; KEY_LEN]>,
    public: [u8; KEY_LEN],
}

impl X25519 {
    fn derive_public(&mut self) {
        self.public = MontgomeryPoint::mul_base_clamped(*self.private).to_bytes();
    }
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY_LEN
    }

    fn priv_len(&self) -> usize {
        KEY_LEN
    }

    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(&private[..KEY_LEN]);
        self.derive_public();
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        random.try_fill_bytes(&mut *self.private)?;
        self.derive_public();
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &*self.private
    }

    /// Fails if the result is zero, which it is for points of low order (RFC 7748, section 6.1).
    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let point = public.get(..KEY_LEN).ok_or(Error::Dh)?;
        let mut point = MontgomeryPoint(point.try_into().map_err(|_| Error::Dh)?);
        point = point.mul_clamped(*self.private);
        let result = Zeroizing::new(point.to_bytes());
        // The comparison takes the same time for every result.
        let bits = result.iter().fold(0, |bits, byte| bits | byte);
        if bits == 0 {
            return Err(Error::Dh);
        }
        out[..KEY_LEN].copy_from_slice(&*result);
        Ok(())
    }
}

/// The resolver of the primitives for one handshake.
struct Primitives {
    ephemeral: Option<Ephemeral>,
}

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SingleDraw(self.ephemeral.clone())))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        let is_x25519 = matches!(choice, DHChoice::Curve25519);
        is_x25519.then(|| Box::new(X25519::default()) as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

/// A random source that returns its bytes once: a handshake of pattern IK draws one ephemeral key
/// on each side.
struct SingleDraw(Option<Ephemeral>);

impl Random for SingleDraw {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let drawn = self.0.take().ok_or(Error::Rng)?;
        if bytes.len() != KEY_LEN {
            return Err(Error::Rng);
        }
        bytes.copy_from_slice(drawn.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The points of low order: 0, 1, two of order 8, and p - 1, p and p + 1, which are also -1, 0
    /// and 1 (Bernstein, <https://cr.yp.to/ecdh.html#validate>).
    const LOW_ORDER: [&str; 7] = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];

    fn point(hex: &str) -> PublicKey {
        let byte = |at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        PublicKey(std::array::from_fn(byte))
    }

    #[test]
    fn points_of_low_order_are_recognised_and_no_handshake_uses_them() {
        let key = PrivateKey::generate(&mut polypath_core::rng::Seed(1).stream("key")).unwrap();
        assert!(!has_low_order(&key.public()));
        for hex in LOW_ORDER {
            let point = point(hex);
            assert!(has_low_order(&point), "{hex}");
            let keys = StaticKeys::new(key.clone(), point, None);
            let mut state = keys.initiator([7; KEY_LEN].into()).unwrap();
            assert!(state.write_message(&[], &mut [0; 200]).is_err(), "{hex}");
        }
    }
}
