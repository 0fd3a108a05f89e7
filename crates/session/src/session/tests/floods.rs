//! Floods of initiations, and cookies.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::attacks::initiations;
use super::net::{DELAY, Net, WALL, config, end, key, peer_source};
use super::seconds;
use crate::address::Source;
use crate::datagram::{COOKIE_REPLY, INITIATION, RESPONSE, SESSION_MAC_OFFSET};
use crate::event::Reject;
use crate::mac::{MAC_LEN, MacKey};

/// Initiations of an attacker who knows the public key of `to`.
pub(super) fn flood(to: &str) -> Vec<Bytes> {
    let mut attacker = Net::new(config("c", to, WALL), config("d", "c", WALL));
    attacker.delivery = Box::new(|_, _, _| vec![]);
    attacker.run(seconds(3600));
    let flood = initiations(&attacker, 0);
    assert!(flood.len() > 600, "{}", flood.len());
    flood
}

#[test]
fn a_flood_with_an_unknown_key_on_one_path_is_limited_and_does_not_block_the_peer() {
    let flood = flood("b");
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    for datagram in &flood {
        net.inject(1, 0, datagram.clone());
    }
    assert_eq!(net.rejected(1, Reject::WrongKey), 20);
    let refused = flood.len() - 20;
    assert_eq!(net.rejected(1, Reject::CookieRequired), refused as u64);
    let is_cookie = |(_, _, sent): &&(usize, PathId, Bytes)| sent[0] == COOKIE_REPLY;
    assert_eq!(net.log.iter().filter(is_cookie).count(), refused);
    assert_eq!(net.ends[1].sent, refused, "nothing but cookies");
    net.run(Time::ZERO + DELAY * 3);
    assert!(net.established(), "the peer uses the other path");
}

/// An attacker who sends initiations on both paths, from one address.
struct Flooder {
    initiations: Vec<Bytes>,
    sent: usize,
    source: Source,
    interval: Duration,
}

impl Flooder {
    fn new(source: Source, interval: Duration) -> Self {
        Self {
            initiations: flood("b"),
            sent: 0,
            source,
            interval,
        }
    }

    fn run(&mut self, net: &mut Net, until: Time) {
        while net.now < until {
            net.run(net.now + self.interval);
            // The copies differ, since only a few are generated.
            let mut datagram = self.initiations[self.sent % self.initiations.len()].to_vec();
            datagram[40] ^= self.sent.to_le_bytes()[0];
            datagram[41] ^= self.sent.to_le_bytes()[1];
            let covered = SESSION_MAC_OFFSET - MAC_LEN;
            let mac = MacKey::of_handshakes_to(&key("b").public());
            let tag = mac.tag(&[&datagram[..covered]]);
            datagram[covered..covered + MAC_LEN].copy_from_slice(&tag);
            // A guess of the other two.
            datagram[SESSION_MAC_OFFSET..].fill(7);
            self.sent += 1;
            let path = u8::from(self.sent.is_multiple_of(2));
            net.inject_from(self.source, 1, path, datagram.into());
        }
    }
}

/// The sources of a flood: a stranger, and the address of the peer.
fn flood_sources() -> [Source; 2] {
    [Source::from(666), peer_source()]
}

/// The attacker also replays what the peer sends, from the same address. Before session MACs, keys
/// were renewed with a chance of one in a hundred, and the tunnel stopped when they expired.
#[test]
fn keys_are_renewed_during_a_flood_of_initiations() {
    for source in flood_sources() {
        let mut net = Net::configured();
        net.ends[1].session.initiates = false;
        net.run(seconds(1));
        // Six times the budget of strangers on each path.
        let mut flooder = Flooder::new(source, Duration::from_millis(4));
        let mut seen = net.log.len();
        for n in 0..3_000_u64 {
            flooder.run(&mut net, seconds(1) + Duration::from_millis(100) * n);
            net.offer(0, 0, n.to_be_bytes().to_vec());
            net.offer(1, 1, n.to_be_bytes().to_vec());
            let observed: Vec<Bytes> = net.log[seen..]
                .iter()
                .filter(|(who, _, datagram)| *who == 0 && datagram[0] == INITIATION)
                .map(|(_, _, datagram)| datagram.clone())
                .collect();
            for datagram in observed {
                for path in [0, 1, 0, 1] {
                    net.inject_from(source, 1, path, datagram.clone());
                }
            }
            seen = net.log.len();
        }
        net.run(net.now + DELAY);
        let opened = [0, 1].map(|who| net.frames(who).len());
        assert_eq!(opened, [3_000; 2]);
        assert!(net.ends[0].session.counters().established >= 3);
        let initiated = net.ends[0].session.counters().initiated;
        assert!(initiated <= 4, "each of the first attempts: {initiated}");
        let has_cookie = |(who, _, sent): &(usize, PathId, Bytes)| {
            *who == 0 && sent[0] == INITIATION && sent[sent.len() - MAC_LEN..] != [0; MAC_LEN]
        };
        assert!(!net.log.iter().any(has_cookie), "none is needed");
    }
}

/// The peer has lost its session MAC key. Its new initiation comes from its old address, or from
/// one that was never seen: then it needs a cookie, and one more round trip.
#[test]
fn a_restarted_peer_returns_within_two_round_trips_during_a_flood() {
    for source in flood_sources() {
        for has_moved in [false, true] {
            let mut b = config("b", "a", WALL);
            b.reachable.fill(false);
            let mut net = Net::new(config("a", "b", WALL), b);
            net.run(seconds(1));
            if has_moved {
                net.ends[1].session.sources.fill(Some(Source::from(55)));
            }
            let mut flooder = Flooder::new(source, Duration::from_micros(250));
            flooder.run(&mut net, seconds(3));
            net.ends[0] = end(config("a", "b", WALL + 3_000_000_000), 9);
            let restarted = net.now;
            while !net.ends[0].session.is_established() {
                let until = net.now + Duration::from_millis(1);
                flooder.run(&mut net, until);
            }
            let needed = net.now.since(restarted);
            let is_known = !has_moved && source != peer_source();
            let round_trips = if is_known { 1 } else { 2 };
            let most = DELAY * (2 * round_trips) + Duration::from_millis(2);
            assert!(needed <= most, "{needed:?}");
            assert_eq!(net.ends[0].session.counters().initiated, 1);
        }
    }
}

#[test]
fn a_cookie_reply_with_a_flipped_bit_is_rejected_and_a_copy_is_not_answered() {
    let mut net = Net::configured();
    net.ends[1].session.initiates = false;
    net.delivery = Box::new(|_, _, _| vec![]);
    net.run(Time::ZERO);
    let (path, initiation) = net.last(0, INITIATION);
    for _ in 0..21 {
        net.inject_from(Source::from(5), 1, path.0, flood("b")[0].clone());
    }
    net.inject_from(Source::from(5), 1, path.0, initiation.clone());
    let (_, cookie) = net.last(1, COOKIE_REPLY);
    let sent = net.ends[0].sent;
    for bit in 8..cookie.len() * 8 {
        let mut forged = cookie.to_vec();
        forged[bit / 8] ^= 1 << (bit % 8);
        net.inject(0, path.0, forged.into());
    }
    let forged = (cookie.len() as u64 - 1) * 8;
    assert_eq!(net.rejected(0, Reject::UnexpectedCookie), forged);
    assert_eq!(net.ends[0].sent, sent);
    for _ in 0..3 {
        net.inject(0, path.0, cookie.clone());
    }
    assert_eq!(net.ends[0].sent, sent + 1, "it is sent once more");
    let (_, again) = net.last(0, INITIATION);
    let mac_at = again.len() - MAC_LEN;
    assert_eq!(again[..mac_at], initiation[..mac_at]);
    assert_ne!(again[mac_at..], initiation[mac_at..]);
    // The cookie is that of one address.
    net.inject_from(Source::from(6), 1, path.0, again.clone());
    assert_eq!(net.rejected(1, Reject::CookieRequired), 3);
    net.inject_from(Source::from(5), 1, path.0, again);
    assert_eq!(net.last(1, RESPONSE).0, path, "it is answered");
}

/// A reply to `initiation` whose cookie an observer has made up.
fn forge_cookie(initiation: &Bytes, number: u8) -> Bytes {
    let cookie = [number; MAC_LEN];
    let mac_key = MacKey::of_cookies_from(&key("b").public());
    let mac = mac_key.tag(&[
        &initiation[SESSION_MAC_OFFSET - MAC_LEN..SESSION_MAC_OFFSET],
        &cookie,
    ]);
    [&[COOKIE_REPLY][..], &cookie, &mac].concat().into()
}

/// The attempts that node 0 needs after it has restarted at another address, while an attacker floods
/// node 1. The attacker also sees what node 0 sends, and forges `count` cookie replies to each
/// initiation before the first one of node 1, and as many later; `None` if it needs more than 60.
fn attempts_under_forged_cookies(count: u8, seed: u64) -> Option<u64> {
    let mut b = config("b", "a", WALL);
    b.reachable.fill(false);
    let mut net = Net::new(config("a", "b", WALL), b);
    net.run(seconds(1));
    net.ends[1].session.sources.fill(Some(Source::from(55)));
    let mut flooder = Flooder::new(Source::from(666), Duration::from_micros(250));
    net.ends[0] = end(config("a", "b", WALL + 3_000_000_000), seed);
    let mut number = 0;
    let mut forge = |net: &mut Net, path: PathId, initiation: &Bytes| {
        for _ in 0..count {
            number = number % 250 + 1;
            net.inject(0, path.0, forge_cookie(initiation, number));
        }
    };
    let (mut logged, mut later) = (net.log.len(), VecDeque::new());
    while !net.ends[0].session.is_established() {
        if net.ends[0].session.counters().initiated > 60 {
            return None;
        }
        let is_initiation = |datagram: &Bytes| datagram[0] == INITIATION;
        let mut coming = net.in_flight.values();
        let until = net.now + Duration::from_millis(1);
        if coming.any(|(to, _, datagram)| *to == 1 && is_initiation(datagram)) {
            flooder.run(&mut net, until);
        } else {
            net.run(until);
        }
        let observed: Vec<_> = net.log[logged..].to_vec();
        for (who, path, initiation) in observed {
            if who == 0 && is_initiation(&initiation) {
                forge(&mut net, path, &initiation);
                later.push_back((net.now + DELAY * 3, path, initiation));
            }
        }
        logged = net.log.len();
        while let Some((_, path, initiation)) = later.pop_front_if(|next| next.0 <= net.now) {
            forge(&mut net, path, &initiation);
        }
    }
    Some(net.ends[0].session.counters().initiated)
}

/// Before, the newest reply counted, and each initiation was repeated once: one forged reply before
/// and one after that of node 1 kept node 0 out until node 1 renewed the keys by itself.
#[test]
fn forged_cookies_do_not_keep_a_peer_out() {
    assert_eq!(attempts_under_forged_cookies(0, 9), Some(1));
    assert_eq!(
        attempts_under_forged_cookies(1, 9),
        Some(1),
        "the second cookie is tried, too"
    );
    // Of many, one is drawn on each of two paths.
    let attempts = (9..13).map(|seed| attempts_under_forged_cookies(4, seed).unwrap());
    let attempts: Vec<u64> = attempts.collect();
    assert!(attempts.iter().all(|count| *count <= 15), "{attempts:?}");
}
