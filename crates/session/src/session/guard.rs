//! What bounds the cost of initiations that prove nothing.
//!
//! To read an initiation takes two Diffie-Hellman operations, some 150 us, before it is known whether it is
//! the peer's and new. Replays of old ones are known again for the cost of a comparison. The rest, which
//! only those can write who know this end's public key, may cost [`RATE`] readings a second on each path:
//! ten times what a peer sends there (at most two a second), and 0.3 % of a processor for each path that is
//! flooded. A flood on one path leaves the others their share, and the answers to one's own initiations
//! need none.

use std::collections::VecDeque;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::event::Reject;
use crate::gcra::Gcra;

/// Initiations a second that are read on a path.
const RATE: u64 = 20;
/// How many of them at once.
const BURST: u64 = 20;
/// Time that earns the reading of one initiation.
const INTERVAL: Duration = Duration(1_000_000_000 / RATE);
/// Old initiations that are known again: a day's at one in two minutes, less than 24 kB.
pub(super) const KNOWN: usize = 720;

/// An ephemeral key: it names an initiation.
type Ephemeral = [u8; 32];

/// What initiations may cost on each path, and which need not be read again.
#[derive(Debug)]
pub(super) struct Guard {
    /// For each path what it spent.
    spent: Vec<Gcra>,
    stale: VecDeque<Ephemeral>,
}

impl Guard {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            spent: vec![Gcra::default(); paths],
            stale: VecDeque::new(),
        }
    }

    /// How many old initiations are known.
    pub(super) fn buffered(&self) -> usize {
        self.stale.len()
    }

    /// Lets an initiation be read that came on `path`, or says why not.
    pub(super) fn admit(
        &mut self,
        now: Time,
        path: PathId,
        ephemeral: &Ephemeral,
    ) -> Result<(), Reject> {
        if self.stale.contains(ephemeral) {
            return Err(Reject::StaleTimestamp);
        }
        let path = self.spent.get_mut(path.index());
        let spent = path.ok_or(Reject::UnknownPath)?;
        if spent.spend(now, INTERVAL, INTERVAL * BURST) {
            Ok(())
        } else {
            Err(Reject::Throttled)
        }
    }

    /// Remembers an initiation that was read and is old; the oldest gives way.
    pub(super) fn remember_stale(&mut self, ephemeral: Ephemeral) {
        if self.stale.len() == KNOWN {
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
    fn a_flood_is_read_at_the_rate_and_a_peer_always() {
        let mut guard = Guard::new(2);
        let (mut flood, mut peer) = (0, 0);
        for ms in 0..10_000_u32 {
            let now = Time::ZERO + Duration::from_millis(u64::from(ms));
            flood += u64::from(guard.admit(now, FLOODED, &key(ms)).is_ok());
            if ms % 500 == 0 {
                peer += u64::from(guard.admit(now, PathId(1), &key(ms)).is_ok());
            }
        }
        assert_eq!(peer, 20, "two a second, each of which is read");
        assert!((RATE * 10..=RATE * 10 + BURST).contains(&flood), "{flood}");
        let later = Time::ZERO + Duration::from_secs(20);
        assert_eq!(guard.admit(later, FLOODED, &key(0)), Ok(()), "it is earned");
    }

    #[test]
    fn what_is_known_to_be_old_costs_nothing() {
        let mut guard = Guard::new(1);
        for n in 0..=KNOWN {
            guard.remember_stale(key(u32::try_from(n).unwrap()));
        }
        for _ in 0..1000 {
            let again = guard.admit(Time::ZERO, FLOODED, &key(1));
            assert_eq!(again, Err(Reject::StaleTimestamp));
        }
        assert_eq!(guard.admit(Time::ZERO, FLOODED, &key(0)), Ok(()));
    }
}
