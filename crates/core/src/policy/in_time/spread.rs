//! Whether bulk that keeps its queue short uses slower paths, too.
//!
//! A packet goes where it arrives first, so that a slower path is used only while packets wait on
//! the fastest for as long as the delays differ. The windows of Reno and CUBIC grow until they do. A
//! congestion control that keeps queues short, as BBR does, never lets them, and takes the rate of
//! the fastest path for that of all. Where packets use up the fastest path for [`PATIENCE`] and its
//! queue keeps emptying, the delays no longer count: the receiver restores the order
//! ([`crate::order`]), and the flow finds the rate of all. That ends where a queue remains for a
//! second, since then the delays count in its favour, or the fastest path has room. All bulk on the
//! paths is judged together, and all packets on the fastest count.

use crate::hold::next_hold;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The time after which the use of the path is judged: longer than the cycle in which BBR empties
/// its queue.
const WINDOW: Duration = Duration::from_secs(1);
/// The windows in which the queue empties have to exceed those in which it does not by this time: it
/// empties in one or two windows of a window-based control. Every fourth window contains a time at a
/// lower rate ([`crate::repair::PathRateController`]), which leaves a queue.
const PATIENCE: Duration = Duration::from_secs(3);
/// It doubles, up to this, if the delays counted again after fewer windows than [`TRIAL`]: a flow
/// whose window does not grow, or that only seemed to use up the path, is slower over paths of
/// different delays.
const MAX_PATIENCE: Duration = Duration::from_secs(96);
const TRIAL: u64 = 10;
/// A queue that is shorter is empty.
const EMPTY: Duration = Duration::from_millis(1);
/// A path that carries more than this part of its capacity is used up, in hundredths; and one that
/// carries less than this has room. Between them nothing changes: BBR sends little in one window of
/// ten.
const USED_UP: u64 = 85;
const HAS_ROOM: u64 = 60;

/// Whether bulk is spread over paths of different delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// The start of the window, the bytes in it, and the shortest wait.
    start: Time,
    sent: Bytes,
    least: Duration,
    /// The time by which windows with an empty queue have to exceed others.
    patience: Duration,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Delays count. `empty` is the number of windows with an empty queue, less that of the others.
    Waiting { empty: u64 },
    /// Delays have not counted for this number of windows.
    Applied { windows: u64 },
}

impl Spread {
    /// Nothing has been sent.
    pub(super) const START: Self = Self {
        start: Time::ZERO,
        sent: Bytes(0),
        least: Duration::MAX,
        patience: PATIENCE,
        state: State::Waiting { empty: 0 },
    };

    /// Counts a packet of `size` bytes on the preferred path.
    pub(super) fn add(&mut self, size: u32) {
        self.sent.0 += u64::from(size);
    }

    /// Counts the time for which a packet would wait on the preferred path.
    pub(super) fn add_wait(&mut self, wait: Duration) {
        self.least = self.least.min(wait);
    }

    /// Whether delays do not count.
    pub(super) fn is_applied(&self) -> bool {
        matches!(self.state, State::Applied { .. })
    }

    /// The length of the window, if it ends by `now`.
    pub(super) fn elapsed(&self, now: Time) -> Option<Duration> {
        Some(now.since(self.start)).filter(|elapsed| *elapsed >= WINDOW)
    }

    /// Judges the window of `elapsed`, and begins another. The preferred path, which is the fastest
    /// as a rule, carries `capacity`; the next slower path is later by `difference`, if there is one.
    pub(super) fn judge(
        &mut self,
        now: Time,
        elapsed: Duration,
        capacity: Rate,
        difference: Option<Duration>,
    ) {
        // After a pause the transfer before has ended: that says nothing of the paths.
        self.state = match difference.filter(|_| elapsed < WINDOW * 2) {
            Some(difference) => self.next(capacity.bytes_in(elapsed), difference),
            None => State::Waiting { empty: 0 },
        };
        (self.start, self.sent, self.least) = (now, Bytes(0), Duration::MAX);
    }

    /// The state after a window in which the preferred path carries up to `most`.
    fn next(&mut self, most: Bytes, difference: Duration) -> State {
        let carries = |hundredths| 100 * self.sent.0 >= most.0.saturating_mul(hundredths);
        match self.state {
            State::Waiting { .. } if !carries(HAS_ROOM) => State::Waiting { empty: 0 },
            State::Waiting { empty } if self.least >= EMPTY => State::Waiting {
                empty: empty.saturating_sub(1),
            },
            State::Waiting { empty }
                if carries(USED_UP) && WINDOW * (empty + 1) >= self.patience =>
            {
                State::Applied { windows: 0 }
            }
            State::Waiting { empty } => State::Waiting {
                empty: empty + u64::from(carries(USED_UP)),
            },
            State::Applied { windows }
                if self.least >= difference.scale(1, 2) || !carries(HAS_ROOM) =>
            {
                self.patience =
                    next_hold(self.patience, windows >= TRIAL, [PATIENCE, MAX_PATIENCE]);
                State::Waiting { empty: 0 }
            }
            State::Applied { windows } => State::Applied {
                windows: TRIAL.min(windows + 1),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Sends packets of `size` bytes for `seconds`, one each 10 ms, on a path that carries 1000 in
    /// that time; all wait for `wait`, but one in each second for `least`.
    fn send(spread: &mut Spread, now: &mut Time, size: u32, least: u64, seconds: u64) -> bool {
        let mut applies = false;
        for number in 0..seconds * 100 {
            *now += MS * 10;
            spread.add_wait(if number % 100 == 50 {
                MS * least
            } else {
                MS * 90
            });
            if let Some(elapsed) = spread.elapsed(*now) {
                spread.judge(*now, elapsed, Rate(800_000), Some(MS * 40));
            }
            applies = spread.is_applied();
            spread.add(size);
        }
        applies
    }

    #[test]
    fn bulk_is_spread_while_it_uses_up_a_path_and_its_queue_empties() {
        let (mut spread, mut now) = (Spread::START, Time::ZERO);
        assert!(!send(&mut spread, &mut now, 900, 0, 2), "not yet");
        assert!(send(&mut spread, &mut now, 900, 0, 2));
        assert!(send(&mut spread, &mut now, 700, 19, 9));
        assert!(!send(&mut spread, &mut now, 900, 20, 2), "a queue remains");
        assert!(
            !send(&mut spread, &mut now, 900, 1, 9),
            "the queue never empties"
        );
        assert!(
            !send(&mut spread, &mut now, 700, 0, 9),
            "the path is not used up"
        );
        assert!(send(&mut spread, &mut now, 900, 0, 4));
        assert!(!send(&mut spread, &mut now, 500, 0, 2), "the path has room");
        assert!(!send(&mut spread, &mut now, 900, 0, 5), "not again as soon");
        assert!(send(&mut spread, &mut now, 900, 0, 12));
        assert!(
            !send(&mut spread, &mut now, 500, 0, 1),
            "it lasted for long"
        );
        assert!(send(&mut spread, &mut now, 900, 0, 4));
        // After the end of a transfer it takes as long as at first.
        for _ in 0..3 {
            now += WINDOW * 10;
            assert!(!send(&mut spread, &mut now, 900, 0, 2));
            assert!(send(&mut spread, &mut now, 900, 0, 3));
        }
        // A queue that remains in every fourth window delays it.
        now += WINDOW * 10;
        for _ in 0..2 {
            assert!(!send(&mut spread, &mut now, 900, 0, 2));
            assert!(!send(&mut spread, &mut now, 900, 9, 2));
        }
        assert!(send(&mut spread, &mut now, 900, 0, 4));
    }
}
