//! What a policy may know of a packet: its kind, flow, size and marks, never its content.

mod ecn;
mod parse;

pub use ecn::{ecn, mark_ce};
pub use parse::{NotIp, parse};

/// What a packet is to a path policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Kind {
    /// A TCP segment without payload, SYN, FIN or RST: outside of attacks it acknowledges.
    PureAck,
    /// A TCP segment with SYN, FIN or RST: it is duplicated like an ACK, since all waits for it.
    Control,
    /// A TCP segment with payload.
    Data,
    /// Anything else that IP carries: other protocols, fragments, TCP headers that cannot be read. It
    /// travels like data, and the fragments of a datagram are of one flow.
    Opaque,
}

/// The IP version of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum IpVersion {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

/// The ECN field of an IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Ecn {
    /// The transport does not take marks.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint ECT(1).
    Ect1,
    /// ECN-capable transport, codepoint ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// A flow: the same for all packets of one connection in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowId(pub u64);

/// What a policy may know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PacketMeta {
    /// The IP version.
    pub version: IpVersion,
    /// The protocol number of the payload (6 is TCP).
    pub protocol: u8,
    /// The flow.
    pub flow: FlowId,
    /// The kind.
    pub kind: Kind,
    /// The length of the IP packet in bytes.
    pub size: u32,
    /// The ECN field.
    pub ecn: Ecn,
}
