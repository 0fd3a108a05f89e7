//! Frames inside sealed datagrams, those of sources, and the IP packets of applications.

use polypath_core::class::Classes;
use polypath_core::endpoint::{Endpoint, EndpointConfig, Input, Output, ProbingConfig};
use polypath_core::frame::{Body, Encapsulation, OVER_IPV4, PathId, Purpose};
use polypath_core::machine::{Wake, step};
use polypath_core::multihomed::MultihomedDatagram;
use polypath_core::packet::{self, Ecn};
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Seed;
use polypath_core::spacing::{AdaptiveConfig, ControlConfig, FEEDBACK_LEN, SpacingConfig};
use polypath_core::tariff::Tariffs;
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
    check_fragments(bytes);
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

/// The frames of `bytes` on the paths of an endpoint, which restores packets of their fragments: each
/// has its length, and what is kept is bounded.
fn check_fragments(bytes: &[u8]) {
    let mut end = endpoint();
    let capacity = end.capacity();
    for (ms, bytes) in (0..).zip(chunks(bytes, 12)) {
        let path = PathId(bytes[0] % PATHS);
        let Ok(frame) = wire::decode(path, bytes) else {
            continue;
        };
        let body = frame.body.map_ref(|payload| payload.to_vec());
        let expected = match &body {
            Body::Fragment { header, .. } => Some(header.packet_len),
            _ => None,
        };
        let frame = frame.carrying(path, body);
        let foreseen = end.completed_by(&frame);
        let mut delivered = None;
        let wake = Wake::Input(Input::Frame(frame));
        step(&mut end, Time(ms * 1_000_000), wake, &mut |output| {
            if let Output::Deliver(packet) = output {
                delivered = Some(packet);
            }
        });
        if let Some((packet, len)) = delivered.zip(expected) {
            assert_eq!(packet.len(), usize::from(len));
            assert_eq!(foreseen, Some(packet));
        }
        assert!(end.buffered() <= capacity);
    }
}

/// The number of paths of the endpoint.
const PATHS: u8 = 4;

fn endpoint() -> Endpoint<Vec<u8>> {
    let config = EndpointConfig {
        paths: PATHS,
        policy: PolicyConfig::DuplicateAll {},
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: 64,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: None,
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        spacing: Some(SpacingConfig::new(ControlConfig::Damped(
            AdaptiveConfig::default(),
        ))),
    };
    Endpoint::new(&config).expect("the configuration is valid")
}

/// The frames of `bytes`, sent by this end and by its peer in turn, 1 s apart.
fn check_numbers(bytes: &[u8]) {
    let mut numbers = Numbers::default();
    for (second, bytes) in (0..).zip(chunks(bytes, 2)) {
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
            // A feedback has whole numbers, which are replaced by others with the same lowest bits.
            if !matches!(truncated.body, Body::Spacing(_)) {
                assert_eq!(wire::decode(truncated.path, &written), Ok(truncated));
            }
        }
    }
}

/// Splits `bytes` into frames: with bodies of `len` bytes, and those of the messages of packet spacing
/// with their own.
fn chunks(mut bytes: &[u8], len: usize) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let body = match (bytes.first()?, bytes.get(HEADER_LEN)) {
            (12, Some(1)) => FEEDBACK_LEN,
            (12, Some(2..=4)) => 9,
            _ => len,
        };
        let (chunk, rest) = bytes.split_at(bytes.len().min(HEADER_LEN + body));
        bytes = rest;
        Some(chunk)
    })
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
