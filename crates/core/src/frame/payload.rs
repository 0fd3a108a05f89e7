//! The payload of frames: the bytes of a packet, or its stand-in in simulation.

use alloc::vec;
use alloc::vec::Vec;

use crate::fragment::{self, Code, Fragment};
use crate::packet::{self, Ecn, FlowId, PacketFields, TrafficClass};

/// Anything with a length in bytes that a link can carry or an endpoint can send.
#[expect(
    clippy::len_without_is_empty,
    reason = "a payload of zero bytes is as good as any other"
)]
pub trait Payload: Clone {
    /// The length in bytes.
    fn len(&self) -> usize;

    /// The ECN field of its IP header (RFC 3168); a payload without one is not ECN-capable.
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// The traffic class of its IP header; by default its DSCP is 0.
    #[inline]
    fn traffic_class(&self) -> TrafficClass {
        TrafficClass {
            ecn: self.ecn(),
            ..TrafficClass::DEFAULT
        }
    }

    /// The flow that it belongs to: each flow is marked, and queued where a link has a queue for
    /// each, separately. The default is one flow for all.
    #[inline]
    fn flow(&self) -> FlowId {
        FlowId::default()
    }

    /// Whether it is a TCP segment or a fragment of one; by default it is not.
    #[inline]
    fn is_tcp(&self) -> bool {
        false
    }

    /// The header fields by which classes select it ([`crate::class`]); by default it has none and
    /// is in no class.
    #[inline]
    fn fields(&self) -> Option<PacketFields> {
        None
    }

    /// Sets the ECN field to CE, as a queue does instead of a drop; a payload that is not
    /// ECN-capable does not change.
    #[inline]
    fn mark_ce(&mut self) {}

    /// Splits it into the fragments of `code`, in their order; `None` if it cannot be split. By
    /// default, as in simulation, each of them stands for the whole.
    fn split(&self, code: Code) -> Option<Vec<Self>> {
        Some(vec![self.clone(); code.total().into()])
    }

    /// The payload of `packet_len` bytes that fragments of `code` restore, of which there are
    /// enough, in the order of their arrival; `None` if they do not. By default, as in simulation,
    /// the last of them stands for the whole.
    #[must_use]
    fn restore(mut fragments: Vec<Fragment<Self>>, _code: Code, _packet_len: u16) -> Option<Self> {
        fragments.pop().map(|fragment| fragment.payload)
    }
}

impl Payload for Vec<u8> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn ecn(&self) -> Ecn {
        packet::ecn(self)
    }

    fn traffic_class(&self) -> TrafficClass {
        packet::traffic_class(self)
    }

    fn flow(&self) -> FlowId {
        flow_of(self)
    }

    fn is_tcp(&self) -> bool {
        packet::is_tcp(self)
    }

    fn fields(&self) -> Option<PacketFields> {
        fields_of(self)
    }

    fn mark_ce(&mut self) {
        packet::mark_ce(self);
    }

    fn split(&self, code: Code) -> Option<Vec<Self>> {
        fragment::split(self, code)
    }

    fn restore(fragments: Vec<Fragment<Self>>, code: Code, packet_len: u16) -> Option<Self> {
        fragment::restore(&fragments, code, packet_len)
    }
}

#[cfg(feature = "bytes")]
impl Payload for bytes::Bytes {
    fn len(&self) -> usize {
        bytes::Bytes::len(self)
    }

    fn ecn(&self) -> Ecn {
        packet::ecn(self)
    }

    fn traffic_class(&self) -> TrafficClass {
        packet::traffic_class(self)
    }

    fn flow(&self) -> FlowId {
        flow_of(self)
    }

    fn is_tcp(&self) -> bool {
        packet::is_tcp(self)
    }

    fn fields(&self) -> Option<PacketFields> {
        fields_of(self)
    }

    fn mark_ce(&mut self) {
        // Copied only if the bytes are shared.
        let mut bytes = bytes::BytesMut::from(core::mem::take(self));
        packet::mark_ce(&mut bytes);
        *self = bytes.freeze();
    }

    fn split(&self, code: Code) -> Option<Vec<Self>> {
        let fragments = fragment::split(self, code)?;
        Some(fragments.into_iter().map(Self::from).collect())
    }

    fn restore(fragments: Vec<Fragment<Self>>, code: Code, packet_len: u16) -> Option<Self> {
        fragment::restore(&fragments, code, packet_len).map(Self::from)
    }
}

/// The fields of an IP packet by which classes select it.
fn fields_of(bytes: &[u8]) -> Option<PacketFields> {
    packet::parse(bytes).ok().map(|meta| meta.fields())
}

/// The flow of an IP packet; other bytes are one flow.
fn flow_of(bytes: &[u8]) -> FlowId {
    packet::parse(bytes).map_or(FlowId::default(), |meta| meta.flow)
}
