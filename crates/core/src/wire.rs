//! The wire format of a frame inside the seal.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | kind: 0 data, 1 probe, 2 pair, 3 switch, 4 heartbeat, 5 heartbeat reply, 6 reported data, 7 a copy of it, 8 a repair of it, 9 report, 10 closed path, 11 fragment, 12 spacing |
//! | 1 | epoch modulo 2^8 |
//! | 3 | sequence modulo 2^24 |
//! | 3 | send time, microseconds by the sender's clock modulo 2^24 |
//! | rest | data, reported data, copy and repair: the IP packet; probe: 2 bytes, length of the packet it stands for; pair: 1 byte, 0 leading or 1 trailing, then padding; switch: 2 bytes, 0 and the path to become active; heartbeat and answer: 2 bytes, 0 and the purpose, 0 liveness, 1 policy or 2 size; for size then padding; report: below; closed path: 2 bytes, 0 and the path; fragment: below; spacing: a message of [`crate::spacing`] other than a packet |
//!
//! A report has these fields ([`crate::repair::Report`]):
//!
//! | bytes | field |
//! | --- | --- |
//! | 3 | base modulo 2^24 |
//! | 1 | number of paths |
//! | 10 for each path | path (1), send time of its newest frame in microseconds modulo 2^24 (3), age in microseconds (4), reordering in units of 100 microseconds (2) |
//! | rest, at most 512 | bitmap |
//!
//! A fragment has these fields ([`crate::fragment`]):
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | index, from 0: the originals, then the recovery fragments |
//! | 1 | k, the number of originals, at least 2 |
//! | 1 | n, the number of fragments |
//! | 1 | padding: the length of the k originals minus that of the packet |
//! | rest | the fragment |
//!
//! Numbers are big-endian. A frame in any other format is rejected. The path is not in the frame:
//! the nonce of its datagram authenticates it. [`Numbers`] finds the full numbers again.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::frame::{self, Attempt, Body, Epoch, Frame, PAIR_MIN, PathId, Purpose};
use crate::spacing::{self, Feedback, Message};
use crate::time::Time;
use crate::truncated::{self, truncate};

pub use numbers::Numbers;

mod fragment;
mod numbers;
mod report;

/// Length of the frame header in bytes.
pub const HEADER_LEN: usize = frame::HEADER_LEN as usize;

/// The error of bytes that are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Shorter than a header, or than its kind demands.
    #[error("a frame of {0} B is too short for its kind")]
    Short(usize),
    /// Longer than its kind allows.
    #[error("a frame of {0} B is too long for its kind")]
    Long(usize),
    /// No frame kind has this number.
    #[error("no frame is of kind {0}")]
    Kind(u8),
    /// A field has an undefined value.
    #[error("a byte of the body is {0}, which is undefined there")]
    Field(u8),
    /// No full number near those known has these lowest bits, or a reply is to nothing that was
    /// sent.
    #[error("the number {0} is none of this connection")]
    Number(u64),
}

/// Nanoseconds in the unit of a send time.
const MICROSECOND: u64 = 1_000;
/// The bits of a truncated epoch.
const EPOCH_BITS: u32 = 8;

/// Appends the frame to `to`. Its numbers are truncated.
pub fn encode(frame: &Frame<impl AsRef<[u8]>>, to: &mut Vec<u8>) {
    let kind = match &frame.body {
        Body::Data(_) => 0,
        Body::Probe { .. } => 1,
        Body::Pair { .. } => 2,
        Body::Switch { .. } => 3,
        Body::Heartbeat(_) => 4,
        Body::HeartbeatReply(_) => 5,
        Body::Reported { attempt, .. } => match attempt {
            Attempt::First => 6,
            Attempt::Copy => 7,
            Attempt::Repair => 8,
        },
        Body::Report(_) => 9,
        Body::PathClosed { .. } => 10,
        Body::Fragment { .. } => 11,
        Body::Spacing(_) => 12,
    };
    let [.., epoch] = frame.epoch.0.to_be_bytes();
    to.extend_from_slice(&[kind, epoch]);
    put_number(frame.sequence, to);
    put_number(frame.sent.0 / MICROSECOND, to);
    match &frame.body {
        Body::Data(packet)
        | Body::Reported {
            payload: packet, ..
        } => to.extend_from_slice(packet.as_ref()),
        Body::Report(report) => report::encode(report, to),
        Body::Spacing(message) => spacing::encode(message, to),
        Body::Fragment { header, payload } => fragment::encode(*header, payload.as_ref(), to),
        Body::Probe { data_len } => to.extend_from_slice(&data_len.to_be_bytes()),
        Body::Pair { trailing, len } => {
            to.push(u8::from(*trailing));
            to.resize(to.len() + usize::from(len.saturating_sub(PAIR_MIN)), 0);
        }
        Body::Switch { to: path } | Body::PathClosed { path } => {
            to.extend_from_slice(&[0, path.0]);
        }
        Body::Heartbeat(purpose) | Body::HeartbeatReply(purpose) => {
            let (number, len) = match purpose {
                Purpose::Liveness => (0, 0),
                Purpose::Policy => (1, 0),
                Purpose::Size { len } => (2, len.saturating_sub(frame::HEARTBEAT_LEN)),
            };
            to.extend_from_slice(&[0, number]);
            to.resize(to.len() + usize::from(len), 0);
        }
    }
}

/// Appends `number`, truncated.
fn put_number(number: u64, to: &mut Vec<u8>) {
    let [.., a, b, c] = truncate(number, truncated::BITS).to_be_bytes();
    to.extend_from_slice(&[a, b, c]);
}

/// Reads a truncated number.
const fn number(bytes: [u8; 3]) -> u64 {
    let [a, b, c] = bytes;
    u64::from_be_bytes([0, 0, 0, 0, 0, a, b, c])
}

/// Decodes a frame that arrived on `path`; its packet, if any, borrows from `bytes`. Its numbers
/// stay truncated, and its send time is in whole microseconds.
pub fn decode(path: PathId, bytes: &[u8]) -> Result<Frame<&[u8]>, WireError> {
    let short = || WireError::Short(bytes.len());
    let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or_else(short)?;
    let [kind, epoch, s0, s1, s2, t0, t1, t2] = *header;
    let body = match kind {
        0 if !rest.is_empty() => Body::Data(rest),
        1 => Body::Probe {
            data_len: u16::from_be_bytes(exactly(bytes, rest)?),
        },
        2 => decode_pair(bytes, rest)?,
        3 => Body::Switch {
            to: PathId(behind_zero(bytes, rest)?),
        },
        4 => Body::Heartbeat(decode_purpose(bytes, rest)?),
        5 => Body::HeartbeatReply(decode_purpose(bytes, rest)?),
        6..=8 if !rest.is_empty() => Body::Reported {
            payload: rest,
            attempt: match kind {
                6 => Attempt::First,
                7 => Attempt::Copy,
                _ => Attempt::Repair,
            },
        },
        9 => Body::Report(Box::new(report::decode(bytes, rest)?)),
        10 => Body::PathClosed {
            path: PathId(behind_zero(bytes, rest)?),
        },
        11 => fragment::decode(bytes, rest)?,
        12 => decode_spacing(bytes, rest)?,
        0 | 6..=8 => return Err(short()),
        _ => return Err(WireError::Kind(kind)),
    };
    Ok(Frame {
        path,
        epoch: Epoch(epoch.into()),
        sequence: number([s0, s1, s2]),
        sent: Time(number([t0, t1, t2]) * MICROSECOND),
        body,
    })
}

fn exactly<const N: usize>(bytes: &[u8], rest: &[u8]) -> Result<[u8; N], WireError> {
    rest.try_into().map_err(|_| {
        if rest.len() < N {
            WireError::Short(bytes.len())
        } else {
            WireError::Long(bytes.len())
        }
    })
}

fn behind_zero(bytes: &[u8], rest: &[u8]) -> Result<u8, WireError> {
    match exactly(bytes, rest)? {
        [0, value] => Ok(value),
        [other, _] => Err(WireError::Field(other)),
    }
}

fn decode_purpose(bytes: &[u8], rest: &[u8]) -> Result<Purpose, WireError> {
    if let [0, 2, ..] = rest {
        let len = u16::try_from(rest.len()).map_err(|_| WireError::Long(bytes.len()))?;
        return Ok(Purpose::Size { len });
    }
    match behind_zero(bytes, rest)? {
        0 => Ok(Purpose::Liveness),
        1 => Ok(Purpose::Policy),
        other => Err(WireError::Field(other)),
    }
}

/// Decodes a message other than a packet: those of an endpoint are data frames. Times that no message
/// has are refused.
fn decode_spacing<'a>(bytes: &[u8], rest: &[u8]) -> Result<Body<&'a [u8]>, WireError> {
    let (message, _) = spacing::decode(rest).map_err(|error| match error {
        WireError::Short(_) => WireError::Short(bytes.len()),
        WireError::Long(_) => WireError::Long(bytes.len()),
        WireError::Kind(kind) => WireError::Field(kind),
        other => other,
    })?;
    match message {
        Message::Packet(_) => Err(WireError::Field(0)),
        Message::RoundTrip(rtt) if rtt > spacing::MAX_RTT => Err(WireError::Number(rtt.0)),
        Message::Feedback(Feedback { hold, .. }) if hold > spacing::MAX_HOLD => {
            Err(WireError::Number(hold.0))
        }
        message => Ok(Body::Spacing(Box::new(message))),
    }
}

fn decode_pair<'a>(bytes: &[u8], rest: &[u8]) -> Result<Body<&'a [u8]>, WireError> {
    let len = u16::try_from(rest.len()).map_err(|_| WireError::Long(bytes.len()))?;
    match rest.first() {
        None => Err(WireError::Short(bytes.len())),
        Some(&which @ (0 | 1)) => Ok(Body::Pair {
            trailing: which == 1,
            len,
        }),
        Some(&which) => Err(WireError::Field(which)),
    }
}

#[cfg(test)]
mod tests;
