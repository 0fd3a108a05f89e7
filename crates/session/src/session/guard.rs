//! Limits on the cost of unauthenticated initiations.
//!
//! Decrypting an initiation takes two Diffie-Hellman operations, about 150 us, before it is known
//! whether it is the peer's and new. Replays of initiations that were found stale are recognised by
//! a comparison instead. All others, which only a sender that knows this node's public key can
//! produce, are limited to [`RATE`] per second and path: ten times what a peer sends (at most two
//! per second), and 0.3 % of a processor for each flooded path. A flood on one path does not affect
//! the budget of the others, and responses to this node's own initiations need no budget.

use std::collections::VecDeque;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::event::Reject;
use crate::gcra::Gcra;

/// Initiations per second that are decrypted on each path.
const RATE: u64 = 20;
/// The largest burst of them.
const BURST: u64 = 20;
/// The interval between initiations at [`RATE`].
const INTERVAL: Duration = Duration(1_000_000_000 / RATE);
/// Remembered stale initiations: those of a day at one every two minutes, less than 24 kB.
pub(super) const MAX_STALE: usize = 720;

/// An ephemeral key, which identifies an initiation.
type Ephemeral = [u8; 32];

/// The rate limit of each path, and the initiations known to be stale.
#[derive(Debug)]
pub(super) struct Guard {
    limiters: Vec<Gcra>,
    stale: VecDeque<Ephemeral>,
}

impl Guard {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            limiters: vec![Gcra::default(); paths],
            stale: VecDeque::new(),
        }
    }

    /// The number of remembered stale initiations.
    pub(super) fn buffered(&self) -> usize {
        self.stale.len()
    }

    /// Whether an initiation received on `path` may be decrypted, or why not.
    pub(super) fn admit(
        &mut self,
        now: Time,
        path: PathId,
        ephemeral: &Ephemeral,
    ) -> Result<(), Reject> {
        if self.stale.contains(ephemeral) {
            return Err(Reject::StaleTimestamp);
        }
        let limiter = self.limiters.get_mut(path.index());
        let limiter = limiter.ok_or(Reject::UnknownPath)?;
        if limiter.spend(now, INTERVAL, INTERVAL * BURST) {
            Ok(())
        } else {
            Err(Reject::Throttled)
        }
    }

    /// Remembers an initiation that was found stale; the oldest one is forgotten when full.
    pub(super) fn remember_stale(&mut self, ephemeral: Ephemeral) {
        if self.stale.len() == MAX_STALE {
            self.stale.pop_front();
        }
        self.stale.push_back(ephemeral);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOODED: PathId = PathId(0);

    fn key(n: u32) -> Ephemeral {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&n.to_be_bytes());
        key
    }

    #[test]
    fn a_flood_on_one_path_is_limited_and_the_peer_is_not() {
        let mut guard = Guard::new(2);
        let (mut flood, mut peer) = (0, 0);
        for ms in 0..10_000_u32 {
            let now = Time::ZERO + Duration::from_millis(u64::from(ms));
            flood += u64::from(guard.admit(now, FLOODED, &key(ms)).is_ok());
            if ms % 500 == 0 {
                peer += u64::from(guard.admit(now, PathId(1), &key(ms)).is_ok());
            }
        }
        assert_eq!(peer, 20, "two per second, all admitted");
        assert!((RATE * 10..=RATE * 10 + BURST).contains(&flood), "{flood}");
        let later = Time::ZERO + Duration::from_secs(20);
        assert_eq!(
            guard.admit(later, FLOODED, &key(0)),
            Ok(()),
            "the budget recovers"
        );
    }

    #[test]
    fn a_stale_initiation_uses_no_budget() {
        let mut guard = Guard::new(1);
        for n in 0..=MAX_STALE {
            guard.remember_stale(key(u32::try_from(n).unwrap()));
        }
        for _ in 0..1000 {
            let replay = guard.admit(Time::ZERO, FLOODED, &key(1));
            assert_eq!(replay, Err(Reject::StaleTimestamp));
        }
        assert_eq!(guard.admit(Time::ZERO, FLOODED, &key(0)), Ok(()));
    }
}
