//! A buffer from which datagrams and frames are cut without an allocation for each.

use bytes::{Bytes, BytesMut};

const CAPACITY: usize = 64 * 1024;

/// Slices of one allocation, which is reused once all of them have been dropped.
pub(crate) struct Arena(BytesMut);

impl Arena {
    pub(crate) fn new() -> Self {
        Self(BytesMut::with_capacity(CAPACITY))
    }

    /// Lets `write` fill up to `len` bytes, and returns as many as it has written.
    pub(crate) fn cut<E>(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Bytes, E> {
        self.0.resize(len, 0);
        match write(&mut self.0) {
            Ok(written) => {
                self.0.truncate(written);
                Ok(self.0.split().freeze())
            }
            Err(error) => {
                self.0.clear();
                Err(error)
            }
        }
    }
}
