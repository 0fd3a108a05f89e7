//! The sending side: set-up, pacing and the reaction to feedback.

use alloc::boxed::Box;

use super::accounting::{Counting, FeedbackAccounting, FeedbackCounts, IgnoreReason};
use super::config::SenderConfig;
use super::controller::{RateController, SpacingChange};
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
    start: Time,
    next_sequence: u64,
    /// The controller's last spacing, because `deadline` has no clock.
    spacing: Duration,
}

/// An input of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderInput {
    /// The link or socket accepts a packet.
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
        let transmission = config
            .line_rate
            .map_or(Duration::ZERO, |rate| rate.transmission_time(config.packet));
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
        }
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
    fn on_feedback(&mut self, now: Time, feedback: &Feedback) -> SenderOutput {
        let Some(base) = self.round_trip.base() else {
            return SenderOutput::FeedbackIgnored(IgnoreReason::Impossible);
        };
        let sent = self.next_sequence;
        let readings = match self.accounting.apply(now, base, feedback, sent) {
            Ok(readings) => readings,
            Err(reason) => return SenderOutput::FeedbackIgnored(reason),
        };
        self.round_trip.on_feedback(now, feedback);
        let rtt = self.round_trip.value().unwrap_or(base);
        let report = self.accounting.report(&readings, self.counting, sent, rtt);
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

    fn transmit_due(&mut self, now: Time, out: &mut impl FnMut(SenderOutput)) {
        if self.next_packet().is_none_or(|at| at > now) {
            return;
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.pacer.on_sent(now, self.spacing);
        if let Some(base) = self.round_trip.base() {
            self.accounting.on_sent(now, base);
        }
        let rtt = self.round_trip.value().unwrap_or(Duration::ZERO);
        let sent = now;
        out(SenderOutput::Transmit(SpacedHeader {
            sequence,
            sent,
            rtt,
        }));
    }
}

impl Machine for SpacedSender {
    type Input = SenderInput;
    type Output = SenderOutput;

    fn handle_input(&mut self, now: Time, input: SenderInput, out: &mut impl FnMut(SenderOutput)) {
        match input {
            SenderInput::Writable => self.pacer.on_writable(),
            SenderInput::Feedback(feedback) => {
                out(self.on_feedback(now, &feedback));
            }
            SenderInput::Pong(sent) => self.round_trip.on_pong(now, sent),
        }
        self.transmit_due(now, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(SenderOutput)) {
        if self.round_trip.take_ping(now) {
            out(SenderOutput::Ping(now));
        }
        self.transmit_due(now, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let packet = self.next_packet().map(|at| Deadline { at, why: "packet" });
        Deadline::earlier(self.round_trip.deadline(), packet)
    }
}
