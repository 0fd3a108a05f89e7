use super::*;
use polypath_core::rng::{Seed, Stream};
use proptest::prelude::*;

use crate::datagram::{INITIATION, RESPONSE, TRANSPORT};
use crate::entropy::{Entropy, EntropyError};
use net::{DELAY, Delivery, Net, PATHS, WALL, config, end, lossless};

mod attacks;
mod clock;
mod floods;
mod net;
mod preshared;
mod renewal;

fn seconds(n: u64) -> Time {
    Time::ZERO + Duration::from_secs(n)
}

#[test]
fn when_both_initiate_one_session_is_established_after_one_and_a_half_round_trips() {
    let mut net = Net::configured();
    net.run(Time::ZERO + DELAY * 3);
    assert!(net.established());
    net.offer(0, 0, "to b");
    net.offer(1, 1, "to a");
    net.run(seconds(1));
    assert_eq!(net.ends[1].opened, [(PathId(0), Bytes::from("to b"))]);
    assert_eq!(net.ends[0].opened, [(PathId(1), Bytes::from("to a"))]);
    let established = net
        .ends
        .iter()
        .map(|end| end.session.counters().established);
    assert_eq!(established.collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn frames_are_queued_for_the_session_and_the_oldest_are_dropped() {
    let mut net = Net::configured();
    for n in 0..70_u8 {
        net.offer(0, 0, vec![n; 30]);
    }
    net.run(seconds(1));
    let firsts: Vec<u8> = net.frames(1).iter().map(|frame| frame[0]).collect();
    assert_eq!(firsts, (6..70).collect::<Vec<u8>>());
    assert_eq!(net.ends[0].session.counters().discarded, 6);
}

#[test]
fn a_node_without_addresses_waits_and_learns_every_path() {
    let mut passive = config("b", "a", WALL);
    passive.reachable = vec![false; usize::from(PATHS)];
    let mut net = Net::new(config("a", "b", WALL), passive);
    net.run(seconds(1));
    assert!(net.established());
    assert_eq!(net.ends[1].session.counters().initiated, 0);
    assert_eq!(net.ends[1].session.reachable, [true, true]);
}

/// Node 1 has no configured addresses. Path 0 to it is the faster one and loses its responses; path
/// 1 works in both directions.
#[test]
fn a_one_way_path_does_not_prevent_a_handshake_on_another() {
    let mut passive = config("b", "a", WALL);
    passive.reachable = vec![false; usize::from(PATHS)];
    let mut net = Net::new(config("a", "b", WALL), passive);
    net.delivery = Box::new(|who, path, datagram| match (who, path) {
        (1, PathId(0)) => vec![],
        (_, PathId(0)) => vec![(DELAY, datagram.clone())],
        _ => vec![(DELAY * 2, datagram.clone())],
    });
    net.run(seconds(2));
    assert!(net.established());
    assert_eq!(net.ends[1].session.counters().initiated, 0);
    assert_eq!(
        net.ends[0].session.counters().initiated,
        1,
        "the first attempt"
    );
}

#[test]
fn a_path_that_comes_up_later_is_confirmed() {
    let mut net = Net::configured();
    net.ends[1].session.reachable = vec![false; usize::from(PATHS)];
    net.delivery = Box::new(|_, path, datagram| match path {
        PathId(0) => vec![(DELAY, datagram.clone())],
        _ => vec![],
    });
    net.run(seconds(7));
    assert_eq!(net.ends[1].session.reachable, [true, false]);
    net.delivery = lossless();
    net.run(seconds(13));
    assert_eq!(net.ends[1].session.reachable, [true, true]);
    let sent = net.ends[0].sent;
    net.run(seconds(60));
    assert_eq!(
        net.ends[0].sent, sent,
        "nothing is sent once all paths are confirmed"
    );
}

#[test]
fn initiations_with_unknown_keys_are_not_answered() {
    // A sender that knows the public key of `a`, and one that uses another key for it.
    let mut net = Net::new(config("a", "b", WALL), config("c", "a", WALL));
    net.run(Time::ZERO);
    net.delivery = Box::new(|who, _, datagram| match who {
        1 => vec![(DELAY, datagram.clone())],
        _ => vec![],
    });
    net.log.clear();
    net.run(seconds(9));
    assert!(net.rejected(0, Reject::WrongKey) > 4);
    assert!(
        net.log
            .iter()
            .all(|(who, _, d)| *who == 1 || d[0] == INITIATION)
    );

    let mut net = Net::new(config("a", "b", WALL), config("c", "d", WALL));
    net.run(seconds(9));
    assert!(net.rejected(0, Reject::BadMac) > 4);
    assert!(net.log.iter().all(|(_, _, d)| d[0] == INITIATION));
    assert!(!net.ends[0].session.is_established());
}

#[test]
fn replayed_datagrams_of_every_type_are_counted_and_not_answered() {
    let mut net = Net::configured();
    net.run(seconds(1));
    net.offer(0, 0, "once");
    net.run(seconds(2));
    let initiator = net.ends.iter().position(|end| {
        end.events
            .contains(&SessionEvent::Established { initiator: true })
    });
    let initiator = initiator.unwrap();
    let responder = 1 - initiator;
    let sent = [net.ends[0].sent, net.ends[1].sent];
    for (from, kind) in [
        (initiator, INITIATION),
        (responder, RESPONSE),
        (0, TRANSPORT),
    ] {
        let (path, datagram) = net.last(from, kind);
        for _ in 0..3 {
            net.inject(1 - from, path.0, datagram.clone());
        }
    }
    net.run(seconds(3));
    assert_eq!(
        [net.ends[0].sent, net.ends[1].sent],
        sent,
        "no reply to a replay"
    );
    assert_eq!(net.rejected(1, Reject::Replayed), 3);
    assert_eq!(net.frames(1), ["once"]);
    assert!(net.rejected(responder, Reject::HandshakeCopy) >= 3);
}

#[test]
fn an_older_initiation_is_not_answered() {
    let mut net = Net::configured();
    net.run(seconds(1));
    let old = [net.last(0, INITIATION), net.last(1, INITIATION)];
    // Both initiated; the rekey brings a newer initiation of one node.
    net.run(seconds(300));
    for (from, (path, datagram)) in old.into_iter().enumerate() {
        let sent = net.ends[1 - from].sent;
        net.inject(1 - from, path.0, datagram);
        assert_eq!(net.ends[1 - from].sent, sent, "a reply to a replay");
    }
    assert!(net.rejected(0, Reject::StaleTimestamp) + net.rejected(1, Reject::StaleTimestamp) > 0);
}

#[test]
fn every_changed_bit_and_every_truncation_is_rejected() {
    let mut net = Net::configured();
    net.run(seconds(1));
    net.offer(0, 0, "frame");
    let (path, good) = net.last(0, TRANSPORT);
    let before = net.ends[1].session.counters().rejected_total();
    let mut bad = 0;
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut changed = good.to_vec();
            changed[at] ^= 1 << bit;
            net.inject(1, path.0, changed.into());
            bad += 1;
        }
        net.inject(1, path.0, good.slice(..at));
        bad += 1;
    }
    net.inject(1, path.0, vec![TRANSPORT; 1501].into());
    net.inject(1, 1, good.clone());
    net.inject(1, PATHS, good);
    assert_eq!(net.rejected(1, Reject::Oversized), 1);
    assert_eq!(net.rejected(1, Reject::UnknownPath), 1);
    assert!(net.rejected(1, Reject::WrongPath) >= 6);
    let counters = net.ends[1].session.counters();
    assert_eq!(counters.rejected_total() - before, bad + 3);
    assert!(net.frames(1).is_empty());
    net.run(seconds(2));
    assert_eq!(net.frames(1), ["frame"], "the original still opens");
}

#[test]
fn keys_are_renewed_under_traffic_without_loss() {
    let mut net = Net::configured();
    let frames = 40_000_u32;
    for n in 0..frames {
        net.run(Time::ZERO + Duration::from_millis(10) * u64::from(n));
        net.offer(0, u8::from(n % 3 == 0), n.to_be_bytes().to_vec());
        net.offer(1, 1, n.to_be_bytes().to_vec());
    }
    net.run(net.now + Duration::from_secs(1));
    assert!(net.ends[0].session.counters().established >= 4);
    for who in 0..2 {
        let numbers: Vec<u32> = net
            .frames(who)
            .iter()
            .map(|f| u32::from_be_bytes(f[..4].try_into().unwrap()))
            .collect();
        assert_eq!(numbers, (0..frames).collect::<Vec<_>>());
    }
}

#[test]
fn a_busy_session_renews_its_keys_by_count() {
    let limits = Limits {
        rekey_after_count: 100,
        ..Limits::default()
    };
    let a = SessionConfig {
        limits,
        ..config("a", "b", WALL)
    };
    let mut net = Net::new(a, config("b", "a", WALL));
    net.run(seconds(1));
    for n in 0..1000_u64 {
        net.run(seconds(1) + Duration::from_millis(n));
        net.offer(0, 0, "frame");
    }
    net.run(seconds(3));
    assert!(net.ends[0].session.counters().established >= 5);
    assert_eq!(net.frames(1).len(), 1000);
}

/// Draws indices of three bits, which collide often.
struct FewIndices(Stream);

impl Entropy for FewIndices {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        self.0.fill(bytes)?;
        if let [rest @ .., last] = bytes
            && rest.len() == 3
        {
            rest.fill(0);
            *last &= 7;
        }
        Ok(())
    }
}

#[test]
fn an_index_in_use_is_drawn_again() {
    let mut net = Net::configured();
    for (end, name) in net.ends.iter_mut().zip(["a", "b"]) {
        let config = config(name, if name == "a" { "b" } else { "a" }, WALL);
        let entropy = FewIndices(Seed(5).stream(name));
        end.session = Session::new(config, Box::new(entropy));
    }
    let frames = 20_000_u32;
    for n in 0..frames {
        net.run(Time::ZERO + Duration::from_millis(200) * u64::from(n));
        net.offer(0, 0, n.to_be_bytes().to_vec());
    }
    net.run(net.now + Duration::from_secs(1));
    assert!(net.ends[0].session.counters().established > 30);
    assert_eq!(net.frames(1).len(), frames as usize);
}

#[test]
fn a_different_number_of_paths_is_reported_once_by_both_nodes() {
    let mut three = config("b", "a", WALL);
    three.reachable = vec![true; 3];
    let mut net = Net::new(config("a", "b", WALL), three);
    net.run(seconds(400));
    for (who, own, peer) in [(0, 2, 3), (1, 3, 2)] {
        let end = &net.ends[who];
        assert!(end.session.counters().established > 2);
        assert_eq!(end.session.peer_paths(), Some(peer));
        let expected = SessionEvent::PathsDiffer { own, peer };
        let count = end
            .events
            .iter()
            .filter(|event| **event == expected)
            .count();
        assert_eq!(count, 1, "{:?}", end.events);
    }
    let mut net = Net::configured();
    net.run(seconds(1));
    assert_eq!(net.ends[0].session.peer_paths(), Some(PATHS));
    let differ = |event: &SessionEvent| matches!(event, SessionEvent::PathsDiffer { .. });
    assert!(!net.ends.iter().any(|end| end.events.iter().any(differ)));
}

#[test]
fn keys_that_cannot_be_renewed_expire() {
    let mut net = Net::configured();
    net.run(seconds(100));
    net.delivery = Box::new(|_, _, _| vec![]);
    net.run(seconds(179));
    assert!(net.established());
    net.run(seconds(181));
    assert!(
        net.ends
            .iter()
            .all(|end| end.events.contains(&SessionEvent::Expired))
    );
    assert!(!net.ends[0].session.is_established() && !net.ends[1].session.is_established());
    net.delivery = lossless();
    net.run(seconds(187));
    assert!(net.established());
}

/// Restarts node 1 after 31 s, and returns the time until a frame reaches it again.
fn restart(knows_address: bool) -> Duration {
    let mut b = config("b", "a", WALL);
    b.reachable.fill(knows_address);
    let mut net = Net::new(config("a", "b", WALL), b.clone());
    net.run(seconds(30));
    net.offer(0, 0, "before");
    net.run(seconds(31));
    assert_eq!(net.frames(1), ["before"]);
    // The clock of the new run starts at zero; the wall clock continued.
    b.wall_clock = WALL + 31_000_000_000 - net.now.0;
    net.ends[1] = end(b, 3);
    for n in 0..200_u64 {
        net.run(seconds(31) + Duration::from_millis(100) * n);
        net.offer(0, 0, "after");
        if !net.frames(1).is_empty() {
            break;
        }
    }
    assert!(!net.frames(1).is_empty());
    let gap = net.now.since(seconds(31));
    net.run(net.now + Duration::from_secs(1));
    net.offer(1, 1, "back");
    net.run(net.now + Duration::from_secs(1));
    assert_eq!(net.frames(0), ["back"]);
    gap
}

#[test]
fn a_restarted_node_with_configured_addresses_is_reached_at_once() {
    let gap = restart(true);
    assert!(gap <= Duration::from_millis(200), "{gap}");
}

#[test]
fn a_restarted_node_without_addresses_is_reached_after_the_silence_timeout() {
    let gap = restart(false);
    assert!(gap < Duration::from_secs(13), "{gap}");
}

#[test]
fn the_same_seed_gives_the_same_datagrams() {
    let run = || {
        let mut net = Net::configured();
        net.offer(0, 1, "frame");
        net.run(seconds(200));
        net.log
    };
    assert_eq!(run(), run());
}

/// Loses, delays, duplicates and corrupts datagrams.
fn lossy(mut dice: Stream, loss: f64) -> Delivery {
    Box::new(move |_, _, datagram| {
        let mut copies = Vec::new();
        for _ in 0..=u8::from(dice.chance(0.2)) {
            if dice.chance(loss) {
                continue;
            }
            let mut bytes = datagram.to_vec();
            if dice.chance(0.1) {
                let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
                bytes[at] ^= 1 << dice.below(8);
            }
            if dice.chance(0.05) {
                bytes.truncate(usize::try_from(dice.below(bytes.len() as u64)).unwrap());
            }
            copies.push((
                Duration::from_micros(1000 + dice.below(60_000)),
                bytes.into(),
            ));
        }
        copies
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A network that loses, reorders, duplicates, corrupts and truncates causes neither duplicate
    /// nor forged frames, and does not prevent the session.
    #[test]
    fn no_frame_is_duplicated_or_forged(seed: u64, loss in 0.0..0.4_f64) {
        let mut net = Net::configured();
        net.delivery = lossy(Seed(seed).stream("network"), loss);
        net.run(seconds(60));
        prop_assert!(net.established());
        for n in 0..400_u32 {
            net.run(seconds(60) + Duration::from_millis(u64::from(n)));
            net.offer(0, u8::from(n % 2 == 0), n.to_be_bytes().to_vec());
        }
        net.run(seconds(65));
        let mut numbers: Vec<u32> = Vec::new();
        for frame in net.frames(1) {
            numbers.push(u32::from_be_bytes(frame[..].try_into().unwrap()));
        }
        let arrived = numbers.len();
        prop_assert!(arrived > 100);
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), arrived);
        prop_assert!(numbers.iter().all(|n| *n < 400));
    }

    /// Whenever both nodes initiate, and whatever the delays and losses, they agree on keys: frames
    /// arrive at once, and still when the retired keys are gone.
    #[test]
    fn nodes_that_initiate_at_the_same_time_agree_on_keys(
        seed: u64,
        loss in 0.0..0.3_f64,
        max_delay_ms in 1_u64..400,
        lossy_ms in 0_u64..6_000,
    ) {
        let mut net = Net::configured();
        let mut stream = Seed(seed).stream("network");
        let mut random = move |_: usize, _: PathId, datagram: &Bytes| {
            let delay = Duration::from_millis(1 + stream.below(max_delay_ms));
            let is_lost = stream.chance(loss);
            if is_lost { vec![] } else { vec![(delay, datagram.clone())] }
        };
        net.delivery = Box::new(move |who, path, datagram| random(who, path, datagram));
        net.run(Time::ZERO + Duration::from_millis(lossy_ms));
        net.delivery = lossless();
        let settled = net.now + Duration::from_secs(6);
        net.run(settled);
        prop_assert!(net.established());
        let before = [0, 1].map(|who| net.frames(who).len());
        for n in 0..600_u64 {
            net.run(settled + Duration::from_millis(50) * n);
            net.offer(0, 0, "to b");
            net.offer(1, 1, "to a");
        }
        net.run(net.now + DELAY);
        let arrived = [0, 1].map(|who| net.frames(who).len() - before[who]);
        prop_assert_eq!(arrived, [600; 2]);
    }

    /// Arbitrary bytes neither panic nor get a reply.
    #[test]
    fn arbitrary_bytes_are_not_answered(
        kind in 0_u8..5,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut net = Net::configured();
        net.run(seconds(1));
        let sent = net.ends[0].sent;
        let datagram: Bytes = [&[kind][..], &bytes].concat().into();
        net.inject(0, 0, datagram);
        prop_assert_eq!(net.ends[0].sent, sent);
        prop_assert!(net.ends[0].session.counters().rejected_total() >= 1);
    }
}
