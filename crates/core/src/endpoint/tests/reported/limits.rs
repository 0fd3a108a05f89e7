//! Paths with a ceiling or a quota.

use alloc::vec;
use core::ops::Range;

use super::network::{Network, TestPath};
use super::*;
use crate::frame::Attempt;
use crate::units::{Bytes, Rate};

/// The quota of the tests: that of 6.4 s of the stream.
const QUOTA: Bytes = Bytes(4_000_000);

fn quota() -> [Tariff; 2] {
    let metered = Tariff {
        cost: 1,
        quota: Some(QUOTA),
        ..Tariff::FREE
    };
    [Tariff::FREE, metered]
}

/// A free path that loses too much, and a costly one whose quota only `end` knows.
fn metered_at(end: usize) -> Network {
    let lossy = TestPath::new(20, |stream, _| stream.chance(0.12));
    let paths = vec![lossy, TestPath::new(30, never)];
    let mut tariffs: [&[Tariff]; 2] = [&[], &[]];
    let metered = quota();
    tariffs[end] = &metered;
    let costs = [
        Tariff::FREE,
        Tariff {
            cost: 1,
            ..Tariff::FREE
        },
    ];
    tariffs[1 - end] = &costs;
    Network::with_tariffs(policy(200, 10), paths, 1, tariffs)
}

/// The bytes on the wire of the costly path in these seconds, in both directions.
fn metered_bytes(network: &Network, seconds: Range<u64>) -> u64 {
    let path = network
        .path_bytes
        .range((SECOND, seconds.start)..(SECOND, seconds.end));
    path.map(|(_, bytes)| *bytes).sum()
}

/// Whichever end knows the quota: both stop in time.
#[test]
fn a_quota_is_not_exceeded_and_hardly_wasted() {
    for end in [0, 1] {
        let mut network = metered_at(end);
        network.stream(20);
        let used = metered_bytes(&network, 0..30);
        let counted = network.ends[end].path_usage(SECOND).unwrap();
        std::println!("quota at end {end}: {used} B of {QUOTA}");
        assert!(used <= QUOTA.0, "{used}");
        assert!(used >= QUOTA.0 - 700_000, "{used}");
        assert_eq!(metered_bytes(&network, 9..30), 0, "closed");
        // The metered end counts what arrives; some may be lost before.
        assert_eq!(counted.used, Bytes(used));
        assert!(counted.is_closed);
        let peer = network.ends[1 - end].path_usage(SECOND).unwrap();
        assert!(peer.is_closed_by_peer && !peer.is_closed);
        // The data is on the other path.
        assert_eq!(network.ends[0].active(), Some(FIRST));
    }
}

/// A new period opens the path at both ends.
#[test]
fn a_renewed_quota_is_used() {
    for end in [0, 1] {
        let mut network = metered_at(end);
        let renewal = Input::PathUsed {
            path: SECOND,
            used: Bytes(0),
            is_renewed: true,
        };
        network.input = Some((at(15_000), end, renewal));
        network.stream(30);
        assert_eq!(metered_bytes(&network, 10..15), 0);
        let used = metered_bytes(&network, 15..40);
        assert!((QUOTA.0 - 700_000..=QUOTA.0).contains(&used), "{used}");
    }
}

/// The bytes that were used before a restart count: the endpoint sends nothing at all.
#[test]
fn a_quota_that_was_used_up_before_the_start_closes_the_path() {
    let mut network = metered_at(0);
    let used = Input::PathUsed {
        path: SECOND,
        used: QUOTA,
        is_renewed: false,
    };
    network.wake(0, Wake::Input(used));
    network.stream(5);
    let bytes = metered_bytes(&network, 0..10);
    // The other end's heartbeats before it was told, and nothing after that.
    assert!(bytes < 1000, "{bytes}");
    assert_eq!(metered_bytes(&network, 2..10), 0);
}

/// The peer has restarted and does not know: it is told again.
#[test]
fn a_restarted_peer_is_told_again() {
    let mut network = metered_at(0);
    network.input = Some((at(12_000), 1, Input::PeerRestarted));
    network.stream(20);
    let after = metered_bytes(&network, 12..30);
    assert!((1..2000).contains(&after), "{after}");
    assert_eq!(metered_bytes(&network, 13..30), 0);
    assert!(
        network.ends[1]
            .path_usage(SECOND)
            .unwrap()
            .is_closed_by_peer
    );
}

/// Media beyond the ceiling is dropped when no other path carries it, and the path stays within it.
#[test]
fn media_does_not_exceed_a_ceiling() {
    let ceiling = Rate::from_mbits(3);
    let metered = Tariff {
        ceiling: Some(ceiling),
        ..Tariff::FREE
    };
    let paths = vec![TestPath::new(20, never), TestPath::new(30, |_, _| true)];
    let mut network = Network::with_tariffs(policy(200, 10), paths, 1, [&[metered, metered], &[]]);
    network.stream(10);
    for second in 1..11 {
        let bytes = network.path_bytes[&(FIRST, second)];
        let most = ceiling.bytes_in(MS * 1110).0;
        // The other end adds heartbeats and reports, 2 %.
        assert!(bytes <= most * 51 / 50, "{bytes} in second {second}");
    }
    let late = network.late(MS * 200);
    std::println!("5.3 Mbit/s at a ceiling of 3: {:.1} % lost", late * 100.0);
    assert!((0.40..0.47).contains(&late), "{late}");
}

/// A path with a ceiling carries what it may of a stream, and another the rest.
#[test]
fn a_ceiling_shares_media_and_segments_between_paths() {
    let metered = Tariff {
        ceiling: Some(Rate::from_mbits(2)),
        ..Tariff::FREE
    };
    for kind in [Kind::Opaque, Kind::Data] {
        let paths = vec![TestPath::new(20, never), TestPath::new(30, never)];
        let mut network = Network::with_tariffs(policy(200, 10), paths, 1, [&[metered], &[]]);
        network.kind = kind;
        network.stream(20);
        let share = network.share(FIRST, 2..20);
        std::println!("{kind:?}: {share:.3} on the path with a ceiling of 2 Mbit/s");
        assert!(
            network.late(MS * 200) <= 0.000_2,
            "{}",
            network.late(MS * 200)
        );
        // 15/16 of 2 of 5.3 Mbit/s are .35.
        assert!((0.30..0.39).contains(&share), "{kind:?}: {share}");
    }
}

/// Losses are repaired by reports, so these go on where their path is ahead of its ceiling.
#[test]
fn reports_do_not_wait_for_a_ceiling() {
    let lowest = Tariff {
        ceiling: Some(Rate(100_000)),
        ..Tariff::FREE
    };
    let mut endpoint = Endpoint::new(&EndpointConfig {
        paths: 1,
        tariffs: [lowest].into_iter().collect(),
        ..config(PolicyConfig::InTime(policy(200, 10)))
    })
    .unwrap();
    let mut send = |ms| {
        let meta = meta(Kind::Opaque, 1500);
        let payload = Packet(0, 1500);
        let input = Input::Packet { meta, payload };
        wake(&mut endpoint, at(ms), Wake::Input(input))
    };
    let is_dropped = |output: &Output<Packet>| {
        let reason = DropReason::QueueFull;
        *output == Output::Event(Event::Dropped { reason, len: 1500 })
    };
    // It takes 120 ms.
    assert!(!send(0).iter().any(is_dropped));
    assert!(send(0).iter().any(is_dropped));
    assert!(send(15).iter().any(is_dropped));
    let body = Body::Reported {
        payload: Packet(0, 1000),
        attempt: Attempt::First,
    };
    let frame = Frame {
        path: FIRST,
        epoch: Epoch(0),
        sequence: 0,
        sent: at(0),
        body,
    };
    wake(&mut endpoint, at(1), Wake::Input(Input::Frame(frame)));
    let due = endpoint.deadline().unwrap().at;
    assert!(due < at(20), "{due}");
    let outputs = wake(&mut endpoint, due, Wake::Timeout);
    let is_report = |output: &Output<Packet>| matches!(output, Output::Transmit(frame) if frame.body.kind() == FrameKind::Report);
    assert!(outputs.iter().any(is_report), "{outputs:?}");
}
