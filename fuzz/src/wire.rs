//! Frames inside sealed datagrams, those of sources, and the IP packets of applications.

use polypath_core::frame::{Body, PathId, Purpose};
use polypath_core::multihomed::MultihomedDatagram;
use polypath_core::packet::{self, Ecn};
use polypath_core::time::Time;
use polypath_core::wire::{self, HEADER_LEN, Numbers};

/// A decoded frame is encoded and decoded to the same frame. Expanded numbers of a sequence of
/// frames are truncated to those received. An IP packet is parsed, and an ECN mark changes only the
/// ECN field.
pub fn check(bytes: &[u8]) {
    let path = PathId(1);
    if let Ok(frame) = wire::decode(path, bytes) {
        let mut written = Vec::new();
        wire::encode(&frame, &mut written);
        assert_eq!(wire::decode(path, &written).as_ref(), Ok(&frame));
        // Padding has no meaning, and is encoded as zeros.
        if is_padded(&frame.body) {
            assert_eq!(written.len(), bytes.len());
        } else {
            assert_eq!(written, bytes);
        }
    }
    check_numbers(bytes);
    check_source(bytes);
    check_packet(bytes);
}

/// A decoded frame of a source is encoded and decoded to the same frame, and so is its answer,
/// which gets no answer itself.
fn check_source(bytes: &[u8]) {
    let Ok(datagram) = MultihomedDatagram::decode(bytes) else {
        return;
    };
    assert_eq!(MultihomedDatagram::decode(&datagram.encode()), Ok(datagram));
    let now = Time(1_000_000_000);
    let answered = datagram.frame.answer(now);
    assert_ne!(answered.is_some(), datagram.frame.feedback(now).is_some());
    if let Some(frame) = answered {
        let answer = MultihomedDatagram { frame, ..datagram };
        assert_eq!(MultihomedDatagram::decode(&answer.encode()), Ok(answer));
        assert_eq!(frame.answer(now), None);
        assert_eq!(frame.path(), datagram.frame.path());
    }
}

/// The frames of `bytes`, sent by this end and by its peer in turn, 1 s apart.
fn check_numbers(bytes: &[u8]) {
    let mut numbers = Numbers::default();
    for (second, bytes) in (0..).zip(bytes.chunks(HEADER_LEN + 2)) {
        let now = Time(second * 1_000_000_000);
        let Ok(frame) = wire::decode(PathId(bytes[0] % 2), bytes) else {
            continue;
        };
        let mut expanded = frame.clone();
        if second % 3 == 0 {
            numbers.on_sent(&expanded);
        } else if numbers.expand(now, &mut expanded).is_ok() {
            let mut written = Vec::new();
            wire::encode(&expanded, &mut written);
            let mut truncated = frame;
            // A negative send time counts as zero.
            if expanded.sent == Time::ZERO {
                truncated.sent = Time::ZERO;
            }
            assert_eq!(wire::decode(truncated.path, &written), Ok(truncated));
        }
    }
}

fn is_padded<P>(body: &Body<P>) -> bool {
    matches!(
        body,
        Body::Pair { .. }
            | Body::Heartbeat(Purpose::Size { .. })
            | Body::HeartbeatReply(Purpose::Size { .. })
    )
}

fn check_packet(bytes: &[u8]) {
    let Ok(meta) = packet::parse(bytes) else {
        return;
    };
    let mut marked = bytes.to_vec();
    if packet::mark_ce(&mut marked) {
        assert_eq!(packet::ecn(&marked), Ecn::Ce);
        assert_eq!(packet::parse(&marked).map(|meta| meta.flow), Ok(meta.flow));
    } else {
        assert_eq!(marked, bytes);
    }
}
