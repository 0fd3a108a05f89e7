//! Packets in flight, and what links and agents see of them.

use polypath_core::frame::Payload;
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
    /// A packet of an agent, with a payload that only the agent interprets.
    Agent(u32),
    /// The payload of an external packet, by its number, and the ECN field of its header.
    External(u32, Ecn),
}

impl PacketKind {
    #[inline]
    fn ecn(&self) -> Ecn {
        match self {
            Self::Segment(segment) => segment.ecn,
            Self::Datagram(_) | Self::Agent(_) => Ecn::NotEct,
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
            Self::Datagram(_) | Self::Agent(_) => {}
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
    pub(crate) flow: FlowLabel,
    pub(crate) kind: PacketKind,
}

/// The flow of a packet for links: a number that its route and its connection determine, in the
/// bits that [`LinkPacket`] has for it.
///
/// Two flows have the same number with a probability of 2^-29.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowLabel(u32);

impl FlowLabel {
    /// Odd, so that each connection of a route has a label of its own (2^32 / golden ratio).
    const SPREAD: u32 = 0x9e37_79b1;

    /// The label of a TCP connection, or of 0 for datagrams, over a route.
    #[inline]
    pub(crate) const fn new(route: Cursor, connection: u32) -> Self {
        let number = route
            .place()
            .wrapping_add(connection.wrapping_mul(Self::SPREAD));
        Self(number << LinkPacket::FLAG_BITS)
    }

    /// The label of a flow from outside over a route.
    #[expect(clippy::cast_possible_truncation, reason = "both halves count")]
    pub(crate) const fn external(route: Cursor, flow: FlowId) -> Self {
        Self::new(route, (flow.0 ^ flow.0 >> 32) as u32)
    }
}

/// A packet as links see it.
///
/// Three words: bytes written one by one and read together would stall the processor (store
/// forwarding).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPacket {
    number: u32,
    size: u32,
    /// Three flags, and above them the label of the flow.
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
        let mut flags = packet.flow.0;
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
    fn links_see_a_flow_for_each_route_and_connection_whatever_the_flags() {
        let mut routes = Routes::default();
        let [one, other] = [0, 1].map(|link| routes.add([link], Terminal::Sink(0)));
        let packet = |flow| Packet {
            cursor: one,
            size: 1000,
            sent: Time::ZERO,
            flow,
            kind: PacketKind::External(0, Ecn::Ect0),
        };
        let flow = |label| LinkPacket::new(7, &packet(label)).flow();
        let far = FlowId(1 << 40);
        let labels = [
            FlowLabel::new(one, 0),
            FlowLabel::new(one, 1),
            FlowLabel::new(one, 2),
            FlowLabel::new(other, 1),
            FlowLabel::external(one, far),
        ];
        let mut flows = labels.map(flow).to_vec();
        flows.sort_unstable();
        flows.dedup();
        assert_eq!(flows.len(), labels.len());
        let mut marked = LinkPacket::new(7, &packet(labels[3]));
        marked.mark_ce();
        assert_eq!((marked.flow(), marked.ecn()), (flow(labels[3]), Ecn::Ce));
    }
}
