//! A TCP segment of a simulated host.

use polypath_core::frame::Payload;
use polypath_core::packet::{Ecn, FlowId, IpVersion, Kind, PacketMeta};

const TCP: u8 = 6;

/// What a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SegmentKind {
    /// The client opens a connection.
    Syn,
    /// The server has taken the SYN.
    SynAck,
    /// The client asks for the file.
    Request,
    /// The client gives the connection up.
    Reset,
    /// A segment of the file, `number` from 0.
    Data,
    /// Everything before segment `number` has arrived.
    Ack,
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
    /// What it says.
    pub kind: SegmentKind,
}

impl Segment {
    /// What a path policy may know of it; connections are flows.
    #[must_use]
    pub fn meta(&self) -> PacketMeta {
        let kind = match self.kind {
            SegmentKind::Syn | SegmentKind::SynAck | SegmentKind::Reset => Kind::Control,
            SegmentKind::Request | SegmentKind::Data => Kind::Data,
            SegmentKind::Ack => Kind::PureAck,
        };
        PacketMeta {
            version: IpVersion::V4,
            protocol: TCP,
            flow: FlowId(u64::from(self.connection)),
            kind,
            size: self.size,
            ecn: Ecn::NotEct,
        }
    }
}

impl Payload for Segment {
    fn len(&self) -> usize {
        self.size as usize
    }
}
