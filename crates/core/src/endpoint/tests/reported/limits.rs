//! Paths with a ceiling or a quota.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::network::{Network, TestPath};
use super::*;
use crate::frame::Attempt;
use crate::liveness::LivenessConfig;
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
    // The other end's heartbeats before the notice, and nothing after it.
    assert!(bytes < 1000, "{bytes}");
    assert_eq!(metered_bytes(&network, 2..10), 0);
}

/// Nobody but the metered path can carry the notice: it does.
#[test]
fn a_quota_holds_beside_a_path_that_does_not_work() {
    for end in [0, 1] {
        let mut network = metered_at(end);
        network.paths[FIRST.index()].loses = |_, _| true;
        network.stream(20);
        let used = metered_bytes(&network, 0..30);
        assert!((QUOTA.0 - 700_000..=QUOTA.0).contains(&used), "{used}");
        assert_eq!(metered_bytes(&network, 9..30), 0, "closed");
        let peer = network.ends[1 - end].path_usage(SECOND).unwrap();
        assert!(peer.is_closed_by_peer, "{peer:?}");
    }
}

/// For end 1 the other end has restarted, and does not seem to have closed a path: it gets another
/// notice.
#[test]
fn a_peer_that_sends_on_a_closed_path_gets_another_notice() {
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

/// A network with these ceilings in Mbit/s, and a stream of `rate` Mbit/s in packets of 200 B,
/// which have 60 B of headers.
fn small_packets(ceilings: &[u64], rate: f64) -> Network {
    let limited = |mbits: &u64| Tariff {
        ceiling: Some(Rate::from_mbits(*mbits)),
        ..Tariff::FREE
    };
    let tariffs: Vec<Tariff> = ceilings.iter().map(limited).collect();
    let paths = vec![TestPath::new(20, never), TestPath::new(30, never)];
    let mut network = Network::with_tariffs(policy(200, 10), paths, 1, [&tariffs, &[]]);
    network.packet = 200;
    network.interval = Duration::from_secs_f64(1600.0 / rate / 1e6);
    network.stream(20);
    network
}

/// The headers count: what exceeds the ceiling with them goes on the other path, packet by packet.
#[test]
fn small_packets_share_paths_with_ceilings() {
    // 1.17 Mbit/s on the wire, and 1.95 of 3.
    for (ceilings, rate, most) in [(&[1][..], 0.9, 0.9), (&[1, 2], 1.5, 0.6)] {
        let network = small_packets(ceilings, rate);
        let share = network.share(FIRST, 2..20);
        std::println!("{rate} Mbit/s at ceilings {ceilings:?}: {share:.3} on the first");
        assert!(network.late(MS * 200) <= 0.000_2, "{ceilings:?}");
        assert!(network.moves.len() <= 2, "{:?}", network.moves);
        assert!(share > 0.3 && share < most, "{ceilings:?}: {share}");
        for second in 1..21 {
            let bytes = network.path_bytes[&(FIRST, second)];
            // 0.1 s ahead, and 2 % of reports from the other end.
            let most = Rate::from_mbits(1).bytes_in(MS * 1110).0 * 51 / 50;
            assert!(bytes <= most, "{bytes} in second {second}");
        }
    }
}

/// A path that is ahead of its ceiling for a moment does not make a packet too long: hosts would
/// remember a smaller MTU for minutes.
#[test]
fn a_ceiling_does_not_change_the_mtu() {
    let lowest = Tariff {
        ceiling: Some(Rate(100_000)),
        ..Tariff::FREE
    };
    let mut endpoint = Endpoint::new(&EndpointConfig {
        paths: 2,
        tariffs: [lowest].into_iter().collect(),
        liveness: Some(LivenessConfig::default()),
        ..config(PolicyConfig::InTime(policy(200, 10)))
    })
    .unwrap();
    for (path, mtu) in [(FIRST, 1500), (SECOND, 1300)] {
        let input = Input::InterfaceMtu {
            path,
            mtu,
            rerouted: false,
        };
        wake(&mut endpoint, at(0), Wake::Input(input));
    }
    let mut send = || {
        let meta = meta(Kind::Opaque, 1400);
        let payload = Packet(0, 1400);
        wake(
            &mut endpoint,
            at(1),
            Wake::Input(Input::Packet { meta, payload }),
        )
    };
    assert!(
        send()
            .iter()
            .any(|output| matches!(output, Output::Transmit(_)))
    );
    let outputs = send();
    let reason = DropReason::QueueFull;
    let dropped = Output::Event(Event::Dropped { reason, len: 1400 });
    assert!(outputs.contains(&dropped), "{outputs:?}");
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

/// A wake that comes late, and finds many packets missing, repairs as many as paths with ceilings
/// carry, and the others when it is their turn.
#[test]
fn repairs_wait_for_a_ceiling() {
    const PACKETS: u32 = 30;
    let ceiling = Rate(100_000);
    let limited = Tariff {
        ceiling: Some(ceiling),
        ..Tariff::FREE
    };
    let mut endpoint = Endpoint::new(&EndpointConfig {
        paths: 2,
        tariffs: [limited, limited].into_iter().collect(),
        ..config(PolicyConfig::InTime(policy(4000, 100)))
    })
    .unwrap();
    for number in 0..PACKETS {
        let meta = meta(Kind::Opaque, 200);
        let payload = Packet(number, 200);
        let input = Input::Packet { meta, payload };
        wake(
            &mut endpoint,
            at(u64::from(number) * 30),
            Wake::Input(input),
        );
    }
    let mut repairs: [Vec<(Time, u32)>; 2] = Default::default();
    let mut now = at(3000);
    while now < at(4000) {
        for output in wake(&mut endpoint, now, Wake::Timeout) {
            if let Output::Transmit(frame) = output
                && let Body::Reported { payload, attempt } = frame.body
            {
                assert_eq!(attempt, Attempt::Repair);
                repairs[frame.path.index()].push((now, payload.0));
            }
        }
        now = endpoint
            .deadline()
            .map_or(at(4000), |due| due.at.max(now + MS));
    }
    for path in &repairs {
        for (sent, (time, _)) in (1..).zip(path) {
            let ahead = time.since(at(3000)) + MS * 100;
            let most = ceiling.bytes_in(ahead).0 + 200;
            assert!(sent * 200 <= most, "{path:?}");
        }
        assert!(path.iter().any(|(time, _)| *time > at(3100)), "{path:?}");
    }
    let repaired = repairs.iter().flatten().map(|(_, number)| *number);
    let repaired: std::collections::BTreeSet<u32> = repaired.collect();
    assert_eq!(repaired, (0..PACKETS).collect(), "{repairs:?}");
}
