//! From copies to marks: what a combiner does about congestion (diversity-routing paper, VI).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::copies::{Copies, CopiesConfig, CopiesError};
use super::signature::{LinkWindow, Marks, Reading, Signature, SignatureConfig, SignatureError};
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::packet::{Ecn, FlowId};
use crate::time::{Duration, Time};

/// Flows that are remembered as marked at most; of more the oldest is forgotten, and may be marked again too soon.
const MAX_FLOWS: usize = 1024;

/// How a combiner tells congestion from dropouts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct DetectorConfig {
    /// By what.
    pub signature: SignatureConfig,
    /// When copies count as lost.
    pub copies: CopiesConfig,
}

/// Why nothing tells congestion from dropouts like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectorError {
    /// There is no such signature of congestion.
    #[error("signature: {0}")]
    Signature(#[from] SignatureError),
    /// Copies cannot be told to be lost like this.
    #[error("copies: {0}")]
    Copies(#[from] CopiesError),
}

impl DetectorConfig {
    /// Whether there is such a detector.
    ///
    /// # Errors
    /// Where a parameter is out of its range.
    pub fn check(&self) -> Result<(), DetectorError> {
        self.signature.check()?;
        Ok(self.copies.check()?)
    }
}

/// Watches copies, and says which of the packets that are delivered are to be marked.
///
/// Marks are due to the packets that follow the window that asks for them, for a round trip or until the next window is
/// read: at no time are more due than one window asks for, and no burst of marks follows a silence.
#[derive(Debug)]
pub struct Detector {
    copies: Copies,
    signature: Box<dyn Signature>,
    marks: Marks,
    /// Which flows were marked, and when, the newest last, as long as it matters.
    heard: VecDeque<(FlowId, Time)>,
    /// When the newest window that was read began.
    begun: Time,
    /// A round trip after the newest window was read: marks that are still due then are given up.
    expires: Time,
    round_trip: Duration,
    last: Option<Reading>,
    window: Vec<LinkWindow>,
}

impl Detector {
    /// A detector for packets of which every one of so many links gets a copy.
    #[must_use]
    pub fn new(config: &DetectorConfig, links: u8) -> Self {
        Self {
            copies: Copies::new(config.copies, links),
            signature: config.signature.build(),
            marks: Marks::default(),
            heard: VecDeque::new(),
            begun: Time::ZERO,
            expires: Time::ZERO,
            round_trip: config.copies.window,
            last: None,
            window: Vec::new(),
        }
    }

    /// Takes a copy, the first or a further one, which its sender sent at `sent` by its own clock.
    pub fn on_copy(&mut self, now: Time, path: PathId, sequence: u64, sent: Time, ecn: Ecn) {
        self.copies.on_copy(now, path, sequence, sent, ecn);
        self.handle_timeout(now);
    }

    /// Reads the windows of which everything is known by now.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(begun) = self.copies.take(now, &mut self.window) {
            let reading = self.signature.on_window(&self.window);
            self.marks.settle();
            self.begun = begun;
            self.expires = now + self.round_trip;
            self.marks.on_window(&reading, &self.window);
            self.last = Some(reading);
        }
    }

    /// Whether a packet that is about to be delivered is to be marked; it counts as marked then, even if it is not
    /// ECN-capable.
    ///
    /// Links lose packets of both kinds. A mark that falls on one that cannot have it is used up, or those that can would
    /// answer for the losses of those that cannot.
    ///
    /// So is a mark that falls on a flow whose sender had not heard of its last one, a round trip before the window began:
    /// it has answered for that window (RFC 3168, 6.1.2), and other flows have not.
    pub fn marks_next(&mut self, now: Time, flow: FlowId) -> bool {
        if now >= self.expires {
            self.marks.settle();
        }
        self.marks.take() && self.is_new_to(now, flow)
    }

    /// Whether the sender of a flow has not been told of the newest window, or has been too late for it; tells it.
    fn is_new_to(&mut self, now: Time, flow: FlowId) -> bool {
        let is_past = |(_, marked): &(FlowId, Time)| *marked + self.round_trip <= self.begun;
        while self.heard.front().is_some_and(is_past) || self.heard.len() >= MAX_FLOWS {
            self.heard.pop_front();
        }
        let is_new = self.heard.iter().all(|(heard, _)| *heard != flow);
        if is_new {
            self.heard.push_back((flow, now));
        }
        is_new
    }

    /// What the last window was a sign of.
    #[must_use]
    pub const fn last(&self) -> Option<&Reading> {
        self.last.as_ref()
    }

    /// How many windows of packets wait to be read.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.copies.buffered()
    }

    /// When the next window is read, if nothing arrives before.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.copies.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The marks that packets get, one each ms for 20 s on four links, of which each loses one in fifty, where so many flows
    /// take turns.
    fn marks(flows: u64) -> usize {
        let mut detector = Detector::new(&DetectorConfig::default(), 4);
        let packets = (0..20_000_u64).map(|n| (n, Time(n * 1_000_000)));
        let is_marked = |(n, now)| {
            for path in (0..4).filter(|path| n % 50 != u64::from(*path) * 10) {
                detector.on_copy(now, PathId(path), n, now, Ecn::Ect0);
            }
            detector.marks_next(now, FlowId(n % flows))
        };
        packets.map(is_marked).filter(|marked| *marked).count()
    }

    #[test]
    fn of_many_flows_as_many_are_marked_as_one_link_loses() {
        // Each link loses 400; the last window is not over.
        let marks = marks(997);
        assert!((395..=400).contains(&marks), "{marks}");
    }

    #[test]
    fn a_lone_flow_is_marked_once_for_what_its_sender_has_not_heard_of() {
        // A window of 0.1 s is read when the next one has begun, which is too early for the mark: every third is answered.
        let marks = marks(1);
        assert!((64..=67).contains(&marks), "{marks}");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut detector = Detector::new(&DetectorConfig::default(), 1);
        for flow in 0..5000 {
            assert!(detector.is_new_to(Time::ZERO, FlowId(flow)));
            assert!(detector.heard.len() <= MAX_FLOWS);
        }
        assert!(!detector.is_new_to(Time::ZERO, FlowId(4999)));
    }
}
