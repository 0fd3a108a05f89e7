//! Receive buffers that are split into packets without an allocation or a copy for each.

use bytes::{Bytes, BytesMut};

/// The minimum size of an allocation in bytes.
const CHUNK: usize = 64 * 1024;
/// The minimum number of packets of full length in an allocation: with the MTU of a loopback one
/// packet would fill the minimum size.
const PACKETS: usize = 16;

/// Provides space for one packet of up to `len` bytes at a time.
#[derive(Debug)]
pub(crate) struct PacketBuffer {
    chunk: BytesMut,
    len: usize,
}

impl PacketBuffer {
    pub(crate) fn new(len: usize) -> Self {
        Self {
            chunk: BytesMut::new(),
            len,
        }
    }

    /// Space for the next packet.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.chunk.len() < self.len {
            self.chunk = BytesMut::zeroed((self.len * PACKETS).max(CHUNK));
        }
        &mut self.chunk[..self.len]
    }

    /// The packet of `len` bytes that was written into the space.
    pub(crate) fn take(&mut self, len: usize) -> Bytes {
        self.chunk.split_to(len).freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_packets_share_an_allocation() {
        let mut buffer = PacketBuffer::new(CHUNK);
        buffer.space();
        let first = buffer.take(CHUNK);
        let apart: Vec<usize> = (1..PACKETS)
            .map(|_| {
                buffer.space();
                buffer.take(CHUNK).as_ptr() as usize - first.as_ptr() as usize
            })
            .collect();
        let expected: Vec<usize> = (1..PACKETS).map(|n| n * CHUNK).collect();
        assert_eq!(apart, expected);
    }

    #[test]
    fn packets_keep_their_bytes() {
        let mut buffer = PacketBuffer::new(1500);
        let mut packets = Vec::new();
        for n in 0..200_u8 {
            buffer.space()[..usize::from(n)].fill(n);
            packets.push(buffer.take(usize::from(n)));
        }
        for (n, packet) in (0..200_u8).zip(packets) {
            assert_eq!(packet, vec![n; usize::from(n)]);
        }
    }
}
