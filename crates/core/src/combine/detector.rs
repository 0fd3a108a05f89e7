//! From copies to marks: what a combiner does about congestion (diversity-routing paper, VI).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::copies::{Copies, CopiesConfig};
use super::signature::{LinkWindow, Marks, Reading, Signature, SignatureConfig};
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::packet::Ecn;
use crate::time::{Duration, Time};

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

/// Watches copies, and says which of the packets that are delivered are to be marked.
///
/// Marks are due to the packets that follow the window that asks for them, for a round trip or until the next window is
/// read: at no time are more due than one window asks for, and no burst of marks follows a silence.
#[derive(Debug)]
pub struct Detector {
    copies: Copies,
    signature: Box<dyn Signature>,
    marks: Marks,
    /// A round trip after the newest mark: what began before was sent by senders that had not heard of it.
    heard: Time,
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
            heard: Time::ZERO,
            expires: Time::ZERO,
            round_trip: config.copies.window,
            last: None,
            window: Vec::new(),
        }
    }

    /// Takes a copy, the first or a further one, which its sender sent at `sent` by its own clock.
    pub fn on_copy(&mut self, now: Time, path: PathId, sequence: u64, sent: Time, ecn: Ecn) {
        self.copies.on_copy(now, path, sequence, sent, ecn);
        self.on_deadline(now);
    }

    /// Reads the windows of which everything is known by now.
    pub fn on_deadline(&mut self, now: Time) {
        while let Some(begun) = self.copies.take(now, &mut self.window) {
            let reading = self.signature.on_window(&self.window);
            self.marks.settle();
            self.expires = now + self.round_trip;
            if begun >= self.heard {
                self.marks.on_window(&reading, &self.window);
            }
            self.last = Some(reading);
        }
    }

    /// Whether a packet that is about to be delivered is to be marked; it counts as marked then, even if it is not
    /// ECN-capable.
    ///
    /// Links lose packets of both kinds. A mark that falls on one that cannot have it is used up, or those that can would
    /// answer for the losses of those that cannot.
    ///
    /// Losses of a round trip after a mark are not answered again: their senders had not heard of it.
    pub fn marks_next(&mut self, now: Time) -> bool {
        if now >= self.expires {
            self.marks.settle();
        }
        let is_marked = self.marks.take();
        if is_marked {
            self.heard = now + self.round_trip;
        }
        is_marked
    }

    /// What the last window was a sign of.
    #[must_use]
    pub const fn last(&self) -> Option<&Reading> {
        self.last.as_ref()
    }

    /// When the next window is read, if nothing arrives before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Deadline> {
        self.copies.next_deadline()
    }
}
