//! Packets in fragments over several paths.

use super::*;
use crate::fragment::{FragmentStatistics, MAX_INCOMPLETE};
use crate::frame::FRAGMENT_HEADER_LEN;
use crate::policy::DiversityConfig;

fn fragments(recovery: u8) -> PolicyConfig {
    PolicyConfig::Diversity(DiversityConfig {
        recovery: Some(recovery),
        ..DiversityConfig::default()
    })
}

/// An end with `paths` paths whose payloads are bytes.
fn end(paths: u8, recovery: u8) -> Endpoint<Vec<u8>> {
    Endpoint::new(&EndpointConfig {
        paths,
        ..config(fragments(recovery))
    })
    .unwrap()
}

/// An IPv4 packet with this number in it.
fn packet(number: u64, ecn: Ecn) -> Vec<u8> {
    let mut bytes = alloc::vec![0; 200];
    bytes[..4].copy_from_slice(&[0x45, ecn.codepoint(), 0, 200]);
    bytes[8..10].copy_from_slice(&[64, 17]);
    bytes[100..108].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn outputs<P: Payload>(end: &mut Endpoint<P>, now: Time, input: Input<P>) -> Vec<Output<P>> {
    let mut outputs = Vec::new();
    step(end, now, Wake::Input(input), &mut |output| {
        outputs.push(output);
    });
    outputs
}

fn transmitted(outputs: Vec<Output<Vec<u8>>>) -> Vec<Frame<Vec<u8>>> {
    let frames = outputs.into_iter().filter_map(|output| match output {
        Output::Transmit(frame) => Some(frame),
        _ => None,
    });
    frames.collect()
}

fn send_packet(end: &mut Endpoint<Vec<u8>>, now: Time, payload: Vec<u8>) -> Vec<Frame<Vec<u8>>> {
    let meta = meta(Kind::Data, 200);
    transmitted(outputs(end, now, Input::Packet { meta, payload }))
}

/// The packets that `end` delivers of these frames.
fn arrive(
    end: &mut Endpoint<Vec<u8>>,
    now: Time,
    frames: impl IntoIterator<Item = Frame<Vec<u8>>>,
) -> Vec<Vec<u8>> {
    let all = frames
        .into_iter()
        .flat_map(|frame| outputs(end, now, Input::Frame(frame)));
    let delivered = all.filter_map(|output| match output {
        Output::Deliver(packet) => Some(packet),
        _ => None,
    });
    delivered.collect()
}

#[test]
fn each_path_carries_a_fragment() {
    let mut near = end(4, 1);
    let frames = send_packet(&mut near, at(0), packet(1, Ecn::NotEct));
    let paths: Vec<u8> = frames.iter().map(|frame| frame.path.0).collect();
    assert_eq!(paths, [0, 1, 2, 3]);
    for frame in &frames {
        assert_eq!(frame.body.kind(), FrameKind::Fragment);
        assert_eq!(frame.sequence, 0);
        // A third of 200 bytes.
        assert_eq!(frame.body.len(), usize::from(FRAGMENT_HEADER_LEN) + 67);
    }
}

proptest! {
    /// A packet arrives once, and exactly if at most `recovery` of its fragments are lost.
    #[test]
    fn as_many_fragments_may_be_lost_as_are_for_recovery(
        (paths, recovery) in (3_u8..7).prop_flat_map(|paths| (Just(paths), 1..=paths - 2)),
        losses in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let (mut near, mut far) = (end(paths, recovery), end(paths, recovery));
        let needed = paths - recovery;
        let mut arrived = 0;
        for (number, lost) in (0..).zip(&losses) {
            let sent = packet(number, Ecn::NotEct);
            let frames = send_packet(&mut near, at(number), sent.clone());
            let left: Vec<_> = frames
                .into_iter()
                .filter(|frame| lost & (1 << frame.path.0) == 0)
                .collect();
            let is_expected = left.len() >= needed.into();
            let delivered = arrive(&mut far, at(number), left);
            prop_assert_eq!(delivered, if is_expected { alloc::vec![sent] } else { Vec::new() });
            arrived += u64::from(is_expected);
        }
        let restored = far.fragment_statistics().map_or(0, |seen| seen.restored);
        prop_assert_eq!(restored, arrived);
    }
}

/// Delivers a packet, of whose fragments the first has this mark on its way.
fn marked_on_the_way(inner: Ecn, outer: Ecn) -> Vec<Vec<u8>> {
    let (mut near, mut far) = (end(3, 1), end(3, 1));
    let mut frames = send_packet(&mut near, at(0), packet(1, inner));
    for frame in &frames {
        assert_eq!(
            frame.body.traffic_class().ecn,
            inner,
            "the outer header is the packet's"
        );
    }
    if outer == Ecn::Ce {
        frames[0].body.mark_ce();
    }
    arrive(&mut far, at(0), frames)
}

#[test]
fn a_mark_on_the_way_reaches_the_packet() {
    let plain = marked_on_the_way(Ecn::Ect0, Ecn::Ect0);
    assert_eq!(plain, [packet(1, Ecn::Ect0)]);
    let marked = marked_on_the_way(Ecn::Ect0, Ecn::Ce);
    assert_eq!(marked.len(), 1);
    assert_eq!(marked[0].ecn(), Ecn::Ce);
}

#[test]
fn a_packet_that_cannot_carry_a_mark_is_dropped() {
    let (mut near, mut far) = (end(3, 1), end(3, 1));
    let mut frames = send_packet(&mut near, at(0), packet(1, Ecn::NotEct));
    let Body::Fragment { header, .. } = &mut frames[1].body else {
        panic!("no fragment");
    };
    header.traffic_class.ecn = Ecn::Ce;
    let seen: Vec<_> = frames
        .into_iter()
        .flat_map(|frame| outputs(&mut far, at(0), Input::Frame(frame)))
        .collect();
    let reason = DropReason::WrongMark;
    let dropped = Output::Event(Event::Dropped { reason, len: 200 });
    assert!(seen.contains(&dropped), "{seen:?}");
    assert!(
        !seen
            .iter()
            .any(|output| matches!(output, Output::Deliver(_)))
    );
}

#[test]
fn a_peer_that_restores_nothing_gets_copies() {
    let mut near = end(3, 1);
    outputs(&mut near, at(0), Input::PeerFragments(false));
    let frames = send_packet(&mut near, at(0), packet(1, Ecn::NotEct));
    assert_eq!(frames.len(), 3);
    assert!(
        frames
            .iter()
            .all(|frame| frame.body.kind() == FrameKind::Data)
    );
    outputs(&mut near, at(1), Input::PeerFragments(true));
    let frames = send_packet(&mut near, at(1), packet(2, Ecn::NotEct));
    assert!(
        frames
            .iter()
            .all(|frame| frame.body.kind() == FrameKind::Fragment)
    );
}

#[test]
fn incomplete_packets_are_bounded_and_counted() {
    let (mut near, mut far) = (end(3, 1), end(3, 1));
    let packets = 2 * MAX_INCOMPLETE as u64;
    for number in 0..packets {
        let frames = send_packet(&mut near, at(number), packet(number, Ecn::NotEct));
        assert!(arrive(&mut far, at(number), frames.into_iter().take(1)).is_empty());
        assert!(far.buffered() <= far.capacity());
    }
    let statistics = FragmentStatistics {
        restored: 0,
        incomplete: packets - MAX_INCOMPLETE as u64,
    };
    assert_eq!(far.fragment_statistics(), Some(statistics));
}

#[test]
fn a_restarted_sender_is_received() {
    let (mut near, mut far) = (end(3, 1), end(3, 1));
    for number in 0..5 {
        let frames = send_packet(&mut near, at(number), packet(number, Ecn::NotEct));
        arrive(&mut far, at(number), frames.into_iter().take(1));
    }
    outputs(&mut far, at(5), Input::PeerRestarted);
    let mut near = end(3, 1);
    for number in 0..5 {
        let sent = packet(100 + number, Ecn::NotEct);
        let frames = send_packet(&mut near, at(number), sent.clone());
        assert_eq!(arrive(&mut far, at(10 + number), frames), [sent]);
    }
}

#[test]
fn the_policy_changes_under_traffic() {
    let (mut near, mut far) = (end(4, 1), end(4, 1));
    let policies = [fragments(2), PolicyConfig::DuplicateAll {}, fragments(1)];
    let mut number = 0;
    for policy in policies {
        for _ in 0..3 {
            let sent = packet(number, Ecn::NotEct);
            let frames = send_packet(&mut near, at(number), sent.clone());
            assert_eq!(arrive(&mut far, at(number), frames), [sent]);
            number += 1;
        }
        let to = Adjustment::new(&EndpointConfig {
            paths: 4,
            ..config(policy)
        });
        outputs(&mut near, at(number), Input::Adjust(to.unwrap()));
    }
}

#[test]
fn simulated_packets_have_the_sizes_of_fragments() {
    let mut near: Endpoint<Packet> = Endpoint::new(&EndpointConfig {
        paths: 3,
        ..config(fragments(1))
    })
    .unwrap();
    let input = Input::Packet {
        meta: meta(Kind::Data, 1000),
        payload: Packet(0, 1000),
    };
    let sizes: Vec<u32> = outputs(&mut near, at(0), input)
        .into_iter()
        .filter_map(|output| match output {
            Output::Event(Event::FrameOut { len, .. }) => Some(len),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [500 + u32::from(FRAGMENT_HEADER_LEN); 3]);
}
