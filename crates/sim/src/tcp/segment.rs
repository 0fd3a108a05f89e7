//! A TCP segment of a simulated host.

use polypath_core::frame::Payload;
use polypath_core::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketFields, PacketMeta};

use super::ranges::Range;

const TCP: u8 = 6;
/// A SACK block on the wire: two sequence numbers (RFC 2018, 3).
const SACK_BLOCK_SIZE: u32 = 8;

/// The type of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SegmentKind {
    /// The client opens a connection.
    Syn,
    /// The server accepts the SYN.
    SynAck,
    /// The client requests the file.
    Request,
    /// The client aborts the connection.
    Reset,
    /// A segment of the file, `number` from 0.
    Data,
    /// Everything before segment `number` has arrived.
    Ack,
    /// An ACK of a receiver that accepts no data beyond the advertised window: if that is empty,
    /// the connection ends.
    LastAck,
}

impl SegmentKind {
    /// Whether it carries an acknowledgment.
    #[must_use]
    pub const fn is_ack(self) -> bool {
        matches!(self, Self::Ack | Self::LastAck)
    }
}

/// A segment, small enough to be copied at every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The connection, numbered from 1 in the order in which a pair of hosts opens them.
    pub connection: u32,
    /// The sequence number of data, or the acknowledged number; 0 otherwise.
    pub number: u32,
    /// The size on the wire in bytes.
    pub size: u32,
    /// The advertised window of an ACK, SYN or request in segments: data before `number + window`
    /// may be sent; 0 in data.
    pub window: u32,
    /// The SACK blocks of an ACK.
    pub sack: SackBlocks,
    /// Its type.
    pub kind: SegmentKind,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// The flags of its TCP header that ECN added.
    pub ecn_flags: EcnFlags,
}

/// The flags that ECN added to the TCP header (RFC 3168, 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFlags {
    /// ECN-Echo: marked data arrived.
    pub echo: bool,
    /// Congestion window reduced: the sender has reacted.
    pub reduced: bool,
}

/// Up to three SACK blocks, most recent first, relative to the acknowledged number (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([(u16, u16); SackBlocks::MOST]);

impl SackBlocks {
    /// The number of SACK blocks that fit into the options with a timestamp (RFC 2018, 3).
    pub const MOST: usize = 3;

    /// Appends a block, unless all places are taken. A block that starts 65 535
    /// segments or more beyond `acknowledged` is left out; a later ACK has it.
    pub fn push(&mut self, acknowledged: u32, block: Range) {
        let relative = |number: u32| u16::try_from(number.checked_sub(acknowledged)?).ok();
        let free = self.0.iter_mut().find(|(_, end)| *end == 0);
        if let Some(free) = free
            && let (Some(start), Some(end)) = (relative(block.start), relative(block.end))
        {
            *free = (start, end);
        }
    }

    /// Whether there are no blocks.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0[0].1 == 0
    }

    /// The blocks, most recent first.
    pub fn iter(self, acknowledged: u32) -> impl Iterator<Item = Range> {
        let used = self.0.into_iter().take_while(|(_, end)| *end > 0);
        used.map(move |(start, end)| Range {
            start: acknowledged.saturating_add(u32::from(start)),
            end: acknowledged.saturating_add(u32::from(end)),
        })
    }

    /// The size of the blocks in a header, in bytes.
    #[must_use]
    pub fn size(self) -> u32 {
        self.0
            .iter()
            .map(|(_, end)| if *end > 0 { SACK_BLOCK_SIZE } else { 0 })
            .sum()
    }
}

impl Segment {
    /// A segment of `kind` without further fields.
    #[must_use]
    pub fn new(kind: SegmentKind, connection: u32, number: u32, size: u32) -> Self {
        Self {
            connection,
            number,
            size,
            window: 0,
            sack: SackBlocks::default(),
            kind,
            ecn: Ecn::NotEct,
            ecn_flags: EcnFlags::default(),
        }
    }

    /// The view of a path policy: a connection is a flow.
    #[must_use]
    pub fn meta(&self) -> PacketMeta {
        let kind = match self.kind {
            SegmentKind::Syn | SegmentKind::SynAck | SegmentKind::Reset => Kind::Control,
            SegmentKind::Request | SegmentKind::Data => Kind::Data,
            SegmentKind::Ack | SegmentKind::LastAck => Kind::PureAck,
        };
        PacketMeta {
            version: IpVersion::V4,
            protocol: TCP,
            flow: FlowId(u64::from(self.connection)),
            kind,
            size: self.size,
            ecn: self.ecn,
            dscp: Dscp::DEFAULT,
            ports: None,
            class: None,
        }
    }
}

impl Payload for Segment {
    fn is_tcp(&self) -> bool {
        true
    }

    fn fields(&self) -> Option<PacketFields> {
        Some(self.meta().fields())
    }

    fn flow(&self) -> FlowId {
        FlowId(u64::from(self.connection))
    }

    fn len(&self) -> usize {
        self.size as usize
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn mark_ce(&mut self) {
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_small() {
        assert!(size_of::<Segment>() <= 32);
    }

    #[test]
    fn blocks_are_relative_and_at_most_three() {
        let mut blocks = SackBlocks::default();
        let range = |start, end| Range { start, end };
        assert!(blocks.is_empty());
        blocks.push(100, range(100 + 65_535, 100 + 65_536));
        assert!(blocks.is_empty(), "too far for a block");
        for start in [130, 120, 110, 105] {
            blocks.push(100, range(start, start + 2));
        }
        let found: Vec<Range> = blocks.iter(100).collect();
        assert_eq!(found, [range(130, 132), range(120, 122), range(110, 112)]);
        assert_eq!(blocks.size(), 24);
    }
}
