//! Forged and replayed handshake messages.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::net::{DELAY, Net, WALL, config, end, key, lossless, peer_source};
use super::seconds;
use crate::address::Source;
use crate::datagram::{INITIATION, RESPONSE, SESSION_MAC_OFFSET};
use crate::event::{Reject, SessionEvent};
use crate::mac::{MAC_LEN, MacKey};
use crate::session::SessionConfig;
use crate::session::admission::MAX_REMEMBERED;

/// `datagram` with one bit flipped, and the MAC of the result for `to`.
fn forge(datagram: &Bytes, bit: usize, to: &str) -> Bytes {
    let mut bytes = datagram.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    let covered = covered_len(datagram);
    let mac = MacKey::of_handshakes_to(&key(to).public()).tag(&[&bytes[..covered]]);
    bytes[covered..covered + MAC_LEN].copy_from_slice(&mac);
    bytes.into()
}

/// The number of bytes that the MAC of a handshake message covers.
fn covered_len(datagram: &Bytes) -> usize {
    let end = if datagram[0] == INITIATION {
        SESSION_MAC_OFFSET
    } else {
        datagram.len()
    };
    end - MAC_LEN
}

/// The different initiations that a node has sent.
pub(super) fn initiations(net: &Net, who: usize) -> Vec<Bytes> {
    let log = net.log.iter().filter(|entry| entry.0 == who);
    let mut all: Vec<Bytes> = log
        .map(|(_, _, datagram)| datagram.clone())
        .filter(|datagram| datagram[0] == INITIATION)
        .collect();
    all.dedup();
    all
}

#[test]
fn an_initiation_with_a_flipped_bit_and_a_valid_mac_is_rejected() {
    let mut net = Net::configured();
    net.delivery = Box::new(|_, _, _| vec![]);
    net.run(Time::ZERO);
    let (path, good) = net.last(0, INITIATION);
    let bits = 8..covered_len(&good) * 8;
    for bit in bits.clone() {
        // Below the rate limit of initiations.
        net.run(net.now + Duration::from_millis(60));
        let sent = net.ends[1].sent;
        net.inject(1, path.0, forge(&good, bit, "b"));
        assert_eq!(net.ends[1].sent, sent, "bit {bit} was answered");
    }
    let refused = net.rejected(1, Reject::Undecryptable) + net.rejected(1, Reject::WrongKey);
    assert_eq!(refused, bits.len() as u64);
    assert_eq!(net.rejected(1, Reject::Throttled), 0);
    // By now node 1 has made enough attempts to accept the peer's initiation, whichever key is
    // smaller.
    net.inject(1, path.0, good);
    assert_eq!(net.last(1, RESPONSE).0, path, "the original is answered");
}

/// Node 0 awaits the response that node 1 has sent.
fn awaiting_response() -> (Net, PathId, Bytes) {
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    net.run(Time::ZERO + DELAY);
    let (path, good) = net.last(1, RESPONSE);
    (net, path, good)
}

#[test]
fn a_response_with_a_flipped_bit_and_a_valid_mac_is_rejected() {
    let (_, _, good) = awaiting_response();
    let bits: Vec<usize> = (8..covered_len(&good) * 8).collect();
    let (mut unknown, mut wrong) = (0, 0);
    // Fewer for each handshake than its budget.
    for bits in bits.chunks(300) {
        let (mut net, path, good) = awaiting_response();
        for bit in bits {
            net.inject(0, path.0, forge(&good, *bit, "a"));
        }
        unknown += net.rejected(0, Reject::UnknownIndex);
        wrong += net.rejected(0, Reject::WrongResponse);
        assert!(!net.ends[0].session.is_established());
        net.inject(0, path.0, good);
        let is_established = net.ends[0].session.is_established();
        assert!(is_established, "the original completes it");
    }
    assert_eq!((unknown, wrong), (32, bits.len() as u64 - 32));
}

/// Each costs two Diffie-Hellman operations.
#[test]
fn forged_responses_are_limited_on_each_path() {
    let (mut net, _, good) = awaiting_response();
    let last_bit = (covered_len(&good) - 1) * 8;
    let forged = forge(&good, last_bit, "a");
    for _ in 0..1000 {
        net.inject(0, 0, forged.clone());
    }
    assert_eq!(net.rejected(0, Reject::WrongResponse), 400);
    assert_eq!(net.rejected(0, Reject::TooManyResponses), 600);
    net.inject(0, 1, good);
    assert!(net.ends[0].session.is_established(), "on the other path");
}

/// An observer's copies of every initiation arrive before those of the peer. Node 1 knows no
/// address, so that it answers to the source.
#[test]
fn copies_that_outrun_an_initiation_do_not_prevent_the_handshake() {
    for path in 0..2 {
        let mut b = config("b", "a", WALL);
        b.reachable.fill(false);
        let mut net = Net::new(config("a", "b", WALL), b);
        net.run(Time::ZERO);
        let (_, initiation) = net.last(0, INITIATION);
        let answered = |net: &Net| net.log.iter().filter(|entry| entry.0 == 1).count();
        net.inject_from(Source::from(5), 1, path, initiation.clone());
        assert_eq!(answered(&net), 1);
        let (_, response) = net.last(1, RESPONSE);
        assert!(net.in_flight.values().all(|(to, ..)| *to == 1));
        net.run(Time::ZERO + DELAY);
        assert_eq!(net.last(1, RESPONSE).1, response, "the peer gets the same");
        net.run(Time::ZERO + DELAY * 3);
        assert!(net.established());
        assert_eq!(net.ends[0].session.counters().initiated, 1);
        assert_eq!(net.rejected(1, Reject::HandshakeCopy), 2);
        // Once the peer has used the keys, a copy gets no response.
        let before = answered(&net);
        net.inject_from(Source::from(5), 1, path, initiation);
        assert_eq!(answered(&net), before);
    }
}

/// The attacker exhausts the budgets of strangers and of the peer's address, outruns each initiation
/// with copies of it, and precedes each response with forged ones.
#[test]
fn keys_are_renewed_under_copies_and_forged_responses() {
    let mut b = config("b", "a", WALL);
    b.reachable = vec![false];
    let mut a = config("a", "b", WALL);
    a.reachable = vec![true];
    let mut net = Net::new(a, b);
    net.ends[1].session.initiates = false;
    let junk = super::floods::flood("b");
    let mut junk = junk.iter().cycle();
    let mut seen = 0;
    for n in 0..30_000_u64 {
        net.run(Time::ZERO + Duration::from_millis(10) * n);
        let new: Vec<_> = net.log[seen..].to_vec();
        for (who, path, datagram) in new {
            match (who, datagram[0]) {
                (0, INITIATION) => {
                    for source in [peer_source(), Source::from(5)] {
                        for junk in junk.by_ref().take(20) {
                            net.inject_from(source, 1, path.0, junk.clone());
                        }
                    }
                    for _ in 0..20 {
                        net.inject_from(Source::from(5), 1, path.0, datagram.clone());
                    }
                }
                (1, RESPONSE) => {
                    let last_bit = (covered_len(&datagram) - 1) * 8;
                    let forged = forge(&datagram, last_bit, "a");
                    for _ in 0..100 {
                        net.inject_from(Source::from(5), 0, path.0, forged.clone());
                    }
                }
                _ => {}
            }
        }
        seen = net.log.len();
        if n % 10 == 0 {
            net.offer(0, 0, "to b");
        }
    }
    assert!(!net.ends[0].events.contains(&SessionEvent::Expired));
    assert!(!net.ends[1].events.contains(&SessionEvent::Expired));
    assert!(net.ends[1].session.counters().established >= 3);
}

/// Copies of an answered initiation have the budgets of initiations.
#[test]
fn the_responses_to_copies_are_limited() {
    let mut net = Net::configured();
    net.delivery = Box::new(|_, _, _| vec![]);
    net.ends[1].session.initiates = false;
    net.run(Time::ZERO);
    let (_, initiation) = net.last(0, INITIATION);
    for _ in 0..1000 {
        net.inject_from(Source::from(5), 1, 0, initiation.clone());
    }
    let is_response = |entry: &&(usize, PathId, Bytes)| entry.2[0] == RESPONSE;
    let responses = net.log.iter().filter(is_response).count();
    assert_eq!(responses, 20 + 1, "and one on the other path");
    assert_eq!(net.rejected(1, Reject::HandshakeCopy), 19);
    assert_eq!(net.rejected(1, Reject::CookieRequired), 980);
}

#[test]
fn a_flood_of_replayed_initiations_does_not_block_the_peer() {
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    net.run(seconds(3600));
    let old = initiations(&net, 0);
    assert!(old.len() >= 30, "{}", old.len());
    // The peer restarts during a flood on both paths.
    net.delivery = Box::new(|_, _, _| vec![]);
    let before = net.ends[1].events.len();
    let replay = |net: &mut Net| {
        for datagram in &old[..old.len() - 1] {
            for path in [0, 1] {
                net.inject(1, path, datagram.clone());
            }
        }
    };
    for _ in 0..50 {
        net.run(net.now + Duration::from_millis(1));
        replay(&mut net);
    }
    net.delivery = lossless();
    net.ends[0] = end(config("a", "b", WALL), 9);
    for _ in 0..100 {
        net.run(net.now + Duration::from_millis(1));
        replay(&mut net);
    }
    let established = SessionEvent::Established { initiator: false };
    assert!(
        net.ends[1].events[before..].contains(&established),
        "not established within {}",
        DELAY * 5
    );
    let replayed = 150 * 2 * (old.len() as u64 - 1);
    let counted = net.rejected(1, Reject::StaleTimestamp) + net.rejected(1, Reject::Throttled);
    assert_eq!(counted, replayed, "each is counted");
}

/// The recordings, sent in turn, are forgotten before they are sent again, so that each is decrypted
/// again within the budgets.
#[test]
fn a_flood_of_more_recordings_than_are_remembered_does_not_block_the_peer() {
    for source in [Source::from(666), peer_source()] {
        let mut net = Net::configured();
        net.ends[1].session.initiates = false;
        net.delivery = Box::new(|_, _, _| vec![]);
        net.run(seconds(4_000));
        let old = initiations(&net, 0);
        assert!(old.len() > MAX_REMEMBERED, "{}", old.len());
        net.delivery = lossless();
        net.run(seconds(4_010));
        assert!(net.established());
        let mut recordings = old.iter().cycle();
        let mut replay = |net: &mut Net, times: u32| {
            for _ in 0..times {
                net.run(net.now + Duration::from_millis(1));
                for path in [0, 1].repeat(8) {
                    let datagram = recordings.next().unwrap().clone();
                    net.inject_from(source, 1, path, datagram);
                }
            }
        };
        replay(&mut net, 1_000);
        let remembered = net.ends[1].session.buffered();
        assert!(remembered > 20, "{remembered}");
        net.ends[0] = end(config("a", "b", WALL + 1), 9);
        let restarted = net.ends[1].session.counters().established;
        // The first initiation, its repetition with a cookie, and the first datagram.
        let needed = DELAY * 5 + Duration::from_millis(10);
        let needed = u32::try_from(needed.0 / 1_000_000).unwrap();
        replay(&mut net, needed);
        let established = net.ends[1].session.counters().established;
        assert_eq!(established, restarted + 1);
    }
}

/// A restarted node cannot recognise a replayed initiation: it answers to the source address, and
/// sends nothing else.
#[test]
fn a_replayed_initiation_gives_a_restarted_node_no_address() {
    let mut passive = config("b", "a", WALL);
    passive.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), passive.clone());
    net.run(seconds(1));
    let (path, old) = net.last(0, INITIATION);
    net.ends[1] = end(passive, 7);
    net.delivery = Box::new(|_, _, _| vec![]);
    net.inject(1, path.0, old);
    assert_eq!(
        net.ends[1].sent, 1,
        "the response, on the path of the initiation"
    );
    assert_eq!(net.ends[1].authenticated, []);
    let reachable = [0, 1].map(|path| net.ends[1].session.reachable[path]);
    assert_eq!(reachable, [false; 2]);
    net.delivery = lossless();
    net.offer(0, 0, "to b");
    net.run(seconds(30));
    assert!(net.established());
    let authenticated = [0, 1].map(|path| net.ends[1].authenticated.contains(&PathId(path)));
    assert_eq!(authenticated, [true; 2], "the peer itself gives it");
}

/// The peer's clock was ahead, and is behind after its restart: a lost initiation of its previous
/// instance, replayed now, is answered and has no other effect.
#[test]
fn a_replayed_initiation_of_a_previous_instance_has_no_effect() {
    let mut net = Net::configured();
    net.run(seconds(1));
    net.delivery = Box::new(|_, _, _| vec![]);
    let more_paths = SessionConfig {
        reachable: vec![true; 3],
        ..config("a", "b", WALL)
    };
    net.ends[0] = end(more_paths, 5);
    net.run(seconds(20));
    let (_, old) = net.last(0, INITIATION);
    net.ends[0] = end(config("a", "b", 1), 9);
    net.delivery = lossless();
    for n in 0..20 {
        net.run(seconds(21 + n));
        net.offer(1, 0, "before");
    }
    assert!(net.established());
    let restarts = |net: &Net| {
        let events = net.ends[1].events.iter();
        events
            .filter(|event| **event == SessionEvent::PeerRestarted)
            .count()
    };
    assert_eq!(restarts(&net), 1);
    let sent = net.ends[1].sent;
    net.inject(1, 1, old);
    assert!(net.ends[1].sent > sent, "it is answered");
    assert_eq!(net.ends[1].session.peer_paths(), Some(super::net::PATHS));
    net.run(seconds(42));
    let before = [0, 1].map(|who| net.frames(who).len());
    for n in 0..400 {
        net.run(seconds(42 + n));
        net.offer(0, 0, "to b");
        net.offer(1, 0, "to a");
    }
    net.run(seconds(443));
    let after = [0, 1].map(|who| net.frames(who).len() - before[who]);
    assert_eq!(after, [400; 2]);
    assert_eq!(restarts(&net), 1);
}

/// Node 1 restarts at a peer that initiates nothing. Each time it initiates, an attacker replays an
/// initiation that the peer sent before.
fn restart_under_replays(names: [&str; 2]) -> Duration {
    let [own, peer] = names;
    let mut net = Net::new(config(peer, own, WALL), config(own, peer, WALL));
    net.ends[1].session.initiates = false;
    net.run(seconds(3600));
    let old = initiations(&net, 0);
    assert!(old.len() >= 20, "{}", old.len());
    net.ends[1] = end(config(own, peer, WALL + 3_600_000_000_000), 9);
    net.ends[0].session.initiates = false;
    let (started, mut replays) = (net.now, old.into_iter());
    while !net.ends[1].session.is_established() {
        let initiated = net.ends[1].session.counters().initiated;
        net.run(net.now + Duration::from_millis(1));
        if net.ends[1].session.counters().initiated > initiated {
            let replay = replays.next().unwrap();
            net.inject(1, 0, replay);
        }
    }
    let answered = net.ends[1].session.counters();
    assert_eq!(answered.rejected(Reject::StaleTimestamp), 0);
    net.now.since(started)
}

#[test]
fn replayed_initiations_do_not_cancel_the_handshake_of_a_restarted_node() {
    for names in [["a", "b"], ["b", "a"]] {
        let needed = restart_under_replays(names);
        assert!(needed <= DELAY * 2 + Duration::from_millis(1), "{needed:?}");
    }
}

/// The clock of a restarted node is at zero, or at the time of an old recording, until it is set.
/// The recordings that it accepts before do not replace the timestamp that it kept.
#[test]
fn a_kept_timestamp_counts_once_the_clock_is_set() {
    let days = 30 * 86_400_000_000_000;
    for wall_clock in [0, WALL] {
        // The peer runs 30 days later than its recordings.
        let mut net = Net::configured();
        net.delivery = Box::new(|_, _, _| vec![]);
        net.run(seconds(100));
        let old = initiations(&net, 0);
        let mut net = Net::new(config("a", "b", WALL + days), config("b", "a", WALL + days));
        net.ends[1].session.initiates = false;
        net.run(seconds(600));
        let kept = net.ends[1].session.peer_timestamp();
        net.delivery = Box::new(|_, _, _| vec![]);
        let restarted = SessionConfig {
            peer_timestamp: kept,
            ..config("b", "a", wall_clock)
        };
        net.ends[1] = end(restarted, 9);
        net.ends[1].session.initiates = false;
        net.inject_from(Source::from(5), 1, 0, old[0].clone());
        assert_eq!(net.rejected(1, Reject::StaleTimestamp), 0, "not recognised");
        assert_eq!(net.ends[1].session.peer_timestamp(), kept);
        net.ends[1].session.set_wall_clock(WALL + days);
        net.inject_from(Source::from(5), 1, 0, old[1].clone());
        assert_eq!(net.rejected(1, Reject::StaleTimestamp), 1);
        net.delivery = lossless();
        net.ends[0].session.request_rekey(net.now);
        net.run(net.now + crate::hello::MAX_RETRY_INTERVAL + DELAY * 3);
        assert!(net.established());
        assert!(net.ends[1].session.peer_timestamp() > kept);
    }
}

/// The peer's clock was years ahead, and is set right while this node is down.
#[test]
fn a_kept_timestamp_that_a_wrong_clock_caused_is_replaced() {
    let day = 86_400_000_000_000;
    for (ahead, is_used) in [(day, true), (day + 1, false)] {
        let b = SessionConfig {
            peer_timestamp: WALL + ahead,
            ..config("b", "a", WALL)
        };
        let mut net = Net::new(config("a", "b", WALL), b);
        net.ends[1].session.initiates = false;
        // The first handshake of the peer takes no time: the clock shows what it did at the start.
        net.delivery = Box::new(|_, _, datagram| vec![(Duration::ZERO, datagram.clone())]);
        net.run(Time::ZERO);
        assert_eq!(net.established(), !is_used);
        let expected = if is_used { WALL + ahead } else { WALL };
        assert_eq!(net.ends[1].session.peer_timestamp(), expected);
    }
}

#[test]
fn a_restarted_node_that_kept_the_newest_timestamp_answers_no_replay() {
    let mut net = Net::configured();
    net.ends[1].session.initiates = false;
    net.run(seconds(600));
    let old = initiations(&net, 0);
    let kept = net.ends[1].session.peer_timestamp();
    assert!(old.len() >= 4 && kept > WALL, "{} {kept}", old.len());
    net.delivery = Box::new(|_, _, _| vec![]);
    let restarted = SessionConfig {
        peer_timestamp: kept,
        ..config("b", "a", WALL + 600_000_000_000)
    };
    net.ends[1] = end(restarted, 9);
    net.ends[1].session.initiates = false;
    for datagram in &old {
        net.run(net.now + Duration::from_millis(100));
        net.inject_from(Source::from(5), 1, 0, datagram.clone());
    }
    assert_eq!(net.rejected(1, Reject::StaleTimestamp), old.len() as u64);
    assert_eq!(net.ends[1].sent, 0, "none is answered");
    net.delivery = lossless();
    net.ends[0].session.request_rekey(net.now);
    net.run(net.now + crate::hello::MAX_RETRY_INTERVAL + DELAY * 3);
    assert!(net.established(), "a new one is");
}
