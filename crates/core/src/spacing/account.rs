//! What the sender makes of a feedback: packets sent against packets received, in both readings.

use super::config::Counting;
use super::controller::FeedbackReport;
use super::message::Feedback;
use super::send_log::SendLog;
use crate::time::{Duration, Time};

/// Packets sent against packets received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// The paper's `p_sent`.
    pub sent: u64,
    /// The paper's `p_rcvd`.
    pub received: u64,
}

impl PacketCounts {
    /// How many more were sent than received.
    #[must_use]
    pub fn lost(self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

/// Both readings of a feedback, since the last one that was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounts {
    /// Over the sequence numbers that the feedback is about; what was late is not received.
    pub range: PacketCounts,
    /// Sent by the clock: between one and the next feedback, less a base round-trip time; received is whatever came.
    /// It is that of `range` without queues, loss and reordering.
    pub clock: PacketCounts,
}

/// Why a feedback changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum IgnoreReason {
    /// It is the last one again, or older.
    NotNewer,
    /// It counts packets that were never sent, or fewer than before.
    Impossible,
}

/// The counts of the last feedback that was taken, and what was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    last: Feedback,
    sent_by_clock: u64,
    log: SendLog,
}

impl Account {
    pub(super) fn on_sent(&mut self, now: Time, base_rtt: Duration) {
        self.log.on_sent(now, base_rtt);
    }

    /// Takes a feedback when `next_sequence` packets were sent.
    pub(super) fn take(
        &mut self,
        now: Time,
        base_rtt: Duration,
        feedback: &Feedback,
        next_sequence: u64,
    ) -> Result<FeedbackCounts, IgnoreReason> {
        if feedback.number <= self.last.number {
            return Err(IgnoreReason::NotNewer);
        }
        let range = self
            .range(feedback, next_sequence)
            .ok_or(IgnoreReason::Impossible)?;
        let by_clock = self.log.sent_by(now - base_rtt);
        let earlier = core::mem::replace(&mut self.sent_by_clock, by_clock);
        let clock = PacketCounts {
            sent: by_clock - earlier,
            received: feedback.arrivals.distinct - self.last.arrivals.distinct,
        };
        self.last = *feedback;
        Ok(FeedbackCounts { range, clock })
    }

    /// What the controller learns from a feedback that was taken.
    pub(super) fn report(
        &self,
        readings: &FeedbackCounts,
        counting: Counting,
        next_sequence: u64,
        rtt: Duration,
    ) -> FeedbackReport {
        let (reading, end, lost_end) = match counting {
            Counting::Range => (readings.range, self.last.end, self.last.lost_end),
            // Which packets are missing by the clock nobody knows: the newest of them at worst.
            Counting::Clock => (readings.clock, self.sent_by_clock, self.sent_by_clock),
        };
        FeedbackReport {
            reading,
            end,
            newest_lost: (reading.lost() > 0).then(|| lost_end.saturating_sub(1)),
            next_sequence,
            rtt,
        }
    }

    /// The reading by range, unless the counts contradict each other, those before or what was sent.
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
