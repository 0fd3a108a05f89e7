//! The delays and losses of paths, from reports.
//!
//! The one-way delay of a path is the difference of two clocks until the round trip is divided. The
//! offset of the clocks is assumed to be such that the fastest way there and the fastest way back
//! take the same time, as in NTP (RFC 5905): its error is at most half of their difference, and the
//! same for all paths, so that it changes no comparison of paths.

use alloc::vec;
use alloc::vec::Vec;

use super::delay::{OneWayDelay, above_origin, difference, from_origin, span};
use super::queue::QueueSample;
use super::report::{PathArrival, Report};
use crate::estimate::{Minimum, RoundTrip};
use crate::frame::PathId;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// The gain of the average loss, as a divisor.
const LOSS_GAIN: f64 = 256.0;
/// Frames that arrive on a path without data count as packets after this time.
const MAX_SILENCE: Duration = Duration::from_secs(1);
/// A change of a one-way delay by more than this, which the round trip does not confirm, is a step
/// of a clock.
const CLOCK_STEP: i64 = 500_000_000;
/// The longest interval of reports of a stream without pauses.
const MAX_INTERVAL: Duration = Duration::from_millis(100);

/// The measured delays and losses of the paths of a sender.
#[derive(Clone, Debug)]
pub struct Estimates {
    paths: Vec<Option<Forward>>,
    /// The minimum delay of reports, as a difference of clocks.
    returns: Minimum,
    /// The time from one report, by the receiver's clock, to the arrival of the next, by the
    /// sender's: a packet that just missed the one waits so long for the other.
    wait: Option<RoundTrip>,
    /// The time at which the last report was made, by the receiver's clock.
    last_made: Option<Time>,
    /// The clock of the receiver minus that of the sender.
    offset: i64,
}

/// The direction from the sender to the receiver on a path.
#[derive(Clone, Copy, Debug)]
struct Forward {
    delay: OneWayDelay,
    min: Minimum,
    loss: f64,
    /// The time from which on losses count.
    losses_since: Time,
    /// The send time of the newest packet that is counted in the loss.
    last_outcome: Time,
    /// The send time of the newest frame that arrived.
    newest: Time,
}

/// The measured delay and losses of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathEstimate {
    /// The expected one-way delay; rising delays are continued.
    pub one_way: Duration,
    /// The one-way delay without queues: the minimum of the last seconds.
    pub base: Duration,
    /// The excess of the delay over that.
    pub queueing: Duration,
    /// Whether the delay rises (delay-centric paper, II.C).
    pub is_rising: bool,
    /// Lost packets, in millionths.
    pub loss: u32,
    /// The rate of packets that the path carries, without the headers of the overlay; `None` before
    /// it was used beyond that.
    pub capacity: Option<Rate>,
    /// The time by which the repair of a packet that the path loses has almost always arrived;
    /// `None` before two reports.
    pub repair_time: Option<Duration>,
    /// Whether that is later than the deadline of the policy: packets may then get a copy at once.
    pub repair_is_late: bool,
}

impl Estimates {
    /// Estimates of `paths` paths of which nothing is known.
    #[must_use]
    pub fn new(paths: u8) -> Self {
        Self {
            paths: vec![None; usize::from(paths)],
            returns: Minimum::default(),
            wait: None,
            last_made: None,
            offset: 0,
        }
    }

    /// Adds a report, newer than those before, that the receiver made at `made` by its clock.
    pub fn on_report(&mut self, now: Time, made: Time, report: &Report) {
        let back = difference(now, made);
        self.returns.add(now, back);
        // Of a path that is not in it, nothing has arrived for long. Its delay would be one of clocks
        // that have drifted since.
        for path in (0..).map(PathId).take(self.paths.len()) {
            if !report.paths.iter().any(|arrival| arrival.path == path) {
                self.paths[path.index()] = None;
            }
        }
        for arrival in &report.paths {
            self.on_arrival(now, made, back, arrival);
        }
        if let Some(last) = self.last_made.replace(made) {
            self.on_wait(now, last, made);
        }
        self.divide_round_trip();
    }

    fn on_wait(&mut self, now: Time, last: Time, made: Time) {
        // Longer ones are pauses of the stream.
        if made.since(last) > MAX_INTERVAL {
            return;
        }
        let wait = above_origin(difference(now, last));
        match &mut self.wait {
            Some(known) => known.update(wait),
            known @ None => *known = Some(RoundTrip::steady(wait)),
        }
    }

    fn on_arrival(&mut self, now: Time, made: Time, back: i64, arrival: &PathArrival) {
        let newest = arrival.newest.until(now - arrival.age);
        let delay = difference(made - arrival.age, newest);
        let Some(known) = self.paths.get_mut(arrival.path.index()) else {
            return;
        };
        let Some(forward) = known else {
            *known = Some(Forward::new(now, newest, delay));
            return;
        };
        forward.delay.reordering = arrival.reordering;
        if newest <= forward.newest {
            return;
        }
        let step = delay.saturating_sub(forward.delay.last());
        // Both directions of a round trip that takes no longer.
        let round_trip = delay.saturating_add(back);
        if step.abs() > CLOCK_STEP && round_trip < step.abs() {
            return self.restart();
        }
        forward.add(now, newest, delay);
    }

    /// Forgets all delays, after a step of a clock or with another one.
    pub(super) fn restart(&mut self) {
        self.paths.fill(None);
        self.returns = Minimum::default();
        self.wait = None;
        self.last_made = None;
    }

    fn divide_round_trip(&mut self) {
        let there = self
            .paths
            .iter()
            .flatten()
            .filter_map(|path| path.min.value());
        if let (Some(there), Some(back)) = (there.min(), self.returns.value()) {
            self.offset = there.saturating_sub(back) / 2;
        }
    }

    /// Counts a packet that was sent on `path` at `sent`, and arrived or was lost.
    pub fn on_outcome(&mut self, path: PathId, sent: Time, is_lost: bool) {
        if let Some(Some(path)) = self.paths.get_mut(path.index())
            && sent >= path.losses_since
        {
            let outcome = if is_lost { 1.0 } else { 0.0 };
            path.loss += (outcome - path.loss) / LOSS_GAIN;
            path.last_outcome = path.last_outcome.max(sent);
        }
    }

    /// Forgets the losses of what was sent on `path` by `now`.
    pub(super) fn forget_losses(&mut self, now: Time, path: PathId) {
        if let Some(Some(path)) = self.paths.get_mut(path.index()) {
            path.loss = 0.0;
            path.losses_since = now;
        }
    }

    /// The measured delay and losses of `path`; `None` before a frame on it was reported.
    #[must_use]
    pub fn path(&self, path: PathId) -> Option<PathEstimate> {
        let path = self.forward(path)?;
        let smoothed = path.delay.average();
        let trend = path.delay.trend();
        let expected = smoothed.saturating_add(trend.max(0));
        let above = smoothed.saturating_sub(path.min.value().unwrap_or(smoothed));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 0 to 1"
        )]
        let loss = (path.loss * 1e6) as u32;
        Some(PathEstimate {
            one_way: span(expected.saturating_sub(self.offset)),
            base: span(smoothed.saturating_sub(above).saturating_sub(self.offset)),
            queueing: span(above),
            is_rising: trend > 0,
            loss,
            capacity: None,
            repair_time: None,
            repair_is_late: false,
        })
    }

    /// The expected one-way delay of `path`.
    #[must_use]
    pub fn one_way(&self, path: PathId) -> Option<Duration> {
        self.path(path).map(|estimate| estimate.one_way)
    }

    /// The time from the transmission of a frame on `path` until a report covers it, which is
    /// rarely exceeded.
    #[must_use]
    pub fn feedback_time(&self, path: PathId) -> Option<Duration> {
        let wait = self.wait?;
        let wait = from_origin(wait.smoothed() + wait.variation() * 2);
        let spread = self.forward(path)?.delay.spread();
        Some(self.one_way(path)? + spread + span(wait.saturating_add(self.offset)))
    }

    /// Whether a frame that was sent at `sent` on `path` is overtaken by later ones, more than the
    /// path reorders.
    #[must_use]
    pub(super) fn is_overtaken(&self, path: PathId, sent: Time) -> bool {
        let sent = Time(sent.0 / 1000 * 1000);
        let forward = self.forward(path);
        forward.is_some_and(|path| sent + path.delay.reordering < path.newest)
    }

    /// Whether nothing that was sent on `path` at `sent` or later has arrived.
    #[must_use]
    pub(super) fn is_silent_since(&self, path: PathId, sent: Time) -> bool {
        let forward = self.forward(path);
        forward.is_none_or(|path| path.newest < Time(sent.0 / 1000 * 1000))
    }

    /// Whether a frame that was sent at `sent` on `path` was due at least `margin`, and four times
    /// the variation of the delay, before the time `made` of the receiver.
    #[must_use]
    pub(super) fn was_due(&self, path: PathId, sent: Time, margin: Duration, made: Time) -> bool {
        let Some(path) = self.forward(path) else {
            return false;
        };
        difference(made, sent) >= path.delay.missing_after(margin)
    }

    /// Whether the `first` frame counts as missing, later than expected by `margin`, before the
    /// `second` one arrives; each is a path and the send time on it. False if the delay of a path is
    /// not known.
    #[must_use]
    pub(super) fn is_missing_before(
        &self,
        first: (PathId, Time),
        second: (PathId, Time),
        margin: Duration,
    ) -> bool {
        let (Some(of_first), Some(of_second)) = (self.forward(first.0), self.forward(second.0))
        else {
            return false;
        };
        let earliest = of_second.delay.average();
        let spread = i64::try_from(of_second.delay.spread().0).unwrap_or(i64::MAX);
        let lead = earliest
            .saturating_sub(spread)
            .saturating_sub(of_first.delay.missing_after(margin));
        difference(second.1, first.1).saturating_add(lead) > 0
    }

    /// Whether a frame that was sent at `sent` on `path` was due before the newest report was made.
    #[must_use]
    pub(super) fn was_reported(&self, path: PathId, sent: Time) -> bool {
        let is_due = |made| self.was_due(path, sent, Duration::ZERO, made);
        // Nothing is known of a path on which nothing has arrived, nor of any before a report.
        let is_unknown = self.forward(path).is_none();
        self.last_made
            .is_some_and(|made| is_unknown || is_due(made))
    }

    /// The queue that the frame found which was sent last among those on `path` that have arrived.
    #[must_use]
    pub(super) fn newest(&self, path: PathId) -> Option<QueueSample> {
        let path = self.forward(path)?;
        let last = path.delay.last();
        let min = path.min.value().unwrap_or(last);
        Some(QueueSample {
            sent: path.newest,
            queue: span(last.saturating_sub(min)),
        })
    }

    fn forward(&self, path: PathId) -> Option<&Forward> {
        self.paths.get(path.index())?.as_ref()
    }
}

impl Forward {
    fn new(now: Time, newest: Time, delay: i64) -> Self {
        let mut min = Minimum::default();
        min.add(now, delay);
        Self {
            delay: OneWayDelay::new(delay),
            min,
            loss: 0.0,
            losses_since: Time::ZERO,
            last_outcome: newest,
            newest,
        }
    }

    fn add(&mut self, now: Time, newest: Time, delay: i64) {
        self.delay.add(delay);
        self.min.add(now, delay);
        self.newest = newest;
        // Or a path that is not used because of its losses would never be used again.
        if newest.since(self.last_outcome) > MAX_SILENCE {
            self.loss -= self.loss / LOSS_GAIN;
        }
    }
}
