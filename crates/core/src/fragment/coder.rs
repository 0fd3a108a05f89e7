//! The erasure code of fragments, over bytes.

use alloc::vec::Vec;

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use super::{Code, Fragment};
use crate::policy::PathSet;

/// Splits packets and restores them. It keeps its buffers from packet to packet, and no other
/// state.
#[derive(Default)]
pub struct Coder {
    encoder: Option<ReedSolomonEncoder>,
    decoder: Option<ReedSolomonDecoder>,
}

impl Clone for Coder {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl core::fmt::Debug for Coder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Coder").finish_non_exhaustive()
    }
}

impl Coder {
    /// The fragments of `packet`, in their order, each of [`Code::fragment_len`] bytes. `None` if
    /// the packet is empty or longer than 65 535 bytes.
    pub fn split(&mut self, packet: &[u8], code: Code) -> Option<Vec<Vec<u8>>> {
        let packet_len = u16::try_from(packet.len()).ok().filter(|len| *len > 0)?;
        let len = usize::from(code.fragment_len(packet_len));
        let needed = usize::from(code.needed());
        let mut fragments = Vec::with_capacity(usize::from(code.total()));
        // A packet that is short for its code ends before the last originals, which are padding.
        for start in (0..needed).map(|index| index * len) {
            let rest = packet.get(start..).unwrap_or_default();
            let mut original = rest[..rest.len().min(len)].to_vec();
            original.resize(len, 0);
            fragments.push(original);
        }
        if code.recovery() > 0 {
            let recovery = self.recovery(&fragments, code.recovery().into())?;
            fragments.extend(recovery);
        }
        Some(fragments)
    }

    /// The packet of `packet_len` bytes that the first [`Code::needed`] of `fragments` restore.
    /// `None` if there are fewer, if one is there twice, or if one has a wrong length or index.
    pub fn restore<T: AsRef<[u8]>>(
        &mut self,
        fragments: &[Fragment<T>],
        code: Code,
        packet_len: u16,
    ) -> Option<Vec<u8>> {
        let len = usize::from(code.fragment_len(packet_len));
        let needed = usize::from(code.needed());
        let mut given: [Option<&[u8]>; PathSet::CAPACITY as usize] =
            [None; PathSet::CAPACITY as usize];
        for fragment in fragments.get(..needed)? {
            let bytes = fragment.payload.as_ref();
            let is_known = fragment.index < code.total();
            let slot = given.get_mut(usize::from(fragment.index))?;
            if !is_known || bytes.len() != len || slot.replace(bytes).is_some() {
                return None;
            }
        }
        let (originals, recovery) = given.split_at(needed);
        let mut packet = Vec::with_capacity(needed * len);
        if originals.iter().all(Option::is_some) {
            for original in originals.iter().flatten() {
                packet.extend_from_slice(original);
            }
        } else if code.recovery() == 1 {
            let received: Vec<&[u8]> = given.iter().flatten().copied().collect();
            let missing = self.recovery(&received, 1)?.pop()?;
            for original in originals {
                packet.extend_from_slice(original.unwrap_or(&missing));
            }
        } else {
            self.decode(originals, recovery, code, len, &mut packet)?;
        }
        packet.truncate(packet_len.into());
        Some(packet)
    }

    /// The recovery fragments of `originals`. If there is one, it is their parity, so that of a
    /// set of originals and their parity each is the recovery fragment of the others.
    fn recovery<T: AsRef<[u8]>>(&mut self, originals: &[T], count: usize) -> Option<Vec<Vec<u8>>> {
        let len = originals.first()?.as_ref().len();
        let needed = originals.len();
        let encoder = match &mut self.encoder {
            Some(encoder) => {
                encoder.reset(needed, count, len).ok()?;
                encoder
            }
            none => none.insert(ReedSolomonEncoder::new(needed, count, len).ok()?),
        };
        for original in originals {
            encoder.add_original_shard(original).ok()?;
        }
        let result = encoder.encode().ok()?;
        Some(result.recovery_iter().map(<[u8]>::to_vec).collect())
    }

    /// Appends the original fragments to `packet`, restored where they are missing.
    fn decode(
        &mut self,
        originals: &[Option<&[u8]>],
        recovery: &[Option<&[u8]>],
        code: Code,
        len: usize,
        packet: &mut Vec<u8>,
    ) -> Option<()> {
        let (needed, count) = (code.needed().into(), code.recovery().into());
        let decoder = match &mut self.decoder {
            Some(decoder) => {
                decoder.reset(needed, count, len).ok()?;
                decoder
            }
            none => none.insert(ReedSolomonDecoder::new(needed, count, len).ok()?),
        };
        for (index, original) in originals.iter().enumerate() {
            if let Some(bytes) = original {
                decoder.add_original_shard(index, bytes).ok()?;
            }
        }
        for (index, fragment) in recovery.iter().enumerate() {
            if let Some(bytes) = fragment {
                decoder.add_recovery_shard(index, bytes).ok()?;
            }
        }
        let restored = decoder.decode().ok()?;
        for (index, original) in originals.iter().enumerate() {
            packet.extend_from_slice(original.or_else(|| restored.restored_original(index))?);
        }
        Some(())
    }
}
