//! Fragments: packets split over several paths, of which some restore each packet
//! (diversity-routing paper, I, footnote 2).
//!
//! An (n, k) erasure code turns a packet into n fragments, one for each path, each of 1/k of its
//! length. Any k of them restore the packet. Copies are the case k = 1, for which there is no code:
//! each path carries the packet itself.
//!
//! The first k fragments are the packet, cut into pieces ("original"); the others are computed from
//! them ("recovery"), the first as their parity. [`crate::wire`] defines how a fragment travels.
//!
//! Libraries were tried first. Those for thousands of fragments transform a field of 65 536
//! elements to restore a packet, which takes them 0.2 ms, and those for a few had no release for
//! years. The code is short, and its coefficients are part of the protocol.

mod erasure;
mod field;
mod reassembly;

pub(crate) use erasure::{restore, split};
pub use reassembly::{FragmentStatistics, MAX_INCOMPLETE};
pub(crate) use reassembly::{Reassembly, ReassemblyOutcome};

use crate::packet::TrafficClass;
use crate::policy::PathSet;

/// An (n, k) erasure code: the number of fragments of a packet, and of those that restore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "CodeCounts", into = "CodeCounts"))]
pub struct Code {
    needed: u8,
    total: u8,
}

/// The numbers of a [`Code`] that are not checked yet.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeCounts {
    needed: u8,
    total: u8,
}

/// The error of numbers that no [`Code`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no code restores a packet from {needed} of {total} fragments")]
pub struct CodeError {
    needed: u8,
    total: u8,
}

impl Code {
    /// The code of `total` fragments (n), of which any `needed` (k) restore the packet.
    ///
    /// # Errors
    /// Unless `needed` is from 2 to `total`, and `total` at most [`PathSet::CAPACITY`].
    pub const fn new(needed: u8, total: u8) -> Result<Self, CodeError> {
        if needed < 2 || needed > total || total > PathSet::CAPACITY {
            return Err(CodeError { needed, total });
        }
        Ok(Self { needed, total })
    }

    /// The number of fragments that restore a packet (k).
    #[must_use]
    pub const fn needed(self) -> u8 {
        self.needed
    }

    /// The number of fragments of a packet (n).
    #[must_use]
    pub const fn total(self) -> u8 {
        self.total
    }

    /// The number of recovery fragments (n - k).
    #[must_use]
    pub const fn recovery(self) -> u8 {
        self.total - self.needed
    }

    /// The length of each fragment of a packet of `packet_len` bytes, in bytes. The last original
    /// fragment is padded with zeros to it.
    #[must_use]
    pub const fn fragment_len(self, packet_len: u16) -> u16 {
        packet_len.div_ceil(self.needed as u16)
    }
}

#[cfg(feature = "serde")]
impl TryFrom<CodeCounts> for Code {
    type Error = CodeError;

    fn try_from(CodeCounts { needed, total }: CodeCounts) -> Result<Self, CodeError> {
        Self::new(needed, total)
    }
}

#[cfg(feature = "serde")]
impl From<Code> for CodeCounts {
    fn from(Code { needed, total }: Code) -> Self {
        Self { needed, total }
    }
}

/// The description of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FragmentHeader {
    /// The code of the packet.
    pub code: Code,
    /// The position among the fragments of the packet, below [`Code::total`]: the originals first.
    pub index: u8,
    /// The length of the packet in bytes.
    pub packet_len: u16,
    /// The traffic class of the outer header: that of the packet when the fragment is sent, that
    /// of its datagram when it arrives. It is not in the frame.
    pub traffic_class: TrafficClass,
}

impl FragmentHeader {
    /// The length of the fragment in bytes.
    #[must_use]
    pub const fn fragment_len(&self) -> u16 {
        self.code.fragment_len(self.packet_len)
    }
}

/// A fragment of a packet, by its position among all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment<P> {
    /// The position, below [`Code::total`].
    pub index: u8,
    /// Its bytes, or in simulation what stands for them.
    pub payload: P,
}

#[cfg(test)]
mod tests;
