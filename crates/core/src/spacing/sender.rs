//! The sending side: set-up, pacing and the reaction to feedback.

use alloc::boxed::Box;

use super::accounting::{Counting, FeedbackAccounting, FeedbackCounts, IgnoreReason};
use super::config::SenderConfig;
use super::controller::{FeedbackReport, RateController, SpacingChange};
use super::message::{Feedback, SpacedHeader};
use super::pacer::Pacer;
use super::round_trip::RoundTrip;
use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};

/// Sends packets at the spacing that its controller sets.
///
/// A driver passes [`SenderInput::Writable`] at the start and after each packet, as soon as the
/// link or socket accepts the next one. The first packet is sent once the base round-trip time is
/// known. A sender with fixed spacing does not need it, and without it requests no feedback.
#[derive(Clone, Debug)]
pub struct SpacedSender {
    control: Box<dyn RateController>,
    counting: Counting,
    pacer: Pacer,
    round_trip: RoundTrip,
    accounting: FeedbackAccounting,
    /// No packet leaves earlier.
    start: Time,
    next_sequence: u64,
    /// The controller's last spacing, because `deadline` has no clock.
    spacing: Duration,
    /// Whether the next packet was ready before its time.
    waits: bool,
    /// One past the newest packet that was.
    waited_end: u64,
    /// The time since which feedback is awaited.
    unanswered_since: Option<Time>,
}

/// The minimum time after which feedback is overdue, and the number of round-trip times (RFC 6298,
/// section 2).
const MIN_SILENCE: Duration = Duration::from_secs(1);
const SILENT_RTTS: u64 = 4;

/// An input of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderInput {
    /// The link or socket accepts a packet, and the application has one.
    Writable,
    /// A report of the receiver.
    Feedback(Feedback),
    /// The receiver's answer to the ping with this time.
    Pong(Time),
}

/// An output of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderOutput {
    /// Send a ping with this time.
    Ping(Time),
    /// Send a packet with this header.
    Transmit(SpacedHeader),
    /// A feedback was applied.
    FeedbackApplied {
        /// The change of the spacing.
        adjustment: SpacingChange,
        /// The new spacing.
        spacing: Duration,
        /// The counts by sequence range and by time.
        readings: FeedbackCounts,
    },
    /// A feedback had no effect.
    FeedbackIgnored(IgnoreReason),
}

impl SpacedSender {
    /// A sender that starts at `start`.
    #[must_use]
    pub fn new(config: &SenderConfig, start: Time) -> Self {
        let line_rate = config.line_rate.filter(|_| !config.control.sets_rate());
        let transmission =
            line_rate.map_or(Duration::ZERO, |rate| rate.transmission_time(config.packet));
        let control = config.control.build();
        Self {
            spacing: control.spacing(start),
            control,
            counting: config.counting,
            pacer: Pacer::new(transmission, config.catch_up),
            round_trip: RoundTrip::new(
                config.base_rtt,
                config.rtt,
                config.control.is_adaptive().then_some(start),
            ),
            accounting: FeedbackAccounting::default(),
            start,
            next_sequence: 0,
            waits: false,
            waited_end: 0,
            unanswered_since: None,
        }
    }

    /// Begins to count with packet `next_sequence`, the next one
    /// ([`FeedbackAccounting::restart`]).
    pub(super) fn restart_at(&mut self, next_sequence: u64, is_receiver_new: bool) {
        self.next_sequence = next_sequence;
        self.accounting.restart(next_sequence, is_receiver_new);
    }

    /// Sends a ping at once if one is needed, since it can now reach the receiver.
    pub(super) fn on_reachable(&mut self, now: Time) {
        self.round_trip.on_reachable(now);
    }

    /// Sends without feedback from now on, since the receiver gives none: the spacing stays.
    pub(super) fn on_no_feedback(&mut self) {
        self.round_trip.give_up();
        self.unanswered_since = None;
    }

    /// Measures the round-trip time if it is unknown, since the receiver gives feedback from now on.
    pub(super) fn on_feedback_possible(&mut self, now: Time) {
        self.round_trip.resume(now);
    }

    /// Notes that the driver is behind: what leaves now leaves at `present`, so the schedule catches
    /// up no further than usual.
    pub(super) fn on_driver_behind(&mut self, present: Time) {
        self.start = self.start.max(present - self.pacer.catch_up());
    }

    /// Takes back the last packet that was due, which was not sent; the next one has its number.
    pub(super) fn withdraw(&mut self) {
        self.next_sequence = self.next_sequence.saturating_sub(1);
        self.waited_end = self.waited_end.min(self.next_sequence);
        if self.round_trip.base().is_some() {
            self.accounting.withdraw();
        }
    }

    /// Notes that no packet is ready.
    pub(super) fn on_idle(&mut self) {
        self.pacer.on_idle();
    }

    /// The number of packets sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.next_sequence
    }

    /// The spacing `t_s` in force.
    #[must_use]
    pub fn spacing(&self) -> Duration {
        self.spacing
    }

    /// The round-trip time in use; `None` until it is measured.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.round_trip.value()
    }

    /// Handles feedback; before the round-trip time is known, it can only cover packets that were
    /// never sent.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &Feedback) -> SenderOutput {
        let Some(base) = self.round_trip.base() else {
            return SenderOutput::FeedbackIgnored(IgnoreReason::Impossible);
        };
        let sent = self.next_sequence;
        let is_application_limited = self.waited_end <= self.accounting.reported_end();
        let readings = match self.accounting.apply(now, base, feedback, sent) {
            Ok(readings) => readings,
            Err(reason) => return SenderOutput::FeedbackIgnored(reason),
        };
        self.unanswered_since = None;
        let sample = self.round_trip.on_feedback(now, feedback);
        let rtt = self.round_trip.value().unwrap_or(base);
        let report = FeedbackReport {
            rtt,
            sample,
            is_application_limited,
            ..self.accounting.report(&readings, self.counting, sent)
        };
        let adjustment = self.control.handle_feedback(now, &report);
        self.spacing = self.control.spacing(now);
        SenderOutput::FeedbackApplied {
            adjustment,
            spacing: self.spacing,
            readings,
        }
    }

    fn next_packet(&self) -> Option<Time> {
        let next = self.pacer.next(self.spacing)?.max(self.start);
        self.round_trip.is_settled().then_some(next)
    }

    /// Marks the next packet as ready, directly after the previous one.
    pub(super) fn set_ready(&mut self) {
        self.pacer.on_writable();
        self.waits = true;
    }

    /// Marks the next packet as ready after a pause.
    pub(super) fn set_ready_after_pause(&mut self, now: Time) {
        self.pacer.on_writable();
        self.waits = self.next_packet().is_none_or(|at| at > now);
    }

    /// The header of the next packet, if it is ready and due.
    pub(super) fn take_due(&mut self, now: Time) -> Option<SpacedHeader> {
        self.next_packet().filter(|at| *at <= now)?;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        if core::mem::take(&mut self.waits) {
            self.waited_end = self.next_sequence;
        } else {
            self.pacer.restart();
        }
        self.pacer.on_sent(now, self.spacing);
        if let Some(base) = self.round_trip.base() {
            self.accounting.on_sent(now, base);
            self.note_silence(now);
        }
        Some(SpacedHeader {
            sequence,
            sent: now,
            rtt: self.round_trip.value().unwrap_or(Duration::ZERO),
        })
    }

    /// Lets the controller react if feedback is overdue, while packets are sent.
    fn note_silence(&mut self, now: Time) {
        let since = *self.unanswered_since.get_or_insert(now);
        let rtt = self.round_trip.value().unwrap_or(Duration::ZERO);
        if now.since(since) >= MIN_SILENCE.max(rtt * SILENT_RTTS) {
            self.unanswered_since = Some(now);
            self.control.handle_silence(now);
            self.spacing = self.control.spacing(now);
        }
    }

    /// Returns whether a ping is due.
    pub(super) fn take_ping(&mut self, now: Time) -> bool {
        self.round_trip.take_ping(now)
    }

    /// Handles the answer to the ping that was sent at `sent`.
    pub(super) fn on_pong(&mut self, now: Time, sent: Time) {
        self.round_trip.on_pong(now, sent);
    }
}

impl Machine for SpacedSender {
    type Input = SenderInput;
    type Output = SenderOutput;

    fn handle_input(&mut self, now: Time, input: SenderInput, out: &mut impl FnMut(SenderOutput)) {
        match input {
            SenderInput::Writable => self.set_ready(),
            SenderInput::Feedback(feedback) => {
                out(self.on_feedback(now, &feedback));
            }
            SenderInput::Pong(sent) => self.on_pong(now, sent),
        }
        self.take_due(now).map(SenderOutput::Transmit).map(out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(SenderOutput)) {
        if self.take_ping(now) {
            out(SenderOutput::Ping(now));
        }
        self.take_due(now).map(SenderOutput::Transmit).map(out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let packet = self.next_packet().map(|at| Deadline { at, why: "packet" });
        Deadline::earlier(self.round_trip.deadline(), packet)
    }
}
