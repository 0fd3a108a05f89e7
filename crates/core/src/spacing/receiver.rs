//! The receiving side: counts what comes, and says so once a round-trip time.
//!
//! A feedback is about the sequence numbers from the end of the last one's range to the newest that came. A missing
//! number is lost once the newest is `reordering` ahead (RFC 9002, 6.1.1, recommends 3); until then the range ends
//! before it, and a later feedback decides. With 0 whatever is missing is lost at once, as in the paper.
//!
//! The first feedback comes a round-trip time after the first packet; the round-trip time is the one in the newest
//! packet. While nothing comes no feedback is sent.

use super::message::{Arrivals, Feedback, SpacedHeader};
use super::round_trip::bounded;
use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};
use crate::window::{SlidingWindow, Verdict};

/// So many of the newest sequence numbers, at least, a receiver knows one by one: 8 KiB of memory.
pub(super) const WINDOW: u32 = (1 << 16) - 64;

/// Counts packets and sends feedback.
#[derive(Clone, Debug)]
pub struct SpacedReceiver {
    seen: SlidingWindow,
    reordering: u64,
    /// What was said last.
    said: Feedback,
    arrivals: Arrivals,
    /// Distinct packets of the range that begins at the end of the last one.
    pending: u64,
    newest: Option<Newest>,
    /// When feedback is due; `None` while nothing comes.
    next_feedback: Option<Time>,
    /// Whether anything came since the last feedback.
    heard: bool,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    header: SpacedHeader,
    at: Time,
}

/// What becomes of a packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Arrival {
    /// It came before its range was reported.
    InTime,
    /// It was reported lost, or is too old for the window to know.
    Late,
    /// It came before.
    Duplicate,
}

/// What a receiver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverOutput {
    /// What the packet was.
    Arrived(Arrival),
    /// Send this feedback.
    Feedback(Feedback),
}

impl SpacedReceiver {
    /// A receiver that takes a missing packet for lost once the newest is `reordering` packets ahead; at most 64.
    #[must_use]
    pub fn new(reordering: u32) -> Self {
        Self {
            seen: SlidingWindow::new(WINDOW),
            reordering: u64::from(reordering.min(64)),
            said: Feedback::default(),
            arrivals: Arrivals::default(),
            pending: 0,
            newest: None,
            next_feedback: None,
            heard: false,
        }
    }

    /// What came so far.
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
        // Of what is behind the window nobody knows whether it came before: it is not counted as distinct.
        self.arrivals.distinct += u64::from(verdict == Verdict::Fresh);
        if verdict == Verdict::Fresh && sequence >= self.said.end {
            self.pending += 1;
            return Arrival::InTime;
        }
        self.arrivals.late += 1;
        Arrival::Late
    }

    /// Ends the range, and says what is known of it.
    fn report(&mut self, now: Time, newest: Newest) -> Feedback {
        let (first, end) = (self.said.end, self.settled());
        let undecided = (end..self.seen.end()).filter(|&s| self.came(s)).count() as u64;
        let received = self.pending.saturating_sub(undecided);
        self.pending = undecided;
        let lost = end - first > received;
        self.said = Feedback {
            number: self.said.number + 1,
            end,
            received: self.said.received + received,
            lost_end: if lost {
                self.newest_missing(first, end) + 1
            } else {
                self.said.lost_end
            },
            arrivals: self.arrivals,
            echo: newest.header.sent,
            hold: now.since(newest.at),
        };
        self.said
    }

    /// One past the newest sequence number that it is decided of whether it is lost.
    fn settled(&self) -> u64 {
        let past = self.seen.end();
        let earliest = past.saturating_sub(self.reordering).max(self.said.end);
        (earliest..past).find(|&s| !self.came(s)).unwrap_or(past)
    }

    /// The newest sequence number in `first..end` that did not come, if the window reaches so far back; else the
    /// newest behind it.
    fn newest_missing(&self, first: u64, end: u64) -> u64 {
        let known = self.seen.end().saturating_sub(self.seen.span()).max(first);
        let missing = (known..end).rev().find(|&s| !self.came(s));
        missing.unwrap_or(known.saturating_sub(1).max(first))
    }

    fn came(&self, sequence: u64) -> bool {
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
        self.heard = true;
        if header.rtt == Duration::ZERO {
            return;
        }
        self.next_feedback.get_or_insert(now + bounded(header.rtt));
    }

    /// Sends feedback if anything came since the last one; else falls silent until a packet comes.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(ReceiverOutput)) {
        let (Some(due), Some(newest)) = (self.next_feedback, self.newest) else {
            return;
        };
        if due > now {
            return;
        }
        let heard = core::mem::take(&mut self.heard);
        if !heard || newest.header.rtt == Duration::ZERO {
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
