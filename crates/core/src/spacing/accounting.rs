//! Packets sent and received in the interval of a feedback, by sequence range and by time.

use super::controller::{FeedbackReport, PacketCounts};
use super::message::Feedback;
use super::send_log::SendLog;
use crate::time::{Duration, Time};

/// The counting of the packets that a feedback covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Counting {
    /// Counts the sequence numbers that the feedback covers.
    #[default]
    Range,
    /// Counts packets sent early enough to have arrived without queueing. A packet in a queue
    /// counts as lost.
    Clock,
}

/// The counts since the last applied feedback, by sequence range and by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounts {
    /// Over the sequence numbers that the feedback covers; late packets count as lost.
    pub range: PacketCounts,
    /// Packets sent between the two feedback messages, each less a base round-trip time, and all
    /// packets received. Equal to `range` without queues, loss and reordering.
    pub clock: PacketCounts,
}

/// The reason why a feedback had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum IgnoreReason {
    /// It repeats the last applied feedback or is older.
    NotNewer,
    /// It counts packets that were never sent, or fewer packets than an earlier feedback.
    Impossible,
}

/// The last applied feedback, and the packets sent.
#[derive(Clone, Debug, Default)]
pub(super) struct FeedbackAccounting {
    last: Feedback,
    /// Whether the next feedback only shows from where the receiver counts.
    awaits_baseline: bool,
    sent_by_clock: u64,
    log: SendLog,
}

impl FeedbackAccounting {
    pub(super) fn on_sent(&mut self, now: Time, base_rtt: Duration) {
        self.log.on_sent(now, base_rtt);
    }

    /// Takes back the last packet, which was not sent.
    pub(super) fn withdraw(&mut self) {
        self.log.withdraw();
    }

    /// Begins to count with packet `next_sequence`; the receiver counts from the beginning, too, or
    /// else from somewhere: then the next feedback is the one with which later ones are compared.
    pub(super) fn restart(&mut self, next_sequence: u64, is_receiver_new: bool) {
        self.last = Feedback {
            end: next_sequence,
            ..Feedback::default()
        };
        self.awaits_baseline = !is_receiver_new;
    }

    /// One past the last packet that feedback covers.
    pub(super) fn reported_end(&self) -> u64 {
        self.last.end
    }

    /// Applies a feedback received after `next_sequence` packets were sent.
    pub(super) fn apply(
        &mut self,
        now: Time,
        base_rtt: Duration,
        feedback: &Feedback,
        next_sequence: u64,
    ) -> Result<FeedbackCounts, IgnoreReason> {
        if feedback.number <= self.last.number {
            return Err(IgnoreReason::NotNewer);
        }
        if self.awaits_baseline {
            // One of an older count covers no packet of this one.
            if feedback.end <= self.last.end || feedback.end > next_sequence {
                return Err(IgnoreReason::Impossible);
            }
            self.awaits_baseline = false;
            self.sent_by_clock = self.log.sent_by(now - base_rtt);
            self.last = *feedback;
            return Ok(FeedbackCounts::default());
        }
        let range = self
            .range(feedback, next_sequence)
            .ok_or(IgnoreReason::Impossible)?;
        let sent_by_clock = self.log.sent_by(now - base_rtt);
        let earlier = core::mem::replace(&mut self.sent_by_clock, sent_by_clock);
        let clock = PacketCounts {
            sent: sent_by_clock - earlier,
            received: feedback.arrivals.distinct - self.last.arrivals.distinct,
        };
        self.last = *feedback;
        Ok(FeedbackCounts { range, clock })
    }

    /// The controller's report of the last applied feedback, as far as the counts go.
    pub(super) fn report(
        &self,
        readings: &FeedbackCounts,
        counting: Counting,
        next_sequence: u64,
    ) -> FeedbackReport {
        let (reading, end, lost_end) = match counting {
            Counting::Range => (readings.range, self.last.end, self.last.lost_end),
            // Counts by time do not identify the lost packets; assume the newest ones.
            Counting::Clock => (readings.clock, self.sent_by_clock, self.sent_by_clock),
        };
        FeedbackReport {
            reading,
            end,
            newest_lost: (reading.lost() > 0).then(|| lost_end.saturating_sub(1)),
            next_sequence,
            ..FeedbackReport::default()
        }
    }

    /// The counts by sequence range; `None` if they contradict each other, earlier ones or the
    /// packets sent.
    fn range(&self, feedback: &Feedback, next_sequence: u64) -> Option<PacketCounts> {
        let reading = PacketCounts {
            sent: feedback.end.checked_sub(self.last.end)?,
            received: feedback.received.checked_sub(self.last.received)?,
        };
        let arrived = feedback
            .arrivals
            .distinct
            .checked_sub(self.last.arrivals.distinct);
        let lost_here = (self.last.end + 1..=feedback.end).contains(&feedback.lost_end);
        let possible = feedback.end <= next_sequence
            && reading.received <= reading.sent
            && arrived.is_some()
            && feedback.arrivals.distinct <= next_sequence
            && (reading.lost() == 0 || lost_here);
        possible.then_some(reading)
    }
}
