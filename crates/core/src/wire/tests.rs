use super::*;
use crate::fragment::{Code, FragmentHeader};
use crate::packet::TrafficClass;
use crate::repair::{MAX_BITMAP, PathArrival, Report, SendTime};
use crate::spacing::Arrivals;
use crate::time::Duration;
use alloc::vec;
use proptest::prelude::*;

const PATH: PathId = PathId(1);

fn bodies() -> impl Strategy<Value = Body<Vec<u8>>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 1..200).prop_map(Body::Data),
        any::<u16>().prop_map(|data_len| Body::Probe { data_len }),
        (any::<bool>(), PAIR_MIN..2000).prop_map(|(trailing, len)| Body::Pair { trailing, len }),
        any::<u8>().prop_map(|to| Body::Switch { to: PathId(to) }),
        purposes().prop_map(Body::Heartbeat),
        purposes().prop_map(Body::HeartbeatReply),
        (prop::collection::vec(any::<u8>(), 1..200), attempts())
            .prop_map(|(payload, attempt)| Body::Reported { payload, attempt }),
        reports().prop_map(|report| Body::Report(report.into())),
        any::<u8>().prop_map(|path| Body::PathClosed { path: PathId(path) }),
        fragments(),
        spacing_messages().prop_map(|message| Body::Spacing(message.into())),
    ]
}

fn spacing_messages() -> impl Strategy<Value = Message> {
    let feedback = (any::<[u64; 8]>(), 0..=spacing::MAX_HOLD.0).prop_map(|(of, hold)| Feedback {
        number: of[0],
        end: of[1],
        received: of[2],
        lost_end: of[3],
        arrivals: Arrivals {
            distinct: of[4],
            late: of[5],
            duplicates: of[6],
        },
        echo: Time(of[7]),
        hold: Duration(hold),
    });
    prop_oneof![
        feedback.prop_map(Message::Feedback),
        any::<u64>().prop_map(|time| Message::Ping(Time(time))),
        any::<u64>().prop_map(|time| Message::Pong(Time(time))),
        (0..=spacing::MAX_RTT.0).prop_map(|rtt| Message::RoundTrip(Duration(rtt))),
    ]
}

/// Fragments as they arrive: with the default traffic class.
fn fragments() -> impl Strategy<Value = Body<Vec<u8>>> {
    let codes = (2_u8..64).prop_flat_map(|needed| (Just(needed), needed..=64));
    (codes, any::<prop::sample::Index>(), 1_u16..2000).prop_map(|((needed, total), index, len)| {
        let code = Code::new(needed, total).unwrap();
        let header = FragmentHeader {
            code,
            index: u8::try_from(index.index(total.into())).unwrap(),
            packet_len: len,
            traffic_class: TrafficClass::DEFAULT,
        };
        let payload = alloc::vec![header.index; code.fragment_len(len).into()];
        Body::Fragment { header, payload }
    })
}

fn attempts() -> impl Strategy<Value = Attempt> {
    prop_oneof![
        Just(Attempt::First),
        Just(Attempt::Copy),
        Just(Attempt::Repair)
    ]
}

fn reports() -> impl Strategy<Value = Report> {
    let arrival = (any::<u8>(), any::<u64>(), any::<u32>(), any::<u16>());
    let arrival = arrival.prop_map(|(path, newest, age, reordering)| PathArrival {
        path: PathId(path),
        newest: SendTime::from_micros(newest),
        age: Duration::from_micros(u64::from(age)),
        reordering: Duration::from_micros(u64::from(reordering) * 100),
    });
    let paths = prop::collection::vec(arrival, 0..65);
    let arrived = prop::collection::vec(any::<u8>(), 0..=MAX_BITMAP);
    (truncated_numbers(), paths, arrived).prop_map(|(base, paths, arrived)| Report {
        base,
        paths,
        arrived,
    })
}

fn truncated_numbers() -> impl Strategy<Value = u64> {
    0..1_u64 << truncated::BITS
}

fn purposes() -> impl Strategy<Value = Purpose> {
    prop_oneof![
        Just(Purpose::Liveness),
        Just(Purpose::Policy),
        (frame::HEARTBEAT_LEN..2000).prop_map(|len| Purpose::Size { len }),
    ]
}

/// Frames whose numbers are not changed by truncation.
fn frames() -> impl Strategy<Value = Frame<Vec<u8>>> {
    (
        any::<u8>(),
        any::<u8>(),
        truncated_numbers(),
        truncated_numbers(),
        bodies(),
    )
        .prop_map(|(path, epoch, sequence, sent, body)| Frame {
            path: PathId(path),
            epoch: Epoch(epoch.into()),
            sequence,
            sent: Time(sent * MICROSECOND),
            body,
        })
}

fn owned(body: &Body<&[u8]>) -> Body<Vec<u8>> {
    body.map_ref(|packet| packet.to_vec())
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
        let read = decode(frame.path, &bytes).unwrap();
        prop_assert_eq!(owned(&read.body), frame.body.clone());
        prop_assert_eq!(
            (read.path, read.epoch, read.sequence, read.sent),
            (frame.path, frame.epoch, frame.sequence, frame.sent)
        );
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(frame) = decode(PATH, &bytes) {
            let mut again = Vec::new();
            encode(&frame.carrying(frame.path, owned(&frame.body)), &mut again);
            prop_assert_eq!(again.len(), bytes.len());
        }
    }

    #[test]
    fn a_truncated_frame_is_refused_or_shorter(frame in frames(), keep in 0..HEADER_LEN) {
        let mut bytes = Vec::new();
        encode(&frame, &mut bytes);
        prop_assert_eq!(decode(PATH, &bytes[..keep]), Err(WireError::Short(keep)));
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
    assert_eq!(decode(PATH, &header(13, &[1])), Err(WireError::Kind(13)));
    let spacing = |kind: u8, len: usize| {
        let mut message = alloc::vec![0xff; len];
        message[0] = kind;
        decode(PATH, &header(12, &message)).err()
    };
    assert_eq!(spacing(0, 25), Some(WireError::Field(0)), "a packet");
    assert_eq!(spacing(5, 9), Some(WireError::Field(5)));
    assert_eq!(spacing(2, 8), Some(WireError::Short(HEADER_LEN + 8)));
    assert_eq!(spacing(3, 10), Some(WireError::Long(HEADER_LEN + 10)));
    assert_eq!(
        spacing(4, 9),
        Some(WireError::Number(u64::MAX)),
        "a long time"
    );
    assert_eq!(spacing(1, 73), Some(WireError::Number(u64::MAX)));
    for (rest, error) in [
        (&[0; 3][..], WireError::Short(HEADER_LEN + 3)),
        // One path, whose part lacks a byte.
        (
            &[0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            WireError::Short(HEADER_LEN + 13),
        ),
        (
            &[0; 4 + MAX_BITMAP + 1],
            WireError::Long(HEADER_LEN + 5 + MAX_BITMAP),
        ),
    ] {
        assert_eq!(decode(PATH, &header(9, rest)), Err(error));
    }
    assert_eq!(
        decode(PATH, &header(0, &[])),
        Err(WireError::Short(HEADER_LEN))
    );
    assert_eq!(
        decode(PATH, &header(1, &[1, 2, 3])),
        Err(WireError::Long(HEADER_LEN + 3))
    );
    assert_eq!(decode(PATH, &header(2, &[7, 0])), Err(WireError::Field(7)));
    assert_eq!(
        decode(PATH, &header(3, &[])),
        Err(WireError::Short(HEADER_LEN))
    );
    for kind in [3, 10] {
        assert_eq!(
            decode(PATH, &header(kind, &[9, 1])),
            Err(WireError::Field(9))
        );
    }
    for kind in [4, 5] {
        let short = Err(WireError::Short(HEADER_LEN + 1));
        assert_eq!(decode(PATH, &header(kind, &[0])), short);
        assert_eq!(
            decode(PATH, &header(kind, &[1, 0])),
            Err(WireError::Field(1))
        );
        assert_eq!(
            decode(PATH, &header(kind, &[0, 3])),
            Err(WireError::Field(3))
        );
        // Only what asks for a size is padded.
        let long = Err(WireError::Long(HEADER_LEN + 3));
        assert_eq!(decode(PATH, &header(kind, &[0, 0, 0])), long);
        assert_eq!(decode(PATH, &header(kind, &[0, 1, 0])), long);
    }
}

/// The specification of a body of the kind `kind` by the table above: whether it is valid.
fn is_valid(kind: u8, body: &[u8]) -> bool {
    matches!(
        (kind, body),
        (0 | 6..=8, [_, ..])
            | (1, [_, _])
            | (2, [0 | 1, ..])
            | (3 | 10, [0, _])
            | (4 | 5, [0, 0 | 1] | [0, 2, ..])
    ) || (kind == 9 && is_valid_report(body))
}

/// Base, number of paths, their parts, and at most the longest bitmap.
fn is_valid_report(body: &[u8]) -> bool {
    let Some(count) = body.get(3) else {
        return false;
    };
    let head = 4 + 10 * usize::from(*count);
    (head..=head + 512).contains(&body.len())
}

/// The part of a body of the kind `kind` behind which all bytes are padding, which is written as
/// zeros.
fn meaningful(kind: u8, body: &[u8]) -> usize {
    match (kind, body) {
        (2, _) => 1,
        (4 | 5, _) => 2,
        _ => body.len(),
    }
}

/// Decodes `bytes`: they are accepted if the specification accepts them, are written as they were
/// but for padding, and then decoded to the same frame.
fn check(bytes: &[u8]) {
    let decoded = decode(PATH, bytes);
    let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return assert_eq!(decoded, Err(WireError::Short(bytes.len())));
    };
    assert_eq!(decoded.is_ok(), is_valid(header[0], body), "{bytes:?}");
    let Ok(frame) = decoded else { return };
    let mut canonical = bytes.to_vec();
    canonical[HEADER_LEN + meaningful(header[0], body)..].fill(0);
    let mut written = Vec::new();
    encode(&frame, &mut written);
    assert_eq!(written, canonical);
    assert_eq!(decode(PATH, &written), Ok(frame));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_short_body_of_every_kind_is_exact() {
    let mut bytes = [0xa5; HEADER_LEN + 3];
    for kind in 0..=u8::MAX {
        bytes[0] = kind;
        for len in 0..=HEADER_LEN {
            check(&bytes[..len]);
        }
        for first in 0..=u8::MAX {
            bytes[HEADER_LEN] = first;
            check(&bytes[..=HEADER_LEN]);
            // Kinds that do not exist are refused before their body is read.
            let others = if kind <= 11 { 0..=u8::MAX } else { 0..=2 };
            for second in others {
                bytes[HEADER_LEN + 1] = second;
                check(&bytes[..HEADER_LEN + 2]);
                for third in [0, 1, 2, u8::MAX] {
                    bytes[HEADER_LEN + 2] = third;
                    check(&bytes);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn every_value_of_every_byte_of_a_header_is_exact() {
    for kind in 0..=10 {
        for at in 1..HEADER_LEN {
            for value in 0..=u8::MAX {
                let mut bytes = [0; HEADER_LEN + 2];
                bytes[0] = kind;
                bytes[at] = value;
                check(&bytes);
            }
        }
    }
}

/// A body has at most as many bytes as its length has bits for.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn bodies_of_every_length_are_exact_or_too_long() {
    let mut bytes = alloc::vec![0; HEADER_LEN + 0x1_0001];
    for (kind, second) in [(2, 0), (4, 2), (5, 2)] {
        bytes[0] = kind;
        bytes[HEADER_LEN + 1] = second;
        for len in (2..300).chain(0xff00..=0xffff) {
            check(&bytes[..HEADER_LEN + len]);
        }
        for len in [0x1_0000, 0x1_0001] {
            let long = &bytes[..HEADER_LEN + len];
            assert_eq!(decode(PATH, long), Err(WireError::Long(long.len())));
        }
    }
}

#[test]
fn fragments_that_no_code_makes_are_refused() {
    let decode = |rest: &[u8]| {
        let mut bytes = alloc::vec![0; HEADER_LEN];
        bytes[0] = 11;
        bytes.extend_from_slice(rest);
        decode(PATH, &bytes).map(|_| ())
    };
    assert_eq!(
        decode(&[2, 2, 3, 1, 9, 9]),
        Ok(()),
        "three bytes by a (3, 2) code"
    );
    let short = |rest: usize| Err(WireError::Short(HEADER_LEN + rest));
    assert_eq!(decode(&[2, 2, 3]), short(3), "no header");
    assert_eq!(decode(&[2, 2, 3, 0]), short(4), "no bytes");
    assert_eq!(decode(&[2, 2, 3, 4, 9, 9]), short(6), "only padding");
    assert_eq!(
        decode(&[0, 1, 3, 0, 9, 9]),
        Err(WireError::Field(1)),
        "copies"
    );
    assert_eq!(
        decode(&[0, 3, 2, 0, 9, 9]),
        Err(WireError::Field(3)),
        "more than all"
    );
    assert_eq!(
        decode(&[0, 2, 65, 0, 9, 9]),
        Err(WireError::Field(2)),
        "too many"
    );
    assert_eq!(
        decode(&[3, 2, 3, 0, 9, 9]),
        Err(WireError::Field(3)),
        "beyond the last"
    );
    assert_eq!(
        decode(&[2, 2, 3, 2, 9, 9, 9]),
        Err(WireError::Field(2)),
        "longer than need be"
    );
    let long = [&[0, 2, 3, 0][..], &alloc::vec![0; 32_768]].concat();
    assert_eq!(decode(&long), Err(WireError::Long(HEADER_LEN + 4 + 32_768)));
}
