//! CUBIC (RFC 9438) for the rate of a sender, with a limit of the queueing delay.
//!
//! The packet-spacing paper's controllers multiply and add spacings, which keeps unequal senders
//! unequal (Chiu and Jain 1989). This one grows and reduces the rate as CUBIC does its window, with
//! three differences:
//!
//! 1. **Independent of the path's round-trip time.** CUBIC's window over a round-trip time favours short paths.
//!    Here the growth takes a reference round-trip time plus the queueing delay, which all flows
//!    through a bottleneck measure alike: their rates converge though their paths differ.
//! 2. **A limit of the queueing delay.** A delay that stays beyond [`CubicConfig::max_queue`] reduces
//!    the rate as a loss does, so that a deep buffer does not fill. All senders see it at about the
//!    same time, so they converge, and the queue drains, which shows each of them the base round-trip
//!    time.
//! 3. **Competition.** Flows that react to losses alone, as TCP's, hold the queue. If several
//!    reductions in succession do not drain it, they are taken back, and losses alone count
//!    ([`QueueLimit`]).
//!
//! The rate is that of starts: a packet's own transmission time is a part of the spacing.
//!
//! Without feedback the rate halves again and again, as TCP's after timeouts (RFC 8085, section 3.1).

use super::controller::{FeedbackReport, PacketCounts, RateController, SpacingChange};
use super::queue_limit::{QueueLimit, QueueVerdict};
use crate::cubic::{CUBIC_ALPHA, CUBIC_BETA, CUBIC_C, CubicCurve, cubic_maximum};
use crate::time::{Duration, Time};

/// The minimum part of the rate that is left after a report with losses, and the packets of a report
/// from which on the part that was lost counts: of fewer, a single loss would be a large part.
const MIN_LEFT: f64 = 0.5;
const MIN_COUNTED: u64 = 20;
/// The gain of the rate in use per second, so that it is that of several pictures of a video, and the rate to which a reduction limits an unused one, as
/// a multiple of it (RFC 7661, section 4.4.1).
const USE_GAIN: f64 = 5.0;
const MAX_UNUSED: f64 = 2.0;
/// The maximum growth in a round-trip time, as a factor (RFC 9438, 4.2), and the part of the growth that
/// is left at the limit of the queue.
const MAX_GROWTH: f64 = 1.5;
const MIN_GROWTH: f64 = 0.1;
/// The reference round-trip time while reductions keep the queue short: nothing then competes that
/// grows faster, and the rates of many senders would else grow and fall within their round-trip times.
const SHORT_QUEUE_RTT: Duration = Duration::from_millis(150);
/// The maximum rate in packets per second: a packet each microsecond.
const MAX_RATE: f64 = 1e6;

/// The parameters of a [`CubicRate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CubicConfig {
    /// The initial spacing.
    pub initial: Duration,
    /// The round-trip time, without queueing, of the TCP whose share a sender takes.
    pub reference_rtt: Duration,
    /// The queueing delay that counts as congestion; 0 for losses alone.
    pub max_queue: Duration,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(10),
            reference_rtt: Duration::from_millis(40),
            max_queue: Duration::from_millis(30),
        }
    }
}

/// A rate that grows and is reduced as by CUBIC.
#[derive(Clone, Debug)]
pub struct CubicRate {
    config: CubicConfig,
    /// The rate in packets per second.
    rate: f64,
    /// The longest spacing, so that feedback continues.
    max_spacing: Duration,
    /// Whether the rate still doubles, as in slow start.
    is_starting: bool,
    /// The growth since the last reduction.
    stage: Option<Stage>,
    /// The rate before the last reduction.
    prior: f64,
    /// The rate before the last reduction, or less by fast convergence.
    maximum: Option<f64>,
    /// The time of the last reduction.
    reduced: Option<Time>,
    /// The first packet sent since the rate was last reduced or doubled.
    changed_at: u64,
    /// The rate in use: that of packets that feedback covers; `None` before the second report.
    used: Option<f64>,
    /// The time of the last report.
    reported: Option<Time>,
    queue: QueueLimit,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    began: Time,
    /// The time of the last growth.
    grown: Time,
    curve: CubicCurve,
    /// The estimated rate of Reno.
    reno: f64,
}

impl CubicRate {
    /// A controller that starts at the configured spacing.
    #[must_use]
    pub fn new(config: CubicConfig) -> Self {
        Self {
            config,
            rate: (1.0 / config.initial.as_secs_f64()).min(MAX_RATE),
            max_spacing: Duration::MAX,
            is_starting: true,
            stage: None,
            prior: 0.0,
            maximum: None,
            reduced: None,
            changed_at: 0,
            used: None,
            reported: None,
            queue: QueueLimit::new(config.max_queue),
        }
    }

    /// The round-trip time of growth: the reference with the queueing delay. A flow that has never
    /// seen the queue drain does not know its delay, so that half the round-trip time is the minimum.
    fn growth_rtt(&self) -> Duration {
        let reference = if self.queue.is_kept_short() {
            self.config.reference_rtt.max(SHORT_QUEUE_RTT)
        } else {
            self.config.reference_rtt
        };
        let reference = reference + self.queue.delay();
        reference.max(self.queue.smoothed_rtt().scale(1, 2))
    }

    fn reduce(&mut self, now: Time, left: f64, report: &FeedbackReport) {
        self.queue.on_reduction(report.newest_lost.is_some());
        let rate = match self.used {
            Some(used) => self.rate.min((MAX_UNUSED * used).max(self.slowest())),
            None => self.rate,
        };
        self.prior = rate;
        // Reductions at the same time keep the ratio of rates, and so does growth back to the last
        // maximum: fast convergence after each of them, and not only below it, leaves some to all alike.
        let last = if self.queue.is_kept_short() {
            Some(f64::INFINITY)
        } else {
            self.maximum
        };
        self.maximum = Some(cubic_maximum(rate, last));
        self.rate = rate * left;
        self.stage = None;
        self.is_starting = false;
        self.reduced = Some(now);
        self.changed_at = report.next_sequence;
    }

    /// Grows by what the time since `before`, that of the last report, permits.
    fn grow(&mut self, now: Time, before: Time, report: &FeedbackReport) {
        if self.is_starting {
            // The packets of the last rate must have arrived, or the rate doubles unseen.
            if report.end > self.changed_at {
                self.rate *= 2.0;
                self.changed_at = report.next_sequence;
            }
            return;
        }
        let rtt = self.growth_rtt().as_secs_f64();
        let (rate, prior, maximum) = (self.rate, self.prior, self.maximum);
        let stage = self.stage.get_or_insert_with(|| Stage {
            began: before,
            grown: before,
            curve: CubicCurve::new(rate, maximum.unwrap_or(rate), CUBIC_C / rtt),
            reno: rate,
        });
        // What passed without feedback is not made up for.
        let since = now.since(stage.grown);
        let counted = since.min(report.rtt.max(Duration::from_secs_f64(rtt)) * 2);
        stage.began += since - counted;
        stage.grown = now;
        // A queue that grows slows the growth, so that the rate exceeds the path's by little.
        let elapsed = counted.as_secs_f64() * self.queue.free_share().max(MIN_GROWTH);
        stage.began += counted - Duration::from_secs_f64(elapsed);
        let alpha = if stage.reno < prior { CUBIC_ALPHA } else { 1.0 };
        let most = rate * (1.0 + (MAX_GROWTH - 1.0) * elapsed / rtt);
        stage.reno = (stage.reno + alpha * elapsed / (rtt * rtt)).min(most);
        let target = stage.curve.at(now.since(stage.began).as_secs_f64());
        self.rate = target.max(stage.reno).clamp(rate, most);
    }

    /// Pauses the growth of a rate that the application does not use (RFC 9438, 5.8).
    fn pause(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.began += now.since(stage.grown);
            stage.grown = now;
        }
    }

    /// Reacts to lost packets. All losses of a round-trip time are one sign of congestion; a large
    /// part of lost packets reduces the rate by more.
    fn on_loss(&mut self, now: Time, lost: u64, report: &FeedbackReport) {
        let is_answered = lost < self.changed_at && !self.is_starting;
        let rtt = self.growth_rtt();
        if is_answered || self.reduced.is_some_and(|reduced| now < reduced + rtt) {
            return;
        }
        let PacketCounts { sent, received } = report.reading;
        let left = if self.is_starting || sent >= MIN_COUNTED {
            (received as f64 / sent.max(1) as f64).clamp(MIN_LEFT, CUBIC_BETA)
        } else {
            CUBIC_BETA
        };
        self.reduce(now, left, report);
    }

    /// Grows, unless the queue is too long; `before` is the time of the last report.
    fn on_no_loss(&mut self, now: Time, before: Time, report: &FeedbackReport) {
        let settling = self.config.reference_rtt + self.queue.delay() + self.queue.draining_time();
        let verdict = if self.is_starting {
            self.queue.verdict_at_start()
        } else {
            self.queue.verdict(now, self.reduced, settling, self.rate)
        };
        match verdict {
            QueueVerdict::Acceptable if report.is_application_limited => self.pause(now),
            QueueVerdict::Acceptable => self.grow(now, before, report),
            QueueVerdict::Draining => self.pause(now),
            QueueVerdict::TooLong => self.reduce(now, CUBIC_BETA, report),
            QueueVerdict::HeldByOthers { rate } => {
                self.rate = rate;
                self.stage = None;
            }
        }
    }

    /// Notes the rate at which the packets of a report were sent.
    fn note_use(&mut self, now: Time, report: &FeedbackReport) {
        let since = self.reported.replace(now).map(|before| now.since(before));
        let Some(seconds) = since.map(Duration::as_secs_f64).filter(|span| *span > 0.0) else {
            return;
        };
        let rate = report.reading.sent as f64 / seconds;
        let used = self.used.unwrap_or(rate);
        self.used = Some(used + (rate - used) * (USE_GAIN * seconds).min(1.0));
    }

    /// The rate at which feedback continues.
    fn slowest(&self) -> f64 {
        (1.0 / self.max_spacing.as_secs_f64()).min(MAX_RATE)
    }

    fn bounded_spacing(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.rate).min(self.max_spacing)
    }
}

impl RateController for CubicRate {
    fn spacing(&self, _: Time) -> Duration {
        self.bounded_spacing()
    }

    fn handle_feedback(&mut self, now: Time, report: &FeedbackReport) -> SpacingChange {
        let before = self.bounded_spacing();
        if let Some(sample) = report.sample {
            self.queue.add(now, sample);
        }
        let previous = self.reported.unwrap_or(now);
        self.note_use(now, report);
        match report.newest_lost {
            Some(lost) => self.on_loss(now, lost, report),
            None if report.reading.sent == 0 => {}
            None => self.on_no_loss(now, previous, report),
        }
        self.max_spacing = report.rtt.max(self.config.reference_rtt);
        self.rate = self.rate.clamp(self.slowest(), MAX_RATE);
        SpacingChange::between(before, self.bounded_spacing())
    }

    fn handle_silence(&mut self, _: Time) {
        self.rate = (self.rate * MIN_LEFT).max(self.slowest());
        self.stage = None;
        self.is_starting = false;
    }
}
