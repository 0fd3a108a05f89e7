//! Packet metadata for policies: kind, flow, size, ECN field and DSCP, never the payload.

mod dscp;
mod ecn;
mod parse;
mod traffic_class;

pub use dscp::{Dscp, ParseDscpError};
pub use ecn::{ecn, mark_ce, set_ecn};
pub use parse::{NotIp, is_tcp, parse};
pub use traffic_class::{TrafficClass, traffic_class};

use crate::class::AssignedClass;

/// The kind of a packet, as path policies distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Kind {
    /// A TCP segment without payload, SYN, FIN or RST: an acknowledgement.
    PureAck,
    /// A TCP segment with SYN, FIN or RST; duplicated like an ACK, because the connection waits for
    /// it.
    Control,
    /// A TCP segment with payload.
    Data,
    /// Any other IP packet: other protocols, fragments and malformed TCP headers. Treated like
    /// data; all fragments of a datagram belong to one flow.
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
    /// Not ECN-capable transport.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint ECT(1).
    Ect1,
    /// ECN-capable transport, codepoint ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// A flow identifier, the same for all packets of one connection in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowId(pub u64);

/// The metadata of a packet for policies.
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
    /// The DSCP; absent from recordings if it is the default.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Dscp::is_default")
    )]
    pub dscp: Dscp,
    /// The source and the destination port of TCP or UDP; `None` for other protocols and for
    /// fragments. Absent from recordings without classes.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub ports: Option<[u16; 2]>,
    /// The class; the endpoint assigns it ([`crate::class`]).
    #[cfg_attr(feature = "serde", serde(skip))]
    pub class: Option<AssignedClass>,
}

/// The header fields of a packet by which classes select it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PacketFields {
    /// The DSCP.
    pub dscp: Dscp,
    /// The protocol number of the payload.
    pub protocol: u8,
    /// The source and the destination port of TCP or UDP; `None` for other protocols and for
    /// fragments.
    pub ports: Option<[u16; 2]>,
}

/// The protocol number of UDP (RFC 768).
const UDP: u8 = 17;

impl PacketMeta {
    /// A UDP datagram of `size` bytes over IPv4, for sources that make no bytes: of the flow 0,
    /// without ports, not ECN-capable, and in no class.
    #[must_use]
    pub const fn udp(size: u32) -> Self {
        Self {
            version: IpVersion::V4,
            protocol: UDP,
            flow: FlowId(0),
            kind: Kind::Opaque,
            size,
            ecn: Ecn::NotEct,
            dscp: Dscp::DEFAULT,
            ports: None,
            class: None,
        }
    }

    /// The fields by which classes select the packet.
    #[must_use]
    pub const fn fields(&self) -> PacketFields {
        PacketFields {
            dscp: self.dscp,
            protocol: self.protocol,
            ports: self.ports,
        }
    }
}
