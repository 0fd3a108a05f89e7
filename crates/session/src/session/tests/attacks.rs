//! Handshake messages by people who know this end's public key, or who kept what they saw.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::net::{DELAY, Net, WALL, config, end, faithful, key};
use super::seconds;
use crate::datagram::{INITIATION, RESPONSE};
use crate::event::{Reject, SessionEvent};
use crate::noise::{MAC_LEN, Mac};

/// `datagram` with one bit changed, and the MAC that `to` expects of it.
fn forge(datagram: &Bytes, bit: usize, to: &str) -> Bytes {
    let mut bytes = datagram.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    let covered = bytes.len() - MAC_LEN;
    let mac = Mac::new(&key(to).public()).of(&bytes[..covered]);
    bytes[covered..].copy_from_slice(&mac);
    bytes.into()
}

fn initiations(net: &Net, who: usize) -> Vec<Bytes> {
    let log = net.log.iter().filter(|entry| entry.0 == who);
    let mut all: Vec<Bytes> = log
        .map(|(_, _, datagram)| datagram.clone())
        .filter(|datagram| datagram[0] == INITIATION)
        .collect();
    all.dedup();
    all
}

#[test]
fn no_bit_of_an_initiation_changes_unnoticed_though_the_mac_fits() {
    let mut net = Net::between_friends();
    net.fate = Box::new(|_, _, _| vec![]);
    net.run(Time::ZERO);
    let (path, good) = net.last(0, INITIATION);
    let bits = 8..(good.len() - MAC_LEN) * 8;
    for bit in bits.clone() {
        // Slower than the limit on what initiations may cost.
        net.run(net.now + Duration::from_millis(60));
        let sent = net.ends[1].sent;
        net.inject(1, path.0, forge(&good, bit, "b"));
        assert_eq!(net.ends[1].sent, sent, "bit {bit} was answered");
    }
    let refused = net.rejected(1, Reject::Undecryptable) + net.rejected(1, Reject::WrongKey);
    assert_eq!(refused, bits.len() as u64);
    assert_eq!(net.rejected(1, Reject::Throttled), 0);
    // By now end 1 has tried for long enough to take the other's initiation, whoever is first.
    net.inject(1, path.0, good);
    assert_eq!(net.last(1, RESPONSE).0, path, "the good one is answered");
}

#[test]
fn no_bit_of_a_response_changes_unnoticed_though_the_mac_fits() {
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    net.run(Time::ZERO + DELAY);
    let (path, good) = net.last(1, RESPONSE);
    let bits = 8..(good.len() - MAC_LEN) * 8;
    for bit in bits.clone() {
        net.inject(0, path.0, forge(&good, bit, "a"));
    }
    let index_bits = 32;
    assert_eq!(net.rejected(0, Reject::UnknownIndex), index_bits);
    assert_eq!(
        net.rejected(0, Reject::Undecryptable),
        bits.len() as u64 - index_bits
    );
    assert!(!net.ends[0].session.is_established());
    net.inject(0, path.0, good);
    assert!(net.ends[0].session.is_established(), "the good one serves");
}

#[test]
fn a_flood_of_old_initiations_keeps_no_peer_out() {
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    net.run(seconds(3600));
    let old = initiations(&net, 0);
    assert!(old.len() >= 30, "{}", old.len());
    // The peer starts anew, with the flood on both paths from before its first message.
    net.fate = Box::new(|_, _, _| vec![]);
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
    net.fate = faithful();
    net.ends[0] = end(config("a", "b", WALL), 9);
    for _ in 0..100 {
        net.run(net.now + Duration::from_millis(1));
        replay(&mut net);
    }
    let established = SessionEvent::Established { initiator: false };
    assert!(
        net.ends[1].events[before..].contains(&established),
        "it took longer than {}",
        DELAY * 5
    );
    let replayed = 150 * 2 * (old.len() as u64 - 1);
    let counted = net.rejected(1, Reject::StaleTimestamp) + net.rejected(1, Reject::Throttled);
    assert_eq!(counted, replayed, "each is counted");
}

/// A node that starts anew cannot know which initiations are old: the answer goes to where one came from, and nothing else.
#[test]
fn an_old_initiation_tells_no_address_to_an_end_that_started_anew() {
    let mut quiet = config("b", "a", WALL);
    quiet.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), quiet.clone());
    net.run(seconds(1));
    let (path, old) = net.last(0, INITIATION);
    net.ends[1] = end(quiet, 7);
    net.fate = Box::new(|_, _, _| vec![]);
    net.inject(1, path.0, old);
    assert_eq!(net.ends[1].sent, 1, "the answer, on the path where it came");
    assert_eq!(net.ends[1].located, []);
    let reachable = [0, 1].map(|path| net.ends[1].session.reachable[path]);
    assert_eq!(reachable, [false; 2]);
    net.fate = faithful();
    net.offer(0, 0, "to b");
    net.run(seconds(30));
    assert!(net.established());
    let located = [0, 1].map(|path| net.ends[1].located.contains(&PathId(path)));
    assert_eq!(located, [true; 2], "the peer itself does");
}

/// The clock of the peer was ahead, and is behind after its restart: an initiation of before, which got lost then and is
/// replayed now, is answered, and changes nothing.
#[test]
fn an_initiation_of_an_instance_that_is_no_more_changes_nothing() {
    let mut net = Net::between_friends();
    net.run(seconds(1));
    net.fate = Box::new(|_, _, _| vec![]);
    for n in 0..20 {
        net.run(seconds(1 + n));
        net.offer(0, 0, "lost");
    }
    let (path, old) = net.last(0, INITIATION);
    net.ends[0] = end(config("a", "b", 1), 9);
    net.fate = faithful();
    for n in 0..20 {
        net.run(seconds(21 + n));
        net.offer(1, 0, "before");
    }
    assert!(net.established());
    let restarts = |net: &Net| {
        let told = net.ends[1].events.iter();
        told.filter(|event| **event == SessionEvent::PeerRestarted)
            .count()
    };
    assert_eq!(restarts(&net), 1);
    let sent = net.ends[1].sent;
    net.inject(1, path.0, old);
    assert!(net.ends[1].sent > sent, "it is answered");
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

#[test]
fn a_flood_by_a_stranger_on_one_path_costs_little_and_keeps_no_peer_out() {
    // The stranger knows the public key of `b`, and is in no hurry.
    let mut stranger = Net::new(config("c", "b", WALL), config("d", "c", WALL));
    stranger.fate = Box::new(|_, _, _| vec![]);
    stranger.run(seconds(3600));
    let flood = initiations(&stranger, 0);
    assert!(flood.len() > 600, "{}", flood.len());
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    for datagram in &flood {
        net.inject(1, 0, datagram.clone());
    }
    assert_eq!(net.rejected(1, Reject::WrongKey), 20);
    assert_eq!(net.rejected(1, Reject::Throttled), flood.len() as u64 - 20);
    assert_eq!(net.ends[1].sent, 0);
    net.run(Time::ZERO + DELAY * 3);
    assert!(net.established(), "the peer comes by the other path");
}
