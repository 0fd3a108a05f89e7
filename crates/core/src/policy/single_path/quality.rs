//! The measured quality of a path: its losses and its round-trip time.

use super::LeaveConfig;
use crate::repair::Share;
use crate::time::Duration;

/// The number of heartbeats whose losses are remembered: 3.2 s on a path that carries packets at 40
/// per second, 64 s on one that carries none.
const WINDOW: u32 = u128::BITS;
/// The number of heartbeats from which a path is found to lose too much, or to have recovered.
pub(super) const LEAST: u32 = 50;
/// The number of heartbeats from which the losses of another path are known well enough to use it:
/// 4 s of one that carries no packets.
pub(super) const LEAST_OF_OTHER: u32 = 8;
/// The minimum number of losses that show anything.
const LEAST_LOST: u32 = 3;

/// The losses of the last heartbeats of a path, and its round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quality {
    /// A bit for each heartbeat, the newest lowest; 1 is a loss.
    losses: u128,
    /// The number of heartbeats in the window.
    heartbeats: u32,
    /// The smoothed round-trip time.
    pub(super) rtt: Option<Duration>,
}

impl Quality {
    /// Counts an answered heartbeat and the `lost` ones before it.
    pub(super) fn on_answer(&mut self, rtt: Duration, lost: u32) {
        self.rtt = Some(rtt);
        // A full window of losses and the answer.
        let lost = lost.min(WINDOW - 1);
        let ones = (1_u128 << lost) - 1;
        self.losses = (self.losses.unbounded_shl(lost) | ones) << 1;
        self.heartbeats = (self.heartbeats + lost + 1).min(WINDOW);
    }

    /// Empties the window.
    pub(super) fn forget_losses(&mut self) {
        (self.losses, self.heartbeats) = (0, 0);
    }

    /// The share of heartbeats that were lost.
    pub(super) fn share(&self) -> Share {
        let lost = u64::from(self.losses.count_ones()) * u64::from(Share::ONE.millionths());
        let share = lost.checked_div(self.heartbeats.into()).unwrap_or(0);
        Share::from_millionths(u32::try_from(share).unwrap_or(u32::MAX))
    }

    /// Whether data should move from this path to `other`.
    pub(super) fn is_worse_than(&self, other: &Self, limits: &LeaveConfig) -> bool {
        let (is_lossier, is_slower) = (
            self.is_lossier(other, limits),
            self.is_slower_by(other, limits.delay),
        );
        (is_lossier && !other.is_slower_by(self, limits.delay))
            || (is_slower && !other.exceeds(limits.loss))
    }

    /// Whether data may return from `used` to this path, which meets the limits by half.
    pub(super) fn has_recovered(&self, used: &Self, limits: &LeaveConfig) -> bool {
        let half = |share: Share| Share::from_millionths(share.millionths() / 2);
        let has_recovered = |limit| self.heartbeats >= LEAST && self.share() <= half(limit);
        let half = limits.delay.map(|delay| Duration(delay.0 / 2));
        limits.loss.is_none_or(has_recovered) && !self.is_slower_by(used, half)
    }

    fn is_lossier(&self, other: &Self, limits: &LeaveConfig) -> bool {
        self.exceeds(limits.loss)
            && other.heartbeats >= LEAST_OF_OTHER
            && other.share().millionths() <= self.share().millionths() / 2
    }

    /// Whether the losses exceed the limit by more than the standard deviation of their number at
    /// the limit, so that those of a path at a quarter of it hardly ever do.
    fn exceeds(&self, limit: Option<Share>) -> bool {
        let Some(limit) = limit else { return false };
        let lost = self.losses.count_ones();
        if self.heartbeats < LEAST || lost < LEAST_LOST {
            return false;
        }
        let one = f64::from(Share::ONE.millionths());
        let expected = f64::from(self.heartbeats) * f64::from(limit.millionths()) / one;
        let excess = f64::from(lost) - expected;
        excess > 0.0 && excess * excess > expected
    }

    fn is_slower_by(&self, other: &Self, limit: Option<Duration>) -> bool {
        let (Some(limit), Some(own), Some(other)) = (limit, self.rtt, other.rtt) else {
            return false;
        };
        own > other + limit
    }
}
