//! The part of a handshake that describes this node, and the random draws for it.

use crate::entropy::{BoxedEntropy, EntropyError};
use crate::handshake::HandshakeInfo;
use crate::mac::Tag;
use crate::noise::Ephemeral;
use zeroize::Zeroizing;

/// Attempts to draw an unused index; a source that needs more is not random.
const MAX_DRAWS: u32 = 8;

/// This node's instance number, path count, feature bits and source of entropy.
pub(super) struct LocalIdentity {
    entropy: BoxedEntropy,
    paths: u8,
    features: u32,
    /// Drawn with the first handshake and reused in later ones; 64 bits, so that no two runs of the
    /// node share it.
    instance: Option<u64>,
}

impl LocalIdentity {
    pub(super) fn new(paths: u8, features: u32, entropy: BoxedEntropy) -> Self {
        Self {
            entropy,
            paths,
            features,
            instance: None,
        }
    }

    /// Draws `N` random bytes.
    pub(super) fn draw<const N: usize>(&mut self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Draws the secret of a response.
    pub(super) fn draw_secret(&mut self) -> Result<Zeroizing<Tag>, EntropyError> {
        let mut secret = Zeroizing::new(Tag::default());
        self.entropy.fill(&mut *secret)?;
        Ok(secret)
    }

    /// Draws the private half of an ephemeral key.
    pub(super) fn draw_ephemeral(&mut self) -> Result<Ephemeral, EntropyError> {
        Ephemeral::generate(&mut *self.entropy)
    }

    /// Describes this node for a handshake, under a new index for which `is_used` is false.
    pub(super) fn handshake_info(
        &mut self,
        is_used: impl Fn(u32) -> bool,
    ) -> Result<HandshakeInfo, EntropyError> {
        let instance = match self.instance {
            Some(instance) => instance,
            None => u64::from_be_bytes(self.draw()?),
        };
        self.instance = Some(instance);
        for _ in 0..MAX_DRAWS {
            let index = u32::from_be_bytes(self.draw()?);
            if !is_used(index) {
                return Ok(HandshakeInfo {
                    index,
                    instance,
                    features: self.features,
                    paths: self.paths,
                });
            }
        }
        Err(EntropyError)
    }
}
