//! A bound on what may be spent in a time.

use polypath_core::time::{Duration, Time};

/// The generic cell rate algorithm of ITU-T I.371: what is spent has to be earned again by waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gcra {
    /// When all that was spent is earned again.
    earned: Time,
}

impl Gcra {
    /// Spends `cost`, the time that earns it, unless more than `burst` would then have to be earned.
    #[must_use]
    pub fn spend(&mut self, now: Time, cost: Duration, burst: Duration) -> bool {
        let spent = self.earned.max(now) + cost;
        let is_earned = spent.since(now) <= burst;
        if is_earned {
            self.earned = spent;
        }
        is_earned
    }
}
