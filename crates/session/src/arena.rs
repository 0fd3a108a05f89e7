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

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices stay as they were written, whatever is cut after them and in whatever order they are
    /// dropped.
    #[test]
    fn slices_keep_their_bytes() {
        let mut arena = Arena::new();
        let mut slices = Vec::new();
        for n in 0..40_u8 {
            let len = usize::from(n) * 100;
            let slice = arena.cut(len + 5, |out| {
                assert!(out.len() == len + 5 && out.iter().all(|byte| *byte == 0));
                out.fill(n);
                Ok::<_, ()>(len)
            });
            slices.push((n, slice.unwrap()));
            let failed = arena.cut(len, |out| {
                out.fill(u8::MAX);
                Err::<usize, _>(n)
            });
            assert_eq!(failed, Err(n));
            if n % 3 == 0 {
                slices.swap_remove(usize::from(n) / 3);
            }
            for (n, slice) in &slices {
                assert_eq!(*slice, vec![*n; usize::from(*n) * 100]);
            }
        }
    }
}
