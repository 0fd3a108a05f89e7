//! Frames, and the fragments of a packet.

use etherparse::PacketBuilder;
use polypath_core::fragment::{Code, FragmentHeader};
use polypath_core::frame::{Attempt, Body, Epoch, Frame, PathId, Payload as _, Purpose};
use polypath_core::repair::{PathArrival, Report, SendTime};
use polypath_core::spacing::{Arrivals, Feedback, Message};
use polypath_core::time::{Duration, Time};
use polypath_core::truncated::{BITS, expand, truncate};
use polypath_core::wire::{self, HEADER_LEN};

use crate::tunnel::fragment;
use crate::tunnel::tests::vectors::format::{
    CodedVector, FragmentsVector, FrameVector, RejectedFrame, TruncatedVector,
};

/// An IPv4 packet of a UDP datagram with this payload.
fn packet(payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).udp(5004, 5005);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

fn encode(epoch: u32, sequence: u64, body: Body<Vec<u8>>) -> Vec<u8> {
    let frame = Frame {
        path: PathId(0),
        epoch: Epoch(epoch),
        sequence,
        sent: Time(3_000_000_017 + sequence),
        body,
    };
    let mut bytes = Vec::new();
    wire::encode(&frame, &mut bytes);
    bytes
}

/// A data frame.
pub(super) fn data() -> Vec<u8> {
    encode(0, 7, Body::Data(packet(b"polypath")))
}

fn body(name: &str) -> Body<Vec<u8>> {
    let size = |len| Purpose::Size { len };
    match name {
        "data" => Body::Data(packet(b"polypath")),
        "probe" => Body::Probe { data_len: 1200 },
        "pair, leading" => Body::Pair {
            trailing: false,
            len: 2,
        },
        "pair, trailing" => Body::Pair {
            trailing: true,
            len: 100,
        },
        "switch" => Body::Switch { to: PathId(1) },
        "closed path" => Body::PathClosed { path: PathId(1) },
        "heartbeat, liveness" => Body::Heartbeat(Purpose::Liveness),
        "heartbeat, policy" => Body::Heartbeat(Purpose::Policy),
        "heartbeat, size" => Body::Heartbeat(size(48)),
        "heartbeat reply, liveness" => Body::HeartbeatReply(Purpose::Liveness),
        "heartbeat reply, policy" => Body::HeartbeatReply(Purpose::Policy),
        "reported data" => reported(Attempt::First),
        "copy" => reported(Attempt::Copy),
        "repair" => reported(Attempt::Repair),
        "report" => Body::Report(report().into()),
        "fragment, original" => fragment_of_three(0),
        "fragment, recovery" => fragment_of_three(2),
        "spacing, feedback" => Body::Spacing(Message::Feedback(feedback()).into()),
        "spacing, ping" => Body::Spacing(Message::Ping(Time(3_000_000_017)).into()),
        "spacing, pong" => Body::Spacing(Message::Pong(Time(3_000_000_017)).into()),
        "spacing, round-trip time" => {
            Body::Spacing(Message::RoundTrip(Duration::from_millis(40)).into())
        }
        _ => Body::HeartbeatReply(size(48).answered()),
    }
}

fn reported(attempt: Attempt) -> Body<Vec<u8>> {
    Body::Reported {
        payload: packet(b"polypath"),
        attempt,
    }
}

/// Fragment `index` of the packet, of which any two of three restore it.
fn fragment_of_three(index: u8) -> Body<Vec<u8>> {
    let packet = packet(b"polypath!");
    let code = Code::new(2, 3).unwrap();
    let header = FragmentHeader {
        code,
        index,
        packet_len: u16::try_from(packet.len()).unwrap(),
        traffic_class: packet.traffic_class(),
    };
    let mut all = packet.split(code).unwrap();
    Body::Fragment {
        header,
        payload: all.swap_remove(index.into()),
    }
}

/// Of packets 1000 to 1016, 1000 and 1009 are missing.
fn report() -> Report {
    let arrival = |path, newest, age, reordering: u64| PathArrival {
        path: PathId(path),
        newest: SendTime::from_micros(newest),
        age: Duration::from_micros(age),
        reordering: Duration::from_micros(reordering * 100),
    };
    Report {
        base: 1000,
        paths: vec![arrival(0, 16_000_000, 1500, 0), arrival(1, 7, 250_000, 513)],
        arrived: vec![0b1111_1110, 0b1111_1101, 0b1],
    }
}

/// Of packets 0 to 99, 7 are lost, the last of them 90; one more arrived late and one twice.
fn feedback() -> Feedback {
    Feedback {
        number: 3,
        end: 100,
        received: 93,
        lost_end: 91,
        arrivals: Arrivals {
            distinct: 94,
            late: 1,
            duplicates: 1,
        },
        echo: Time(3_000_000_000),
        hold: Duration::from_micros(500),
    }
}

pub(super) fn vectors() -> Vec<FrameVector> {
    let names = [
        "data",
        "probe",
        "pair, leading",
        "pair, trailing",
        "switch",
        "heartbeat, liveness",
        "heartbeat, policy",
        "heartbeat, size",
        "heartbeat reply, liveness",
        "heartbeat reply, policy",
        "heartbeat reply, size",
        "reported data",
        "copy",
        "repair",
        "report",
        "closed path",
        "fragment, original",
        "fragment, recovery",
        "spacing, feedback",
        "spacing, ping",
        "spacing, pong",
        "spacing, round-trip time",
    ];
    let vectors = (0_u8..).zip(names).map(|(number, name)| {
        // All bytes of each number differ.
        let bytes = encode(
            0x0102_0380 + u32::from(number),
            0x01_0203_0405 + u64::from(number),
            body(name),
        );
        FrameVector {
            name: name.to_owned(),
            kind: bytes[0],
            epoch: bytes[1],
            sequence: bytes[2..5].into(),
            sent: bytes[5..HEADER_LEN].into(),
            body: bytes[HEADER_LEN..].into(),
            bytes: bytes.into(),
        }
    });
    vectors.collect()
}

pub(super) fn rejected() -> Vec<RejectedFrame> {
    let cases: [(&str, u8, &[u8]); 28] = [
        ("unknown kind", 13, &[0, 0]),
        ("spacing without a message", 12, &[]),
        ("a spaced packet in a message", 12, &[0; 25]),
        (
            "an unknown message of spacing",
            12,
            &[5, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
        ("a short ping", 12, &[2, 0, 0, 0, 0, 0, 0, 0]),
        ("a long pong", 12, &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("a fragment without a code", 11, &[0, 2, 3]),
        ("a fragment without bytes", 11, &[0, 2, 3, 0]),
        (
            "a fragment that alone is the packet",
            11,
            &[0, 1, 3, 0, 9, 9],
        ),
        ("a fragment of too few", 11, &[0, 3, 2, 0, 9, 9]),
        ("a fragment beyond the last", 11, &[3, 2, 3, 0, 9, 9]),
        ("a fragment that is too long", 11, &[0, 2, 3, 2, 9, 9, 9]),
        ("a closed path without a zero", 10, &[1, 1]),
        ("a long closed path", 10, &[0, 1, 0]),
        ("a repair without a packet", 8, &[]),
        ("a report without the number of its paths", 9, &[0; 3]),
        ("a report with part of a path", 9, &[0, 0, 0, 1, 0, 0, 0]),
        ("data without a packet", 0, &[]),
        ("a short probe", 1, &[4]),
        ("a long probe", 1, &[4, 176, 0]),
        ("a pair without a body", 2, &[]),
        ("a pair that is neither leading nor trailing", 2, &[2, 0]),
        ("a switch without a zero", 3, &[1, 1]),
        ("a long switch", 3, &[0, 1, 0]),
        ("a heartbeat without a zero", 4, &[1, 0]),
        ("a heartbeat for an unknown purpose", 4, &[0, 3]),
        ("a padded heartbeat for liveness", 4, &[0, 0, 0]),
        ("a padded reply for the policy", 5, &[0, 1, 0]),
    ];
    let mut header = encode(0, 7, body("probe"));
    header.truncate(HEADER_LEN);
    let frames = cases.map(|(name, kind, body)| {
        header[0] = kind;
        let bytes = [&header[..], body].concat();
        RejectedFrame {
            name: name.to_owned(),
            bytes: bytes.into(),
        }
    });
    let short = RejectedFrame {
        name: "a header without its last byte".to_owned(),
        bytes: header[..HEADER_LEN - 1].into(),
    };
    frames.into_iter().chain([short]).collect()
}

/// The first and last numbers of windows and some between, around wraps and at the ends.
pub(super) fn truncated() -> Vec<TruncatedVector> {
    let mut vectors = Vec::new();
    for bits in [8, BITS] {
        let window = 1_u64 << bits;
        for lowest in [
            0,
            1,
            window / 2,
            window - 1,
            window,
            5 * window + 3,
            u64::MAX - 1,
        ] {
            for offset in [0, 1, window / 2, window / 2 + 1, window - 1] {
                let truncated = truncate(lowest.wrapping_add(offset), bits);
                vectors.push(TruncatedVector {
                    bits,
                    truncated: truncated.to_be_bytes().into(),
                    lowest: lowest.to_be_bytes().into(),
                    number: expand(truncated, lowest, bits).map(|n| n.to_be_bytes().into()),
                });
            }
        }
    }
    vectors
}

/// Codes with one recovery fragment and several, fewer and more than originals, and packets that
/// they divide and do not.
pub(super) fn coded() -> Vec<CodedVector> {
    let cases = [(2, 3, 45), (3, 4, 60), (2, 4, 33), (5, 8, 64), (3, 3, 31)];
    let coded = cases.map(|(needed, total, len)| {
        let mut packet = packet(b"polypath, in fragments of any length");
        packet.truncate(len);
        let code = Code::new(needed, total).unwrap();
        let fragments = packet.split(code).unwrap();
        CodedVector {
            packet: packet.into(),
            needed,
            fragments: fragments.into_iter().map(Into::into).collect(),
        }
    });
    coded.into()
}

pub(super) fn fragments() -> FragmentsVector {
    let mut packet = packet(&[0xab; 100]);
    // The builder forbids fragmentation.
    packet[6] = 0;
    let header = etherparse::Ipv4Header::from_slice(&packet).unwrap().0;
    packet[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    let limit = 70;
    let fragments = fragment::split(&packet, limit).unwrap();
    FragmentsVector {
        packet: packet.into(),
        limit,
        fragments: fragments.into_iter().map(Into::into).collect(),
    }
}
