//! Frames inside sealed datagrams, and the IP packets of applications.

use polypath_core::frame::{Body, Purpose};
use polypath_core::packet::{self, Ecn};
use polypath_core::wire;

/// A decoded frame is encoded and decoded to the same frame. An IP packet is parsed, and an ECN
/// mark changes only the ECN field.
pub fn check(bytes: &[u8]) {
    if let Ok(frame) = wire::decode(bytes) {
        let mut written = Vec::new();
        wire::encode(&frame, &mut written);
        assert_eq!(wire::decode(&written).as_ref(), Ok(&frame));
        // Padding has no meaning, and is encoded as zeros.
        if is_padded(&frame.body) {
            assert_eq!(written.len(), bytes.len());
        } else {
            assert_eq!(written, bytes);
        }
    }
    check_packet(bytes);
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
