//! Packets in flight, and what links and agents see of them.

use polypath_core::frame::Payload;
use polypath_core::multihomed::MultihomedFrame;
use polypath_core::packet::{Ecn, FlowId};
use polypath_core::time::Time;

use crate::route::Cursor;
use crate::tcp::Segment;

/// The content of a packet for the agent that receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    Segment(Segment),
    /// A datagram, by its number within its flow from 1.
    Datagram(u32),
    /// A frame of a multihomed flow: small enough to need no memory of its own.
    Multihomed(MultihomedFrame),
    /// A packet of another agent, with a payload that only the agent interprets.
    Agent(u32),
    /// The payload of an external packet, by its number, and the ECN field of its header.
    External(u32, Ecn),
}

impl PacketKind {
    #[inline]
    fn ecn(&self) -> Ecn {
        match self {
            Self::Segment(segment) => segment.ecn,
            Self::Datagram(_) | Self::Multihomed(_) | Self::Agent(_) => Ecn::NotEct,
            Self::External(_, ecn) => *ecn,
        }
    }

    #[inline]
    pub(crate) const fn is_external(&self) -> bool {
        matches!(self, Self::External(..))
    }

    pub(crate) fn mark_ce(&mut self) {
        match self {
            Self::Segment(segment) => segment.mark_ce(),
            Self::Datagram(_) | Self::Multihomed(_) | Self::Agent(_) => {}
            Self::External(_, ecn) => *ecn = Ecn::Ce,
        }
    }
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) cursor: Cursor,
    pub(crate) size: u32,
    /// The time at which it left its sender.
    pub(crate) sent: Time,
    pub(crate) kind: PacketKind,
}

/// A packet as links see it.
///
/// Three words: bytes written one by one and read together would stall the processor (store
/// forwarding).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPacket {
    number: u32,
    size: u32,
    /// Three flags, and above them the label of the flow ([`Cursor::label`]): two flows have the
    /// same one with a probability of 2^-29.
    flags: u32,
}

impl LinkPacket {
    const CAPABLE: u32 = 1;
    const MARKED: u32 = 2;
    /// An external packet on the last link of its route.
    const LEAVES: u32 = 4;
    const FLAG_BITS: u32 = 3;

    #[inline]
    pub(crate) fn new(number: u32, packet: &Packet) -> Self {
        let mut flags = packet.cursor.label() << Self::FLAG_BITS;
        if packet.kind.ecn().is_capable() {
            flags |= Self::CAPABLE;
        }
        if packet.kind.is_external() && packet.cursor.is_at_end() {
            flags |= Self::LEAVES;
        }
        Self {
            number,
            size: packet.size,
            flags,
        }
    }
}

impl LinkPacket {
    /// The number of the packet among those in flight.
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.number
    }

    /// Whether a queue marked it.
    #[inline]
    pub(crate) const fn is_marked(self) -> bool {
        self.flags & Self::MARKED != 0
    }

    /// Whether the packet leaves the network at the end of this link.
    #[inline]
    pub(crate) const fn leaves(self) -> bool {
        self.flags & Self::LEAVES != 0
    }
}

impl Payload for LinkPacket {
    #[inline]
    fn len(&self) -> usize {
        self.size as usize
    }

    /// A link needs only whether a packet is ECN-capable: ECT(0) stands for both capable
    /// codepoints.
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.flags & (Self::CAPABLE | Self::MARKED) {
            0 => Ecn::NotEct,
            Self::CAPABLE => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    #[inline]
    fn flow(&self) -> FlowId {
        FlowId(u64::from(self.flags >> Self::FLAG_BITS))
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.flags |= Self::MARKED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Routes, Terminal};

    #[test]
    fn packets_are_small() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    #[test]
    fn links_see_a_flow_for_each_route_and_connection_whatever_the_flags() {
        let mut routes = Routes::default();
        let [one, other] = [0, 1].map(|link| routes.add([link], Terminal::Sink(0)));
        let packet = |cursor| Packet {
            cursor,
            size: 1000,
            sent: Time::ZERO,
            kind: PacketKind::External(0, Ecn::Ect0),
        };
        let flow = |cursor| LinkPacket::new(7, &packet(cursor)).flow();
        let cursors = [
            one,
            one.of_connection(1),
            one.of_connection(2),
            other.of_connection(1),
            one.of_flow(FlowId(1 << 40)),
        ];
        let mut flows = cursors.map(flow).to_vec();
        flows.sort_unstable();
        flows.dedup();
        assert_eq!(flows.len(), cursors.len());
        let mut marked = LinkPacket::new(7, &packet(cursors[3]));
        marked.mark_ce();
        assert_eq!((marked.flow(), marked.ecn()), (flow(cursors[3]), Ecn::Ce));
        let mut advanced = cursors[3];
        routes.advance(&mut advanced);
        assert_eq!(flow(advanced), flow(cursors[3]));
    }
}
