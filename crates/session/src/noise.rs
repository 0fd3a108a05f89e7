//! The cryptographic primitives: `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s` with `snow`, the cipher
//! from `ring`.
//!
//! The only random draw of a handshake, its ephemeral key, is an argument.

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};

use crate::key::{KEY_LEN, PrivateKey, PublicKey};

/// Length of an authentication tag in bytes (RFC 8439).
pub(crate) const TAG_LEN: usize = 16;

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// The position of the pre-shared key in the pattern.
const PSK_POSITION: u8 = 2;
/// The pre-shared key of nodes that have none, as in `WireGuard`.
const NO_PSK: [u8; KEY_LEN] = [0; KEY_LEN];
/// Mixed into the handshake by both nodes, so that messages of another protocol version do not
/// decrypt.
const PROLOGUE: &[u8] = b"polypath session 3";

/// The private half of an ephemeral key.
pub(crate) type Ephemeral = [u8; KEY_LEN];

/// The static keys of a session: this node's key pair and the peer's public key.
#[derive(Clone, Debug)]
pub(crate) struct StaticKeys {
    private: PrivateKey,
    pub(crate) public: PublicKey,
    pub(crate) peer: PublicKey,
}

impl StaticKeys {
    pub(crate) fn new(private: PrivateKey, peer: PublicKey) -> Self {
        let public = private.public();
        Self {
            private,
            public,
            peer,
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
        Builder::with_resolver(PATTERN.parse()?, Box::new(primitives))
            .local_private_key(self.private.as_bytes())?
            .psk(PSK_POSITION, &NO_PSK)?
            .prologue(PROLOGUE)
    }
}

/// The public key of a private one (X25519, RFC 7748).
pub(crate) fn public_key(private: &PrivateKey) -> PublicKey {
    let mut dh = curve25519();
    dh.set(private.as_bytes());
    let mut public = [0; KEY_LEN];
    public.copy_from_slice(dh.pubkey());
    PublicKey(public)
}

fn curve25519() -> Box<dyn Dh> {
    DefaultResolver
        .resolve_dh(&DHChoice::Curve25519)
        .expect("snow is built with X25519")
}

/// The resolver of the primitives for one handshake.
struct Primitives {
    ephemeral: Option<Ephemeral>,
}

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SingleDraw(self.ephemeral)))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
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
        if bytes.len() != drawn.len() {
            return Err(Error::Rng);
        }
        bytes.copy_from_slice(&drawn);
        Ok(())
    }
}
