//! How an end introduces itself in a handshake, and what it draws at random for that.

use crate::entropy::{BoxedEntropy, EntropyError};
use crate::handshake::Introduction;

/// Draws of an index that nothing goes by yet; a source that takes more is not random.
const DRAWS: u32 = 8;

/// An end that introduces itself.
pub(super) struct LocalIdentity {
    entropy: BoxedEntropy,
    paths: u8,
    /// Drawn with the first handshake, the same in all that follow. Of 64 bits, so that two starts never have the same.
    instance: Option<u64>,
}

impl LocalIdentity {
    pub(super) fn new(paths: u8, entropy: BoxedEntropy) -> Self {
        Self {
            entropy,
            paths,
            instance: None,
        }
    }

    /// So many random bytes.
    pub(super) fn draw<const N: usize>(&mut self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// This end under a new index that is not `taken`.
    pub(super) fn introduce(
        &mut self,
        taken: impl Fn(u32) -> bool,
    ) -> Result<Introduction, EntropyError> {
        let instance = match self.instance {
            Some(instance) => instance,
            None => u64::from_be_bytes(self.draw()?),
        };
        self.instance = Some(instance);
        for _ in 0..DRAWS {
            let index = u32::from_be_bytes(self.draw()?);
            if !taken(index) {
                return Ok(Introduction {
                    index,
                    instance,
                    paths: self.paths,
                });
            }
        }
        Err(EntropyError)
    }
}
