//! The bytes that repairs and copies may have.

use super::Share;
use crate::time::{Duration, Time};

/// The span of the bytes from which an unused budget remains.
const SPAN: Duration = Duration::from_secs(4);
/// The most that is kept for repairs, as a share of the bytes that are sent.
const MAX_RESERVE: Share = Share::from_millionths(50_000);
/// A new budget is as if this many bytes had been sent before, so that the first seconds of a stream
/// can be repaired, too; the budget holds at least as much.
pub const HEAD_START: u64 = 1 << 20;
/// The parts of the span.
const PARTS: usize = 8;

/// A token bucket over bytes: each byte of a first transmission adds a share of a byte.
///
/// Unused bytes remain for a span of 4 s, so that a short outage of a path can be repaired at once;
/// those of 1 MiB remain in any case. The bytes spent never exceed the share of the bytes sent and
/// of these.
#[derive(Clone, Debug)]
pub struct Budget {
    share: Share,
    /// Unspent bytes, in millionths.
    tokens: u64,
    /// Those that copies may have.
    copy_tokens: u64,
    /// The bytes earned in each part of the span, in millionths.
    earned: [u64; PARTS],
    /// Their sum.
    total: u64,
    /// The number of the newest part since the start of the run.
    part: u64,
}

impl Budget {
    /// A budget of `share` of the bytes that are sent.
    #[must_use]
    pub const fn new(share: Share) -> Self {
        Self {
            share,
            tokens: HEAD_START * share.millionths() as u64,
            copy_tokens: 0,
            earned: [0; PARTS],
            total: 0,
            part: 0,
        }
    }

    /// Sets another share. A smaller one scales the unspent bytes down in proportion; 0 leaves none.
    pub fn set_share(&mut self, share: Share) {
        let before = core::mem::replace(&mut self.share, share);
        if share < before {
            let scaled = |tokens| {
                Duration(tokens)
                    .scale(share.millionths().into(), before.millionths().into())
                    .0
            };
            self.tokens = scaled(self.tokens);
            self.copy_tokens = scaled(self.copy_tokens);
            self.earned = self.earned.map(scaled);
            self.total = self.earned.iter().sum();
        }
    }

    /// Adds the share of a first transmission of `len` bytes on the wire.
    pub fn earn(&mut self, now: Time, len: u32) {
        self.advance(now);
        let earned = u64::from(len) * u64::from(self.share.millionths());
        self.earned[slot(self.part)] += earned;
        self.total += earned;
        self.tokens = (self.tokens + earned).min(self.capacity());
        let kept = (earned / 4).min(u64::from(len) * u64::from(MAX_RESERVE.millionths()));
        self.copy_tokens = (self.copy_tokens + earned - kept).min(self.capacity());
    }

    /// Takes `len` bytes if as many are unspent; returns whether it did.
    #[must_use]
    pub fn spend(&mut self, len: u32) -> bool {
        let is_affordable = self.tokens >= cost(len);
        if is_affordable {
            self.tokens -= cost(len);
        }
        is_affordable
    }

    /// Takes `len` bytes for a copy; returns whether it did. A copy is a precaution, and a repair a
    /// need: copies leave half of the capacity, and a quarter of what is earned, at most 5 % of the
    /// bytes sent, to repairs.
    #[must_use]
    pub fn spend_on_copy(&mut self, len: u32) -> bool {
        let is_affordable = self.affords_copy(len) && self.spend(len);
        if is_affordable {
            self.copy_tokens -= cost(len);
        }
        is_affordable
    }

    /// Whether a copy may have `len` bytes.
    #[must_use]
    pub fn affords_copy(&self, len: u32) -> bool {
        self.copy_tokens >= cost(len) && self.has_spare(len)
    }

    /// Takes `len` bytes if half of the capacity remains; returns whether it did.
    #[must_use]
    pub fn spend_spare(&mut self, len: u32) -> bool {
        self.has_spare(len) && self.spend(len)
    }

    /// Whether half of the capacity remains without `len` bytes.
    fn has_spare(&self, len: u32) -> bool {
        self.tokens >= cost(len) + self.capacity() / 2
    }

    /// The unspent bytes.
    #[must_use]
    pub const fn unspent(&self) -> u64 {
        self.tokens / Share::ONE.millionths() as u64
    }

    fn capacity(&self) -> u64 {
        self.total
            .max(HEAD_START * u64::from(self.share.millionths()))
    }

    /// Forgets what was earned before the span.
    fn advance(&mut self, now: Time) {
        let part = now.0 / (SPAN.0 / PARTS as u64);
        for old in 0..part.saturating_sub(self.part).min(PARTS as u64) {
            self.total -= core::mem::take(&mut self.earned[slot(part - old)]);
        }
        self.part = self.part.max(part);
    }
}

/// The tokens of `len` bytes.
fn cost(len: u32) -> u64 {
    u64::from(len) * u64::from(Share::ONE.millionths())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the remainder is less than the number of parts"
)]
const fn slot(part: u64) -> usize {
    (part % PARTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_share_of_what_is_sent_can_be_spent_within_the_span() {
        const START: u64 = HEAD_START / 10;
        let mut budget = Budget::new(Share::from_millionths(100_000));
        assert_eq!(budget.unspent(), START);
        assert!(budget.spend(100_000) && budget.spend(4_857) && !budget.spend(1));
        for n in 0..10 {
            budget.earn(at(n), 1000);
        }
        assert_eq!(budget.unspent(), 1000);
        assert!(!budget.spend(1001) && budget.spend(1000) && !budget.spend(1));
        for n in 0..2000 {
            budget.earn(at(100 + n), 1000);
        }
        assert!(budget.spend_on_copy(99_000), "half of 201 000 bytes");
        assert!(!budget.spend_on_copy(3_000), "less than half remains");
        // The capacity is what the last 4 s earned, or the head start.
        budget.earn(at(9000), 1000);
        assert_eq!(budget.unspent(), 101_100);
        for n in 0..3000 {
            budget.earn(at(20_000 + n), 1000);
        }
        assert_eq!(budget.unspent(), 300_000);
        budget.earn(at(90_000), 1000);
        assert_eq!(budget.unspent(), START);
    }

    #[test]
    fn a_smaller_share_takes_its_part_of_the_unspent_bytes() {
        let mut budget = Budget::new(Share::from_millionths(400_000));
        budget.earn(at(0), 1_000_000);
        let before = budget.unspent();
        budget.set_share(Share::from_millionths(100_000));
        assert_eq!(budget.unspent(), before / 4);
        budget.set_share(Share::from_millionths(0));
        assert_eq!(budget.unspent(), 0);
        assert!(!budget.spend(1) && !budget.spend_on_copy(1));
        budget.set_share(Share::from_millionths(100_000));
        budget.earn(at(100), 1_000_000);
        assert!(budget.spend(100_000) && !budget.spend(1));
    }

    #[test]
    fn a_budget_of_nothing_has_no_head_start() {
        let mut budget = Budget::new(Share::default());
        budget.earn(at(1), 1_000_000);
        assert!(!budget.spend(1));
    }

    proptest! {
        /// No more is spent than a share of what was sent and of the head start.
        #[test]
        fn the_share_is_never_exceeded(
            share in 0..=1_000_000_u32,
            steps in prop::collection::vec((0..2000_u64, 0..2000_u32, 0..3_u8), 1..300),
        ) {
            let mut budget = Budget::new(Share::from_millionths(share));
            let (mut now, mut sent, mut spent, mut copied) = (0, 0_u64, 0_u64, 0_u64);
            for (pause, len, step) in steps {
                now += pause;
                if step == 0 {
                    budget.earn(at(now), len);
                    sent += u64::from(len);
                } else if step == 1 && budget.spend(len) {
                    spent += u64::from(len);
                } else if step == 2 && budget.spend_on_copy(len) {
                    copied += u64::from(len);
                }
                let allowed = (sent + HEAD_START) * u64::from(share);
                prop_assert!((spent + copied) * 1_000_000 <= allowed);
                let kept = (u64::from(share) / 4).min(50_000);
                prop_assert!(copied * 1_000_000 <= sent * (u64::from(share) - kept));
            }
        }
    }
}
