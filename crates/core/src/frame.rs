//! The frames that two endpoints exchange inside the seal.
//!
//! The types are generic over the payload: a compact simulated segment, or the bytes of an IP
//! packet. [`crate::wire`] defines their wire format.

mod payload;

pub use payload::Payload;

use alloc::boxed::Box;

use crate::fragment::FragmentHeader;
use crate::packet::{Ecn, TrafficClass};
use crate::repair::Report;
use crate::spacing;
use crate::time::Time;

/// One of the paths between two endpoints, by its position in their configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathId(pub u8);

impl PathId {
    /// The position as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of path switches of a direction; comparisons of older epochs do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch(pub u32);

impl Epoch {
    /// The epoch that the next switch opens.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Length of a frame's header in bytes ([`crate::wire`]).
pub const HEADER_LEN: u32 = 8;
/// The bytes that the session's seal adds to a frame: type, receiver index, counter, tag.
pub const SEAL_LEN: u32 = 24;
/// Length of the IP and UDP headers of an underlay over IPv4 in bytes.
pub const OVER_IPV4: u32 = 28;
/// Length of the IP and UDP headers of an underlay over IPv6 in bytes.
pub const OVER_IPV6: u32 = 48;

/// Length of a probe's body, and of the leading packet of a pair, in bytes.
pub const PROBE_LEN: u16 = 2;
/// Length of a switch frame's body in bytes: that of a probe, which sizes both.
pub const SWITCH_LEN: u16 = PROBE_LEN;
/// Length of the body of a frame that closes a path in bytes: that of a probe, which sizes both.
pub const PATH_CLOSED_LEN: u16 = PROBE_LEN;
/// Length of the body of a heartbeat and of its answer in bytes, unless it is padded: that of a
/// probe, which sizes all three.
pub const HEARTBEAT_LEN: u16 = PROBE_LEN;
/// The bytes before a fragment in its frame.
pub const FRAGMENT_HEADER_LEN: u16 = 4;
/// The minimum length of a pair's body in bytes: the byte that distinguishes the leading packet
/// from the trailing one.
pub const PAIR_MIN: u16 = 1;

/// The kinds of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum FrameKind {
    /// One IP packet.
    Data,
    /// A further copy of an IP packet, sent with the first.
    Copy,
    /// An IP packet that is sent again because it is missing.
    Repair,
    /// Stands for a data packet on an inactive path.
    Probe,
    /// One half of a packet pair.
    Pair,
    /// A request to switch the active path.
    Switch,
    /// Requests an answer on the same path.
    Heartbeat,
    /// The answer to a heartbeat.
    HeartbeatReply,
    /// A report of the packets that have arrived.
    Report,
    /// A request to send nothing on a path.
    PathClosed,
    /// A fragment of an IP packet.
    Fragment,
    /// A message of packet spacing.
    Spacing,
}

impl FrameKind {
    /// Whether such a frame carries a packet of an application, or a fragment of one.
    #[must_use]
    pub const fn carries_packet(self) -> bool {
        matches!(
            self,
            Self::Data | Self::Copy | Self::Repair | Self::Fragment
        )
    }
}

/// The purpose of a transmission of a packet whose arrival is reported ([`crate::repair`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Attempt {
    /// The first transmission.
    First,
    /// A copy, sent with the first.
    Copy,
    /// Sent again because it is missing.
    Repair,
}

/// The purpose of a heartbeat; each purpose numbers its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Purpose {
    /// To detect whether the path is live ([`crate::liveness`]).
    Liveness,
    /// To measure the path for the policy ([`crate::policy::Action::Heartbeat`]).
    Policy,
    /// To discover the path MTU ([`crate::pmtu`]).
    Size {
        /// Length of the body in bytes, at least [`HEARTBEAT_LEN`]; the rest is padding.
        len: u16,
    },
}

impl Purpose {
    /// The length of the body of such a heartbeat in bytes.
    #[must_use]
    pub const fn body_len(self) -> u16 {
        match self {
            Self::Liveness | Self::Policy => HEARTBEAT_LEN,
            Self::Size { len } => len,
        }
    }

    /// The purpose in the answer, which is never padded: it must also cross a narrower return path.
    #[must_use]
    pub const fn answered(self) -> Self {
        match self {
            Self::Size { .. } => Self::Size { len: HEARTBEAT_LEN },
            other => other,
        }
    }
}

/// The sizes of frames on the wire: the packet sizes of a simulation, or those with the outer
/// headers, seal and frame header of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Encapsulation {
    /// Bytes that a frame adds to the packet that it carries or imitates.
    pub data: u32,
    /// Size of a probe, of the leading packet of a pair, of a switch frame, of a heartbeat and of
    /// its answer, and of a frame that closes a path, in bytes.
    pub probe: u32,
}

impl Encapsulation {
    /// The sizes of the PPD paper (section 3.3): data packets as they are, probes of 40 bytes.
    pub const PAPER: Self = Self { data: 0, probe: 40 };

    /// The sizes of a deployment over IP and UDP headers of `underlay` bytes ([`OVER_IPV4`] or
    /// [`OVER_IPV6`]): those, the seal and the frame header around every body.
    #[must_use]
    pub const fn deployed(underlay: u32) -> Self {
        let data = underlay + SEAL_LEN + HEADER_LEN;
        Self {
            data,
            probe: data + PROBE_LEN as u32,
        }
    }

    /// The size of a frame with this body on the wire, in bytes.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an IP packet has at most 64 KiB"
    )]
    pub fn size<P: Payload>(&self, body: &Body<P>) -> u32 {
        match body {
            Body::Data(payload) | Body::Reported { payload, .. } => {
                payload.len() as u32 + self.data
            }
            Body::Report(_) | Body::Fragment { .. } | Body::Spacing(_) => {
                body.len() as u32 + self.data
            }
            Body::Pair {
                trailing: true,
                len,
            } => u32::from(*len) + self.data,
            Body::Probe { .. }
            | Body::Pair { .. }
            | Body::Switch { .. }
            | Body::PathClosed { .. } => self.probe,
            Body::Heartbeat(purpose) | Body::HeartbeatReply(purpose) => {
                self.probe + u32::from(purpose.body_len().saturating_sub(HEARTBEAT_LEN))
            }
        }
    }
}

/// A frame on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame<P> {
    /// The path it was sent on.
    pub path: PathId,
    /// The sender's epoch; in a switch frame the epoch that the switch opens.
    pub epoch: Epoch,
    /// Data and fragment: the data sequence, by which copies combine. Probe: that of the data
    /// packet it stands for. Pair: the number of the pair on its path. Switch: the number of the
    /// repetition. Heartbeat: its number among those of its path and purpose; its answer repeats
    /// it. Report: its number. Closed path: the number of the repetition. Spacing: 0.
    pub sequence: u64,
    /// The time at which it was sent, by the sender's clock.
    pub sent: Time,
    /// The body.
    pub body: Body<P>,
}

impl<P> Frame<P> {
    /// A frame with the same epoch, sequence and send time, on `path`, carrying `body`.
    #[must_use]
    pub fn carrying<Q>(&self, path: PathId, body: Body<Q>) -> Frame<Q> {
        Frame {
            path,
            epoch: self.epoch,
            sequence: self.sequence,
            sent: self.sent,
            body,
        }
    }
}

/// The body of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Body<P> {
    /// One IP packet.
    Data(P),
    /// One IP packet whose arrival the receiver reports ([`crate::repair`]).
    Reported {
        /// The packet.
        payload: P,
        /// The purpose of the transmission.
        attempt: Attempt,
    },
    /// Stands, on an inactive path, for a data packet of `data_len` bytes.
    Probe {
        /// Length of the IP packet that the probe stands for, in bytes.
        data_len: u16,
    },
    /// One of two packets sent back to back to measure delta T (PPD paper, 3.3): the small one
    /// first.
    Pair {
        /// False for the leading, probe-sized packet, true for the trailing, data-sized one.
        trailing: bool,
        /// Length of the body in bytes, that of the packet it imitates; at least [`PAIR_MIN`].
        len: u16,
    },
    /// Requests that the peer sends its data on path `to` from now on.
    Switch {
        /// The path to become active.
        to: PathId,
    },
    /// Requests an immediate answer on the same path.
    Heartbeat(Purpose),
    /// The answer to a heartbeat.
    HeartbeatReply(Purpose),
    /// A report of the packets that have arrived until the send time of the frame.
    Report(Box<Report>),
    /// Requests that the peer sends nothing on `path` until a later frame arrives on it: its quota
    /// is used up ([`crate::metering`]).
    PathClosed {
        /// The path.
        path: PathId,
    },
    /// One of the fragments of an IP packet ([`crate::fragment`]).
    Fragment {
        /// Its description.
        header: FragmentHeader,
        /// The fragment.
        payload: P,
    },
    /// A message between the sender of spaced packets and their receiver ([`crate::spacing`]): a
    /// feedback, a ping, a pong or the round-trip time. The packets themselves are data.
    Spacing(Box<spacing::Message>),
}

impl<P> Body<P> {
    /// The IP packet in it, if it contains a whole one.
    #[must_use]
    pub const fn payload(&self) -> Option<&P> {
        match self {
            Body::Data(payload) | Body::Reported { payload, .. } => Some(payload),
            _ => None,
        }
    }

    /// The same body with its packet or fragment, if any, converted by `convert`.
    #[must_use]
    pub fn map_ref<Q>(&self, convert: impl FnOnce(&P) -> Q) -> Body<Q> {
        match self {
            Body::Data(payload) => Body::Data(convert(payload)),
            Body::Reported { payload, attempt } => Body::Reported {
                payload: convert(payload),
                attempt: *attempt,
            },
            Body::Probe { data_len } => Body::Probe {
                data_len: *data_len,
            },
            Body::Pair { trailing, len } => Body::Pair {
                trailing: *trailing,
                len: *len,
            },
            Body::Switch { to } => Body::Switch { to: *to },
            Body::Heartbeat(purpose) => Body::Heartbeat(*purpose),
            Body::HeartbeatReply(purpose) => Body::HeartbeatReply(*purpose),
            Body::Report(report) => Body::Report(report.clone()),
            Body::PathClosed { path } => Body::PathClosed { path: *path },
            Body::Spacing(message) => Body::Spacing(message.clone()),
            Body::Fragment { header, payload } => Body::Fragment {
                header: *header,
                payload: convert(payload),
            },
        }
    }
}

impl<P: Payload> Body<P> {
    /// The number of bytes after the frame header.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a body is what it is, empty or not"
    )]
    pub fn len(&self) -> usize {
        match self {
            Body::Data(payload) | Body::Reported { payload, .. } => payload.len(),
            Body::Report(report) => report.len(),
            Body::Spacing(message) => message.len(),
            Body::Probe { .. } => PROBE_LEN as usize,
            Body::Pair { len, .. } => *len as usize,
            Body::Switch { .. } => SWITCH_LEN as usize,
            Body::PathClosed { .. } => PATH_CLOSED_LEN as usize,
            Body::Fragment { header, .. } => {
                usize::from(FRAGMENT_HEADER_LEN) + usize::from(header.fragment_len())
            }
            Body::Heartbeat(purpose) | Body::HeartbeatReply(purpose) => purpose.body_len() as usize,
        }
    }

    /// The kind of the body.
    #[must_use]
    pub const fn kind(&self) -> FrameKind {
        match self {
            Body::Data(_) => FrameKind::Data,
            Body::Reported { attempt, .. } => match attempt {
                Attempt::First => FrameKind::Data,
                Attempt::Copy => FrameKind::Copy,
                Attempt::Repair => FrameKind::Repair,
            },
            Body::Report(_) => FrameKind::Report,
            Body::Probe { .. } => FrameKind::Probe,
            Body::Pair { .. } => FrameKind::Pair,
            Body::Switch { .. } => FrameKind::Switch,
            Body::Heartbeat(_) => FrameKind::Heartbeat,
            Body::HeartbeatReply(_) => FrameKind::HeartbeatReply,
            Body::PathClosed { .. } => FrameKind::PathClosed,
            Body::Fragment { .. } => FrameKind::Fragment,
            Body::Spacing(_) => FrameKind::Spacing,
        }
    }

    /// The traffic class of its outer header: that of its packet (RFC 6040, normal mode), or the
    /// default if it contains none.
    #[inline]
    #[must_use]
    pub fn traffic_class(&self) -> TrafficClass {
        match self {
            Body::Data(payload) | Body::Reported { payload, .. } => payload.traffic_class(),
            Body::Fragment { header, .. } => header.traffic_class,
            _ => TrafficClass::DEFAULT,
        }
    }

    /// Marks the packet in it, or the fragment, as a queue does ([`Payload::mark_ce`]).
    #[inline]
    pub fn mark_ce(&mut self) {
        match self {
            Body::Data(payload) | Body::Reported { payload, .. } => payload.mark_ce(),
            Body::Fragment { header, .. } if header.traffic_class.ecn.is_capable() => {
                header.traffic_class.ecn = Ecn::Ce;
            }
            _ => {}
        }
    }
}
