//! The limits on the cost of unauthenticated handshake messages.
//!
//! Decrypting an initiation takes two Diffie-Hellman operations, about 150 us, before it is known
//! whether it is the peer's and new. Anyone who knows this node's public key can send initiations
//! that look valid until then. They are therefore limited, but so that no flood consumes the budget
//! of the peer:
//!
//! 1. An initiation with a valid session MAC is the peer's, unless it is a copy of one that was
//!    answered: it is keyed by a secret that this node sent in an earlier handshake, encrypted. Keys
//!    are renewed during any flood, whatever addresses it spoofs.
//! 2. An initiation with a valid cookie MAC ([`super::cookie`]) comes from a sender that receives
//!    datagrams at its source address. It is limited together with those of a 256th of all networks,
//!    chosen by a secret.
//! 3. An initiation from the current address of the peer has a budget of its own on each path. A
//!    restarted peer, which has no session MAC, usually keeps its address.
//! 4. All share one budget on each path.
//!
//! An initiation is charged to the first budget that it qualifies for and that is not exhausted: a
//! cookie, whose bucket an attacker in the same network can exhaust, does not take the budget of its
//! address from a peer. If all are exhausted, a sender without session MAC and cookie gets a cookie.
//!
//! Replays of initiations that were found stale are rejected first, by a comparison.
//!
//! A response costs as much. Forging one takes the index in the peer's response, and is useful only
//! until that arrives. Each path has a budget for them.

use std::collections::VecDeque;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::event::Reject;
use crate::gcra::Gcra;

/// The limit of each budget but that of cookies: ten times what a peer sends, and 0.3 % of a
/// processor.
const RATE: RateLimit = RateLimit::per_second(20, 20);
/// The limit of each bucket of senders with a cookie: twice what a peer sends, and 15 % of a
/// processor if all buckets are exhausted. That takes an attacker who receives cookies in some 1500
/// networks: the secret distributes them at random.
const COOKIE_RATE: RateLimit = RateLimit::per_second(4, 8);
/// The limit of responses on a path: 6 % of a processor. They are forged by someone who has seen the
/// peer's, and who has to send more than the burst before that arrives to keep it out.
const RESPONSE_RATE: RateLimit = RateLimit::per_second(400, 400);
/// The number of buckets of senders with a cookie.
const COOKIE_BUCKETS: usize = 256;
/// Remembered initiations: those of a day at one every two minutes, less than 30 kB.
pub(super) const MAX_REMEMBERED: usize = 720;

/// An ephemeral key, which identifies an initiation.
type Ephemeral = [u8; 32];

/// A rate limit with a burst.
struct RateLimit {
    interval: Duration,
    burst: u64,
}

impl RateLimit {
    const fn per_second(rate: u64, burst: u64) -> Self {
        Self {
            interval: Duration(1_000_000_000 / rate),
            burst,
        }
    }

    fn admits(&self, limiter: &mut Gcra, now: Time) -> bool {
        limiter.spend(now, self.interval, self.interval * self.burst)
    }
}

/// The evidence that an initiation is the peer's, before it is decrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// A valid session MAC.
    pub(super) has_session_mac: bool,
    /// The sender's bucket, if the cookie MAC is valid.
    pub(super) cookie_bucket: Option<u8>,
    /// The current address of the peer.
    pub(super) is_peer_address: bool,
}

/// The rate limits of initiations, and initiations that need not be decrypted again.
#[derive(Debug)]
pub(super) struct Admission {
    with_session_mac: Gcra,
    with_cookie: Vec<Gcra>,
    paths: Vec<PathLimiters>,
    /// Stale initiations, the oldest first.
    remembered: VecDeque<Ephemeral>,
}

/// The rate limits of a path.
#[derive(Clone, Debug, Default)]
struct PathLimiters {
    of_peer_address: Gcra,
    shared: Gcra,
    responses: Gcra,
}

impl Admission {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            with_session_mac: Gcra::default(),
            with_cookie: vec![Gcra::default(); COOKIE_BUCKETS],
            paths: vec![PathLimiters::default(); paths],
            remembered: VecDeque::new(),
        }
    }

    /// The number of remembered initiations.
    pub(super) fn buffered(&self) -> usize {
        self.remembered.len()
    }

    /// Rejects a copy of a remembered initiation.
    pub(super) fn check_remembered(&self, ephemeral: &Ephemeral) -> Result<(), Reject> {
        if self.remembered.contains(ephemeral) {
            return Err(Reject::StaleTimestamp);
        }
        Ok(())
    }

    /// Whether an initiation received on `path` may be decrypted.
    pub(super) fn admit(
        &mut self,
        now: Time,
        path: PathId,
        evidence: Evidence,
    ) -> Result<(), Reject> {
        let limiters = self.paths.get_mut(path.index());
        let limiters = limiters.ok_or(Reject::UnknownPath)?;
        let in_bucket =
            |bucket| COOKIE_RATE.admits(&mut self.with_cookie[usize::from(bucket)], now);
        if (evidence.has_session_mac && RATE.admits(&mut self.with_session_mac, now))
            || evidence.cookie_bucket.is_some_and(in_bucket)
            || (evidence.is_peer_address && RATE.admits(&mut limiters.of_peer_address, now))
            || RATE.admits(&mut limiters.shared, now)
        {
            Ok(())
        } else if evidence.has_session_mac || evidence.cookie_bucket.is_some() {
            Err(Reject::Throttled)
        } else {
            Err(Reject::CookieRequired)
        }
    }

    /// Whether a response to this node's pending initiation, received on `path`, may be decrypted.
    pub(super) fn admit_response(&mut self, now: Time, path: PathId) -> Result<(), Reject> {
        let limiters = self.paths.get_mut(path.index());
        let limiters = limiters.ok_or(Reject::UnknownPath)?;
        if RESPONSE_RATE.admits(&mut limiters.responses, now) {
            Ok(())
        } else {
            Err(Reject::TooManyResponses)
        }
    }

    /// Remembers an authentic initiation that was found stale; the oldest one is forgotten when
    /// full.
    pub(super) fn remember(&mut self, ephemeral: Ephemeral) {
        if self.remembered.len() == MAX_REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back(ephemeral);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOODED: PathId = PathId(0);
    const OTHER: PathId = PathId(1);
    const NONE: Evidence = Evidence {
        has_session_mac: false,
        cookie_bucket: None,
        is_peer_address: false,
    };
    const SESSION_MAC: Evidence = Evidence {
        has_session_mac: true,
        ..NONE
    };
    const PEER_ADDRESS: Evidence = Evidence {
        is_peer_address: true,
        ..NONE
    };

    const fn cookie(bucket: u8) -> Evidence {
        Evidence {
            cookie_bucket: Some(bucket),
            ..NONE
        }
    }

    fn key(n: u32) -> Ephemeral {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&n.to_be_bytes());
        key
    }

    /// The initiations admitted in 10 s of a flood of one per millisecond, of those with each
    /// evidence, while one with another evidence arrives every 500 ms.
    fn admitted(flood: Evidence, peer: Evidence, peer_path: PathId) -> (u64, u64) {
        let mut admission = Admission::new(2);
        let mut counts = (0, 0);
        for ms in 0..10_000_u64 {
            let now = Time::ZERO + Duration::from_millis(ms);
            counts.0 += u64::from(admission.admit(now, FLOODED, flood).is_ok());
            if ms % 500 == 0 {
                counts.1 += u64::from(admission.admit(now, peer_path, peer).is_ok());
            }
        }
        counts
    }

    #[test]
    fn a_flood_is_limited_and_consumes_no_other_budget() {
        let limit = 20 * 10..=20 * 10 + 20;
        for (peer, path) in [
            (SESSION_MAC, FLOODED),
            (cookie(3), FLOODED),
            (PEER_ADDRESS, FLOODED),
            (NONE, OTHER),
        ] {
            let (flood, peers) = admitted(NONE, peer, path);
            assert!(limit.contains(&flood), "{flood}");
            assert_eq!(peers, 20, "two per second with {peer:?}, all admitted");
        }
        // With evidence a flood has two budgets.
        let (flood, peers) = admitted(PEER_ADDRESS, cookie(3), FLOODED);
        assert!((400..=440).contains(&flood), "{flood}");
        assert_eq!(peers, 20);
        let (flood, peers) = admitted(cookie(4), cookie(3), FLOODED);
        assert!((240..=268).contains(&flood), "{flood}");
        assert_eq!(peers, 20);
    }

    #[test]
    fn evidence_whose_budget_is_exhausted_leaves_the_other_budgets() {
        // A host in the peer's network has exhausted the bucket of its cookie.
        let restarted = Evidence {
            is_peer_address: true,
            ..cookie(3)
        };
        let (_, peers) = admitted(cookie(3), restarted, FLOODED);
        assert_eq!(peers, 20);
        let renewing = Evidence {
            has_session_mac: true,
            ..PEER_ADDRESS
        };
        let (_, peers) = admitted(SESSION_MAC, renewing, FLOODED);
        assert_eq!(peers, 20);
    }

    #[test]
    fn the_reason_distinguishes_senders_that_a_cookie_helps() {
        for (evidence, reason) in [
            (SESSION_MAC, Reject::Throttled),
            (cookie(0), Reject::Throttled),
            (PEER_ADDRESS, Reject::CookieRequired),
            (NONE, Reject::CookieRequired),
        ] {
            let mut admission = Admission::new(1);
            let mut results = (0..100).map(|_| admission.admit(Time::ZERO, FLOODED, evidence));
            assert_eq!(results.next(), Some(Ok(())));
            assert_eq!(results.last(), Some(Err(reason)));
            let later = Time::ZERO + Duration::from_secs(1);
            assert_eq!(admission.admit(later, FLOODED, evidence), Ok(()));
        }
        let unknown = Admission::new(1).admit(Time::ZERO, OTHER, SESSION_MAC);
        assert_eq!(unknown, Err(Reject::UnknownPath));
    }

    #[test]
    fn remembered_initiations_are_rejected_and_the_oldest_is_forgotten() {
        let mut admission = Admission::new(2);
        let check = |admission: &Admission, n| admission.check_remembered(&key(n));
        assert_eq!(check(&admission, 0), Ok(()));
        admission.remember(key(0));
        assert_eq!(check(&admission, 0), Err(Reject::StaleTimestamp));
        for n in 1..=MAX_REMEMBERED {
            admission.remember(key(u32::try_from(n).unwrap()));
        }
        assert_eq!(admission.buffered(), MAX_REMEMBERED);
        assert_eq!(check(&admission, 1), Err(Reject::StaleTimestamp));
        assert_eq!(check(&admission, 0), Ok(()));
    }
}
