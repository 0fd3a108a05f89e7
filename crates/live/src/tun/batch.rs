//! Reads and writes of a TUN device, batched in one call with offload.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;

use super::Tun;
use super::offload::merge::{Batch, Merger};
use super::offload::{HEADER_LEN, MAX_LEN, VirtioHeader, split};
use crate::buffer::PacketBuffer;
use crate::stats::TunStats;

/// A TUN device with its batches of packets.
#[derive(Debug)]
pub struct BatchedTun {
    tun: Tun,
    buffer: PacketBuffer,
    offload: Option<Offload>,
    stats: TunStats,
}

/// The buffers of a device with offload.
#[derive(Debug)]
struct Offload {
    /// A read from the kernel, with its header.
    read: Box<[u8]>,
    merger: Merger,
}

impl BatchedTun {
    /// Batches for `tun`, which was opened with or without offload.
    #[must_use]
    pub fn new(tun: Tun, has_offload: bool) -> Self {
        let offload = has_offload.then(|| Offload {
            read: vec![0; MAX_LEN].into(),
            merger: Merger::new(tun.splits_udp()),
        });
        let buffer = PacketBuffer::new(usize::from(tun.mtu()));
        Self {
            tun,
            buffer,
            offload,
            stats: TunStats::default(),
        }
    }

    /// The device.
    #[must_use]
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// Whether packets are batched.
    #[must_use]
    pub fn has_offload(&self) -> bool {
        self.offload.is_some()
    }

    /// The counters so far.
    #[must_use]
    pub fn stats(&self) -> TunStats {
        self.stats
    }

    /// Appends to `packets` the next packet that the kernel sends, or with offload the next batch;
    /// returns false if none waits.
    pub fn read(&mut self, packets: &mut VecDeque<Bytes>) -> io::Result<bool> {
        let buffer = match &mut self.offload {
            Some(offload) => &mut offload.read[..],
            None => self.buffer.space(),
        };
        let Some(len) = self.tun.read(buffer)? else {
            return Ok(false);
        };
        let before = packets.len();
        match &mut self.offload {
            Some(offload) => {
                let lost = split_read(&mut offload.read[..len], &mut self.buffer, packets);
                self.stats.unsplit += lost;
                if lost > 0 && self.stats.unsplit == lost {
                    tracing::warn!(
                        "packets of applications are lost: they cannot be split, or exceed the MTU that the device had \
                         at the start; `offload = false` in `node.tun` avoids this"
                    );
                }
            }
            None => packets.push_back(self.buffer.take(len)),
        }
        for packet in packets.range(before..) {
            self.stats.from_applications.add(packet.len());
        }
        Ok(true)
    }

    /// Delivers `packet` to the kernel, with offload at the latest with the next
    /// [`BatchedTun::flush`].
    pub fn write(&mut self, packet: Bytes) -> io::Result<()> {
        if let Some(offload) = &mut self.offload {
            offload.merger.push(packet);
            return Ok(());
        }
        let (packets, bytes) = (1, packet.len());
        let is_accepted = self.tun.write(&packet)?;
        self.stats
            .count_written(is_accepted, Batch { packets, bytes });
        Ok(())
    }

    /// Delivers the packets that wait to be merged.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(offload) = &mut self.offload else {
            return Ok(());
        };
        let (tun, stats) = (&self.tun, &mut self.stats);
        let mut result = Ok(());
        offload
            .merger
            .drain(|slices, batch| match tun.write_slices(slices) {
                Ok(is_accepted) => stats.count_written(is_accepted, batch),
                Err(error) => result = Err(error),
            });
        result
    }
}

impl TunStats {
    fn count_written(&mut self, is_accepted: bool, batch: Batch) {
        if is_accepted {
            self.to_applications.packets += batch.packets as u64;
            self.to_applications.bytes += batch.bytes as u64;
        } else {
            self.refused += batch.packets as u64;
        }
    }
}

/// Splits a read, which starts with the kernel's header, and returns the number of packets lost.
pub(super) fn split_read(
    read: &mut [u8],
    buffer: &mut PacketBuffer,
    packets: &mut VecDeque<Bytes>,
) -> u64 {
    let Some((header, packet)) = read.split_first_chunk_mut::<HEADER_LEN>() else {
        return 1;
    };
    let mut lost = 0;
    let split = VirtioHeader::decode(header).and_then(|header| {
        split::split(header, packet, |len, fill| {
            let Some(to) = buffer.space().get_mut(..len) else {
                lost += 1;
                return;
            };
            fill(to);
            packets.push_back(buffer.take(len));
        })
    });
    lost + u64::from(split.is_err())
}
