//! The frames between a source and its receiver, and their wire format.

use crate::frame::PathId;
use crate::policy::Feedback;
use crate::time::Time;

/// The length of the header of a datagram in bytes; padding follows it. With the headers of IPv4
/// and UDP it is the ACK of 52 B of the delay-centric paper (III).
pub const HEADER_LEN: usize = 24;

/// The version of the wire format.
const VERSION: u8 = 1;
const DATA: u8 = 0;
const ACK: u8 = 1;
const HEARTBEAT: u8 = 2;
const REPLY: u8 = 3;

/// A frame between a source and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultihomedFrame {
    /// A datagram of the source.
    Data {
        /// Its path.
        path: PathId,
        /// Its number within its source, from 1.
        number: u32,
        /// Its send time by the clock of the source.
        sent: Time,
    },
    /// The acknowledgement of a datagram.
    Ack {
        /// The path of the datagram and of this answer.
        path: PathId,
        /// The number of the datagram.
        number: u32,
        /// The send time of the datagram, as it states it.
        sent: Time,
        /// The one-way delay of the datagram in whole microseconds modulo 2^32: its arrival by the
        /// clock of the receiver minus its send time by that of the source.
        delay_micros: u32,
    },
    /// A heartbeat.
    Heartbeat {
        /// Its path.
        path: PathId,
        /// Its number, by which the policy knows it.
        id: u64,
    },
    /// The answer to a heartbeat.
    Reply {
        /// The path of the heartbeat and of this answer.
        path: PathId,
        /// The number of the heartbeat.
        id: u64,
    },
}

impl MultihomedFrame {
    /// The answer of a receiver to a frame that arrived at `now`; `None` to an answer.
    #[must_use]
    pub fn answer(self, now: Time) -> Option<Self> {
        match self {
            Self::Data { path, number, sent } => Some(Self::Ack {
                path,
                number,
                sent,
                delay_micros: micros(now).wrapping_sub(micros(sent)),
            }),
            Self::Heartbeat { path, id } => Some(Self::Reply { path, id }),
            Self::Ack { .. } | Self::Reply { .. } => None,
        }
    }

    /// The feedback to a policy of an answer that arrived at `now`; `None` if this is no answer.
    #[must_use]
    pub fn feedback(self, now: Time) -> Option<Feedback> {
        match self {
            Self::Ack { path, sent, .. } => Some(Feedback::Acknowledged {
                path,
                rtt: now.since(sent),
            }),
            Self::Reply { path, id } => Some(Feedback::HeartbeatReply { path, id }),
            Self::Data { .. } | Self::Heartbeat { .. } => None,
        }
    }

    /// The path.
    #[must_use]
    pub const fn path(self) -> PathId {
        match self {
            Self::Data { path, .. }
            | Self::Ack { path, .. }
            | Self::Heartbeat { path, .. }
            | Self::Reply { path, .. } => path,
        }
    }
}

/// A frame on the wire: the header of a UDP datagram, whose padding gives it its size.
///
/// Big-endian: version (4 bits) and kind (4 bits), path, session (2 bytes), source (4), and then
/// the send time in nanoseconds (8), the number (4) and the delay in microseconds (4) of data and
/// ACKs, or the number of a heartbeat (8) and zeros (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultihomedDatagram {
    /// The run of the program: answers to an earlier one are ignored.
    pub session: u16,
    /// The number of the source among those of its program.
    pub source: u32,
    /// The frame.
    pub frame: MultihomedFrame,
}

/// The error of a datagram that is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MultihomedError {
    /// The datagram is shorter than its header.
    #[error("a datagram of {0} B is shorter than its header of {HEADER_LEN} B")]
    Short(usize),
    /// Another version of the wire format.
    #[error("version {0} of the wire format is not {VERSION}")]
    Version(u8),
    /// An unknown kind of frame.
    #[error("there is no frame of kind {0}")]
    Kind(u8),
}

impl MultihomedDatagram {
    /// The header.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        let kind = match self.frame {
            MultihomedFrame::Data { .. } => DATA,
            MultihomedFrame::Ack { .. } => ACK,
            MultihomedFrame::Heartbeat { .. } => HEARTBEAT,
            MultihomedFrame::Reply { .. } => REPLY,
        };
        bytes[0] = VERSION << 4 | kind;
        bytes[1] = self.frame.path().0;
        bytes[2..4].copy_from_slice(&self.session.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.source.to_be_bytes());
        let (first, number, delay) = match self.frame {
            MultihomedFrame::Data { number, sent, .. } => (sent.0, number, 0),
            MultihomedFrame::Ack {
                number,
                sent,
                delay_micros,
                ..
            } => (sent.0, number, delay_micros),
            MultihomedFrame::Heartbeat { id, .. } | MultihomedFrame::Reply { id, .. } => (id, 0, 0),
        };
        bytes[8..16].copy_from_slice(&first.to_be_bytes());
        bytes[16..20].copy_from_slice(&number.to_be_bytes());
        bytes[20..24].copy_from_slice(&delay.to_be_bytes());
        bytes
    }

    /// The frame of a received datagram.
    ///
    /// # Errors
    /// If it is too short, or has another version or an unknown kind.
    pub fn decode(bytes: &[u8]) -> Result<Self, MultihomedError> {
        let header: &[u8; HEADER_LEN] = bytes
            .first_chunk()
            .ok_or(MultihomedError::Short(bytes.len()))?;
        if header[0] >> 4 != VERSION {
            return Err(MultihomedError::Version(header[0] >> 4));
        }
        let (path, id) = (PathId(header[1]), u64_at(header, 8));
        let (number, sent) = (u32_at(header, 16), Time(id));
        let frame = match header[0] & 0xf {
            DATA => MultihomedFrame::Data { path, number, sent },
            ACK => MultihomedFrame::Ack {
                path,
                number,
                sent,
                delay_micros: u32_at(header, 20),
            },
            HEARTBEAT => MultihomedFrame::Heartbeat { path, id },
            REPLY => MultihomedFrame::Reply { path, id },
            kind => return Err(MultihomedError::Kind(kind)),
        };
        Ok(Self {
            session: u16::from_be_bytes([header[2], header[3]]),
            source: u32_at(header, 4),
            frame,
        })
    }
}

/// Microseconds modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "it is a remainder")]
const fn micros(at: Time) -> u32 {
    (at.0 / 1000) as u32
}

fn u32_at(bytes: &[u8; HEADER_LEN], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |field| u32::from_be_bytes(*field))
}

fn u64_at(bytes: &[u8; HEADER_LEN], at: usize) -> u64 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |field| u64::from_be_bytes(*field))
}
