//! Sources of random bytes, which sessions take as an argument instead of the system's generator.

use polypath_core::rng::Stream;

/// The source of random bytes failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source of random bytes failed")]
pub struct EntropyError;

/// A source of random bytes for ephemeral keys and session indices.
///
/// A deployment passes the operating system's generator; a simulation passes a [`Stream`] of its
/// seed, which is predictable and protects nothing.
pub trait Entropy {
    /// Fills `bytes` with random bytes, or fails if the source does.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

impl Entropy for Stream {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// A boxed source, so that sessions have one type regardless of their source of entropy.
pub type BoxedEntropy = Box<dyn Entropy + Send>;
