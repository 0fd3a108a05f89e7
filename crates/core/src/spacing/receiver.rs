//! The receiving side: counts packets and reports them once per round-trip time.
//!
//! A feedback covers the sequence numbers from the end of the last reported range to the newest one
//! received. A missing number is lost once the newest is `reordering` ahead (RFC 9002, section
//! 6.1.1, recommends 3); until then the range ends before it, and a later feedback decides. With 0
//! a missing packet is lost immediately, as in the paper.
//!
//! The first feedback is sent one round-trip time after the first packet; the newest packet carries
//! the round-trip time. While no packets arrive, no feedback is sent.

use super::message::{Arrivals, Feedback, SpacedHeader};
use super::round_trip::bounded;
use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};
use crate::window::{SlidingWindow, Verdict};

/// The minimum number of newest sequence numbers that a receiver tracks individually, in 8 KiB.
pub(super) const WINDOW: u32 = (1 << 16) - 64;

/// Counts packets and sends feedback.
#[derive(Clone, Debug)]
pub struct SpacedReceiver {
    seen: SlidingWindow,
    reordering: u64,
    /// The last feedback sent.
    last_feedback: Feedback,
    arrivals: Arrivals,
    /// Distinct packets of the range after the last reported one.
    pending: u64,
    newest: Option<Newest>,
    /// The time of the next feedback; `None` while no packets arrive.
    next_feedback: Option<Time>,
    /// Whether a packet arrived since the last feedback.
    received_packet: bool,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    header: SpacedHeader,
    at: Time,
}

/// The classification of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Arrival {
    /// It arrived before its range was reported.
    InTime,
    /// It was reported lost, or is older than the window.
    Late,
    /// It had already arrived.
    Duplicate,
}

/// An output of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverOutput {
    /// A packet arrived.
    Arrived(Arrival),
    /// Send this feedback.
    Feedback(Feedback),
}

impl SpacedReceiver {
    /// A receiver that reports a missing packet as lost once the newest is `reordering` packets
    /// ahead, at most 64.
    #[must_use]
    pub fn new(reordering: u32) -> Self {
        Self {
            seen: SlidingWindow::new(WINDOW),
            reordering: u64::from(reordering.min(64)),
            last_feedback: Feedback::default(),
            arrivals: Arrivals::default(),
            pending: 0,
            newest: None,
            next_feedback: None,
            received_packet: false,
        }
    }

    /// A receiver whose first feedback covers the packets from `first` on.
    #[must_use]
    pub fn starting_at(first: u64, reordering: u32) -> Self {
        let mut receiver = Self::new(reordering);
        receiver.last_feedback.end = first;
        receiver
    }

    /// The arrivals so far.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    fn count(&mut self, sequence: u64) -> Arrival {
        let verdict = self.seen.accept(sequence);
        if verdict == Verdict::Duplicate {
            self.arrivals.duplicates += 1;
            return Arrival::Duplicate;
        }
        // A packet behind the window may be a duplicate, so it does not count as distinct.
        self.arrivals.distinct += u64::from(verdict == Verdict::Fresh);
        if verdict == Verdict::Fresh && sequence >= self.last_feedback.end {
            self.pending += 1;
            return Arrival::InTime;
        }
        self.arrivals.late += 1;
        Arrival::Late
    }

    /// Ends the range and returns its feedback.
    fn report(&mut self, now: Time, newest: Newest) -> Feedback {
        let (first, end) = (self.last_feedback.end, self.settled());
        let undecided = (end..self.seen.end())
            .filter(|&s| self.has_arrived(s))
            .count() as u64;
        let received = self.pending.saturating_sub(undecided);
        self.pending = undecided;
        let lost = end - first > received;
        self.last_feedback = Feedback {
            number: self.last_feedback.number + 1,
            end,
            received: self.last_feedback.received + received,
            lost_end: if lost {
                self.newest_missing(first, end) + 1
            } else {
                self.last_feedback.lost_end
            },
            arrivals: self.arrivals,
            echo: newest.header.sent,
            hold: now.since(newest.at),
        };
        self.last_feedback
    }

    /// One past the newest sequence number that has arrived or is lost.
    fn settled(&self) -> u64 {
        // Later than all that has arrived, if that was sent before the first packet that is covered.
        let past = self.seen.end().max(self.last_feedback.end);
        let earliest = past
            .saturating_sub(self.reordering)
            .max(self.last_feedback.end);
        (earliest..past)
            .find(|&s| !self.has_arrived(s))
            .unwrap_or(past)
    }

    /// The newest sequence number in `first..end` that has not arrived; if it is behind the window,
    /// the newest one there.
    fn newest_missing(&self, first: u64, end: u64) -> u64 {
        let known = self.seen.end().saturating_sub(self.seen.span()).max(first);
        let missing = (known..end).rev().find(|&s| !self.has_arrived(s));
        missing.unwrap_or(known.saturating_sub(1).max(first))
    }

    fn has_arrived(&self, sequence: u64) -> bool {
        self.seen.classify(sequence) == Verdict::Duplicate
    }
}

impl Machine for SpacedReceiver {
    type Input = SpacedHeader;
    type Output = ReceiverOutput;

    fn handle_input(
        &mut self,
        now: Time,
        header: SpacedHeader,
        out: &mut impl FnMut(ReceiverOutput),
    ) {
        out(ReceiverOutput::Arrived(self.count(header.sequence)));
        let newer = |newest: &Newest| newest.header.sequence < header.sequence;
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(Newest { header, at: now });
        }
        self.received_packet = true;
        if header.rtt == Duration::ZERO {
            return;
        }
        self.next_feedback.get_or_insert(now + bounded(header.rtt));
    }

    /// Sends feedback if packets arrived since the last one; otherwise stops until the next packet.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(ReceiverOutput)) {
        let (Some(due), Some(newest)) = (self.next_feedback, self.newest) else {
            return;
        };
        if due > now {
            return;
        }
        let received_packet = core::mem::take(&mut self.received_packet);
        if !received_packet || newest.header.rtt == Duration::ZERO {
            self.next_feedback = None;
            return;
        }
        let interval = bounded(newest.header.rtt);
        let scheduled = due + interval;
        self.next_feedback = Some(if scheduled > now {
            scheduled
        } else {
            now + interval
        });
        out(ReceiverOutput::Feedback(self.report(now, newest)));
    }

    fn deadline(&self) -> Option<Deadline> {
        let why = "feedback";
        self.next_feedback.map(|at| Deadline { at, why })
    }
}
