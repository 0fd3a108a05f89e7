//! The wire format of a frame inside the seal.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | kind: 0 data, 1 probe, 2 pair, 3 switch, 4 heartbeat, 5 heartbeat reply |
//! | 1 | path |
//! | 4 | epoch |
//! | 8 | sequence |
//! | 8 | send time, nanoseconds by the sender's clock |
//! | rest | data: the IP packet; probe: 2 bytes, length of the packet it stands for; pair: 1 byte, 0 leading or 1 trailing, then padding; switch: 2 bytes, 0 and the path to become active; heartbeat and answer: 2 bytes, 0 and the purpose, 0 liveness, 1 policy or 2 size; for size then padding |
//!
//! Numbers are big-endian. A frame in any other format is rejected.

use alloc::vec::Vec;

use crate::frame::{self, Body, Epoch, Frame, PAIR_MIN, PathId, Purpose};
use crate::time::Time;

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
}

/// Appends the frame to `to`.
pub fn encode(frame: &Frame<impl AsRef<[u8]>>, to: &mut Vec<u8>) {
    let kind = match &frame.body {
        Body::Data(_) => 0,
        Body::Probe { .. } => 1,
        Body::Pair { .. } => 2,
        Body::Switch { .. } => 3,
        Body::Heartbeat(_) => 4,
        Body::HeartbeatReply(_) => 5,
    };
    to.extend_from_slice(&[kind, frame.path.0]);
    to.extend_from_slice(&frame.epoch.0.to_be_bytes());
    to.extend_from_slice(&frame.sequence.to_be_bytes());
    to.extend_from_slice(&frame.sent.0.to_be_bytes());
    match &frame.body {
        Body::Data(packet) => to.extend_from_slice(packet.as_ref()),
        Body::Probe { data_len } => to.extend_from_slice(&data_len.to_be_bytes()),
        Body::Pair { trailing, len } => {
            to.push(u8::from(*trailing));
            to.resize(to.len() + usize::from(len.saturating_sub(PAIR_MIN)), 0);
        }
        Body::Switch { to: path } => to.extend_from_slice(&[0, path.0]),
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

/// Decodes a frame; its packet, if any, borrows from `bytes`.
pub fn decode(bytes: &[u8]) -> Result<Frame<&[u8]>, WireError> {
    let short = || WireError::Short(bytes.len());
    let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or_else(short)?;
    let [kind, path, e0, e1, e2, e3, numbers @ ..] = *header;
    let [
        s0,
        s1,
        s2,
        s3,
        s4,
        s5,
        s6,
        s7,
        t0,
        t1,
        t2,
        t3,
        t4,
        t5,
        t6,
        t7,
    ] = numbers;
    let body = match kind {
        0 if !rest.is_empty() => Body::Data(rest),
        1 => Body::Probe {
            data_len: u16::from_be_bytes(exactly(bytes, rest)?),
        },
        2 => decode_pair(rest).ok_or_else(short)??,
        3 => Body::Switch {
            to: PathId(behind_zero(bytes, rest)?),
        },
        4 => Body::Heartbeat(decode_purpose(bytes, rest)?),
        5 => Body::HeartbeatReply(decode_purpose(bytes, rest)?),
        0 => return Err(short()),
        _ => return Err(WireError::Kind(kind)),
    };
    Ok(Frame {
        path: PathId(path),
        epoch: Epoch(u32::from_be_bytes([e0, e1, e2, e3])),
        sequence: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
        sent: Time(u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
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

fn decode_pair(rest: &[u8]) -> Option<Result<Body<&[u8]>, WireError>> {
    let (&which, _) = rest.split_first()?;
    let len = u16::try_from(rest.len()).unwrap_or(u16::MAX);
    Some(match which {
        0 | 1 => Ok(Body::Pair {
            trailing: which == 1,
            len,
        }),
        _ => Err(WireError::Field(which)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bodies() -> impl Strategy<Value = Body<Vec<u8>>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 1..200).prop_map(Body::Data),
            any::<u16>().prop_map(|data_len| Body::Probe { data_len }),
            (any::<bool>(), PAIR_MIN..2000)
                .prop_map(|(trailing, len)| Body::Pair { trailing, len }),
            any::<u8>().prop_map(|to| Body::Switch { to: PathId(to) }),
            purposes().prop_map(Body::Heartbeat),
            purposes().prop_map(Body::HeartbeatReply),
        ]
    }

    fn purposes() -> impl Strategy<Value = Purpose> {
        prop_oneof![
            Just(Purpose::Liveness),
            Just(Purpose::Policy),
            (frame::HEARTBEAT_LEN..2000).prop_map(|len| Purpose::Size { len }),
        ]
    }

    fn frames() -> impl Strategy<Value = Frame<Vec<u8>>> {
        (
            any::<u8>(),
            any::<u32>(),
            any::<u64>(),
            any::<u64>(),
            bodies(),
        )
            .prop_map(|(path, epoch, sequence, sent, body)| Frame {
                path: PathId(path),
                epoch: Epoch(epoch),
                sequence,
                sent: Time(sent),
                body,
            })
    }

    fn owned(body: Body<&[u8]>) -> Body<Vec<u8>> {
        match body {
            Body::Data(packet) => Body::Data(packet.to_vec()),
            Body::Probe { data_len } => Body::Probe { data_len },
            Body::Pair { trailing, len } => Body::Pair { trailing, len },
            Body::Switch { to } => Body::Switch { to },
            Body::Heartbeat(purpose) => Body::Heartbeat(purpose),
            Body::HeartbeatReply(purpose) => Body::HeartbeatReply(purpose),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(frame in frames()) {
            use crate::frame::{Encapsulation, OVER_IPV4, SEAL_LEN};
            let mut bytes = Vec::new();
            encode(&frame, &mut bytes);
            prop_assert_eq!(bytes.len(), HEADER_LEN + frame.body.len());
            let sealed = u32::try_from(bytes.len()).unwrap() + SEAL_LEN + OVER_IPV4;
            let leading = matches!(frame.body, Body::Pair { trailing: false, .. });
            if !leading {
                prop_assert_eq!(Encapsulation::deployed(OVER_IPV4).size(&frame.body), sealed);
            }
            let read = decode(&bytes).unwrap();
            prop_assert_eq!(owned(read.body), frame.body.clone());
            prop_assert_eq!(
                (read.path, read.epoch, read.sequence, read.sent),
                (frame.path, frame.epoch, frame.sequence, frame.sent)
            );
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(frame) = decode(&bytes) {
                let mut again = Vec::new();
                encode(&frame.carrying(frame.path, owned(frame.body)), &mut again);
                prop_assert_eq!(again.len(), bytes.len());
            }
        }

        #[test]
        fn a_truncated_frame_is_refused_or_shorter(frame in frames(), keep in 0..HEADER_LEN) {
            let mut bytes = Vec::new();
            encode(&frame, &mut bytes);
            prop_assert_eq!(decode(&bytes[..keep]), Err(WireError::Short(keep)));
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let header = |kind: u8, rest: &[u8]| {
            let mut bytes = alloc::vec![0; HEADER_LEN];
            bytes[0] = kind;
            bytes.extend_from_slice(rest);
            bytes
        };
        assert_eq!(decode(&header(9, &[1])), Err(WireError::Kind(9)));
        assert_eq!(decode(&header(0, &[])), Err(WireError::Short(HEADER_LEN)));
        assert_eq!(
            decode(&header(1, &[1, 2, 3])),
            Err(WireError::Long(HEADER_LEN + 3))
        );
        assert_eq!(decode(&header(2, &[7, 0])), Err(WireError::Field(7)));
        assert_eq!(decode(&header(3, &[])), Err(WireError::Short(HEADER_LEN)));
        assert_eq!(decode(&header(3, &[9, 1])), Err(WireError::Field(9)));
        for kind in [4, 5] {
            let short = Err(WireError::Short(HEADER_LEN + 1));
            assert_eq!(decode(&header(kind, &[0])), short);
            assert_eq!(decode(&header(kind, &[1, 0])), Err(WireError::Field(1)));
            assert_eq!(decode(&header(kind, &[0, 3])), Err(WireError::Field(3)));
            // Only what asks for a size is padded.
            let long = Err(WireError::Long(HEADER_LEN + 3));
            assert_eq!(decode(&header(kind, &[0, 0, 0])), long);
            assert_eq!(decode(&header(kind, &[0, 1, 0])), long);
        }
    }
}
