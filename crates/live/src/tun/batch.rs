//! Packets to and from a TUN device, many in a call where it has offload.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;

use super::Tun;
use super::offload::join::{Go, Joiner};
use super::offload::{HEADER_LEN, Header, LONGEST, split};
use crate::buffer::PacketBuffer;
use crate::stats::TunStats;

/// A TUN device, and packets on their way.
#[derive(Debug)]
pub struct Packets {
    tun: Tun,
    space: PacketBuffer,
    offload: Option<Offload>,
    stats: TunStats,
}

/// What a device with offload needs.
#[derive(Debug)]
struct Offload {
    /// What the kernel handed over, with its header.
    read: Box<[u8]>,
    joiner: Joiner,
}

impl Packets {
    /// Those of `tun`, which was opened with or without offload.
    #[must_use]
    pub fn new(tun: Tun, has_offload: bool) -> Self {
        let offload = has_offload.then(|| Offload {
            read: vec![0; LONGEST].into(),
            joiner: Joiner::new(tun.splits_udp()),
        });
        let space = PacketBuffer::new(usize::from(tun.mtu()));
        Self {
            tun,
            space,
            offload,
            stats: TunStats::default(),
        }
    }

    /// The device.
    #[must_use]
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// Whether many packets cross in a call.
    #[must_use]
    pub fn has_offload(&self) -> bool {
        self.offload.is_some()
    }

    /// What crossed so far.
    #[must_use]
    pub fn stats(&self) -> TunStats {
        self.stats
    }

    /// Reads what the kernel sends next, and adds it to `packets`: one packet, or with offload all that was sent in one go;
    /// false if nothing waits.
    pub fn read(&mut self, packets: &mut VecDeque<Bytes>) -> io::Result<bool> {
        let space = match &mut self.offload {
            Some(offload) => &mut offload.read[..],
            None => self.space.space(),
        };
        let Some(len) = self.tun.read(space)? else {
            return Ok(false);
        };
        let before = packets.len();
        match &mut self.offload {
            Some(offload) => {
                let lost = split_read(&mut offload.read[..len], &mut self.space, packets);
                self.stats.unsplit += lost;
                if lost > 0 && self.stats.unsplit == lost {
                    tracing::warn!(
                        "packets of applications are lost that cannot be split, or are longer than the device's \
                         MTU was at the start; with `offload = false` in `node.tun` they need not be"
                    );
                }
            }
            None => packets.push_back(self.space.take(len)),
        }
        for packet in packets.range(before..) {
            self.stats.from_applications.add(packet.len());
        }
        Ok(true)
    }

    /// Hands `packet` to the kernel as received; with offload by the next [`Packets::flush`] at the latest.
    pub fn write(&mut self, packet: Bytes) -> io::Result<()> {
        if let Some(offload) = &mut self.offload {
            offload.joiner.push(packet);
            return Ok(());
        }
        let (packets, bytes) = (1, packet.len());
        let is_taken = self.tun.write(&packet)?;
        self.stats.count_written(is_taken, Go { packets, bytes });
        Ok(())
    }

    /// Hands to the kernel what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(offload) = &mut self.offload else {
            return Ok(());
        };
        let (tun, stats) = (&self.tun, &mut self.stats);
        let mut result = Ok(());
        offload
            .joiner
            .drain(|slices, go| match tun.write_slices(slices) {
                Ok(is_taken) => stats.count_written(is_taken, go),
                Err(error) => result = Err(error),
            });
        result
    }
}

impl TunStats {
    fn count_written(&mut self, is_taken: bool, go: Go) {
        if is_taken {
            self.to_applications.packets += go.packets as u64;
            self.to_applications.bytes += go.bytes as u64;
        } else {
            self.refused += go.packets as u64;
        }
    }
}

/// Splits what was read, the kernel's header first, and says how much is lost since it cannot be.
fn split_read(read: &mut [u8], space: &mut PacketBuffer, packets: &mut VecDeque<Bytes>) -> u64 {
    let Some((header, packet)) = read.split_first_chunk_mut::<HEADER_LEN>() else {
        return 1;
    };
    let mut lost = 0;
    let split = Header::decode(header).and_then(|header| {
        split::split(header, packet, |len, fill| {
            let Some(to) = space.space().get_mut(..len) else {
                lost += 1;
                return;
            };
            fill(to);
            packets.push_back(space.take(len));
        })
    });
    lost + u64::from(split.is_err())
}
