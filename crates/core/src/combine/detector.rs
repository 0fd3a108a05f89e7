//! The congestion detector of a combiner: from losses of copies to CE marks (diversity-routing
//! paper, VI).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::copies::{Copies, CopiesConfig, CopiesError};
use super::signature::{
    LinkWindow, MarkRule, Marks, Reading, Sign, Signature, SignatureConfig, SignatureError,
};
use crate::frame::PathId;
use crate::machine::Deadline;
use crate::packet::{Ecn, FlowId};
use crate::time::{Duration, Time};

/// The maximum number of remembered marked flows; beyond it the oldest is forgotten and may be
/// marked again too soon.
const MAX_FLOWS: usize = 1024;

/// Congestion detection of a combiner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct DetectorConfig {
    /// The loss signature that distinguishes congestion from dropouts.
    pub signature: SignatureConfig,
    /// Loss detection of copies.
    pub copies: CopiesConfig,
    /// The windows of congestion to which it reacts.
    pub marks: MarkRule,
    /// The reaction to congestion.
    pub react: Reaction,
}

/// The reaction of a combiner to congestion that copies mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Reaction {
    /// ECN-capable packets are marked with CE (RFC 3168); others are delivered as they are.
    #[default]
    Ecn,
    /// ECN-capable packets are marked with CE, and others dropped.
    Drop,
    /// None: congestion is only counted.
    Off,
}

/// The signal of a packet that is about to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// None: the packet is delivered as it is.
    None,
    /// The packet is delivered with a CE mark.
    Mark,
    /// The packet is dropped.
    Drop,
}

/// The counters of a detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DetectorStatistics {
    /// The number of windows that were evaluated.
    pub windows: u64,
    /// Those of congestion.
    pub congested: u64,
    /// Those of dropouts.
    pub dropouts: u64,
    /// The number of packets that were marked.
    pub marked: u64,
    /// The number of packets that were dropped instead.
    pub dropped: u64,
    /// The number of packets that were due for a mark and could not carry it.
    pub unmarkable: u64,
}

/// An invalid [`DetectorConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectorError {
    /// The signature is invalid.
    #[error("signature: {0}")]
    Signature(#[from] SignatureError),
    /// The loss detection of copies is invalid.
    #[error("copies: {0}")]
    Copies(#[from] CopiesError),
}

impl DetectorConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn check(&self) -> Result<(), DetectorError> {
        self.signature.check()?;
        Ok(self.copies.check()?)
    }
}

/// Observes copies and decides which delivered packets to mark. Nothing is evaluated before copies
/// have arrived on two links.
///
/// A window of copies that shows congestion makes marks due for the following packets. They expire
/// after a round trip or when the next window is read, so marks of several windows never add up and
/// no burst of marks follows a silence.
#[derive(Clone, Debug)]
pub struct Detector {
    copies: Copies,
    signature: Box<dyn Signature>,
    marks: Marks,
    /// The recently marked flows, the newest last.
    marked: VecDeque<MarkedFlow>,
    /// The start of the newest window read.
    window_start: Time,
    /// The time at which due marks expire: a round trip after the newest window was read.
    expires: Time,
    round_trip: Duration,
    react: Reaction,
    last: Option<Reading>,
    window: Vec<LinkWindow>,
    statistics: DetectorStatistics,
}

/// A flow and the time of its last mark.
#[derive(Clone, Copy, Debug)]
struct MarkedFlow {
    flow: FlowId,
    at: Time,
}

impl Detector {
    /// Creates a detector for packets that are copied to all of `links` links.
    #[must_use]
    pub fn new(config: &DetectorConfig, links: u8) -> Self {
        Self {
            copies: Copies::new(config.copies, links),
            signature: config.signature.build(),
            marks: Marks::new(config.marks),
            marked: VecDeque::new(),
            window_start: Time::ZERO,
            expires: Time::ZERO,
            round_trip: config.copies.window,
            react: config.react,
            last: None,
            window: Vec::new(),
            statistics: DetectorStatistics::default(),
        }
    }

    /// Records a copy, first or duplicate, that its sender sent at `sent` by its own clock.
    pub fn on_copy(&mut self, now: Time, path: PathId, sequence: u64, sent: Time, ecn: Ecn) {
        self.copies.on_copy(now, path, sequence, sent, ecn);
        self.handle_timeout(now);
    }

    /// Evaluates the windows that are complete by now.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(window) = self.copies.take(now, &mut self.window) {
            if !self.copies.have_arrived_on_two_links() {
                continue;
            }
            let reading = self.signature.on_window(&self.window);
            self.marks.settle();
            self.window_start = window.start;
            self.expires = now + self.round_trip;
            if window.has_copies {
                let links = self.window.iter_mut();
                links.for_each(|link| link.omit_lost(window.undelivered));
                let signature = &self.signature;
                let is_down = |link: &LinkWindow| signature.is_down(link);
                self.marks.on_window(&reading, &self.window, is_down);
            }
            self.statistics.windows += 1;
            match reading.sign {
                Sign::Nothing => {}
                Sign::Dropout => self.statistics.dropouts += 1,
                Sign::Congestion => self.statistics.congested += 1,
            }
            self.last = Some(reading);
        }
    }

    /// The signal of the packet `sequence` of `flow` with this ECN field, which is about to be
    /// delivered. One with a mark needs no other, nor does its flow for a round trip.
    pub fn signal(
        &mut self,
        now: Time,
        sequence: u64,
        flow: impl FnOnce() -> FlowId,
        ecn: Ecn,
    ) -> CongestionSignal {
        self.copies.on_delivered(sequence, ecn == Ecn::Ce);
        if ecn == Ecn::Ce {
            if self.react != Reaction::Off {
                self.mark_flow(now, flow());
            }
            return CongestionSignal::None;
        }
        if self.react == Reaction::Off || !self.marks_next(now, flow) {
            return CongestionSignal::None;
        }
        let statistics = &mut self.statistics;
        if ecn.is_capable() {
            statistics.marked += 1;
            CongestionSignal::Mark
        } else if self.react == Reaction::Drop {
            statistics.dropped += 1;
            CongestionSignal::Drop
        } else {
            statistics.unmarkable += 1;
            CongestionSignal::None
        }
    }

    /// Returns whether to mark the packet about to be delivered, and uses up the mark even if the
    /// packet is not ECN-capable.
    ///
    /// Links lose ECN-capable and other packets alike. If a mark moved from a packet that cannot
    /// carry it to one that can, ECN-capable flows would also slow down for the losses of the
    /// others.
    ///
    /// A mark is also used up, without effect, on a flow that was marked less than a round trip
    /// before the window started: its sender reduces its window once for all these losses (RFC
    /// 3168, 6.1.2).
    fn marks_next(&mut self, now: Time, flow: impl FnOnce() -> FlowId) -> bool {
        if now >= self.expires {
            self.marks.settle();
        }
        self.marks.take() && self.mark_flow(now, flow())
    }

    /// Records a mark of `flow`; returns false if a recent mark already covers the newest window.
    fn mark_flow(&mut self, now: Time, flow: FlowId) -> bool {
        let is_past = |marked: &MarkedFlow| marked.at + self.round_trip <= self.window_start;
        while self.marked.front().is_some_and(is_past) || self.marked.len() >= MAX_FLOWS {
            self.marked.pop_front();
        }
        let is_new = self.marked.iter().all(|marked| marked.flow != flow);
        if is_new {
            self.marked.push_back(MarkedFlow { flow, at: now });
        }
        is_new
    }

    /// The reading of the last window.
    #[must_use]
    pub const fn last(&self) -> Option<&Reading> {
        self.last.as_ref()
    }

    /// The counters.
    #[must_use]
    pub const fn statistics(&self) -> DetectorStatistics {
        self.statistics
    }

    /// The number of buffered windows.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.copies.buffered()
    }

    /// The time at which the next window is evaluated if nothing arrives before.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.copies.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::signature::SameLinksConfig;
    use crate::rng::Seed;

    /// The number of marks when `flows` flows take turns in sending one of 20 000 packets every
    /// `interval` ms on `links` links, of which `loses` returns whether one loses a packet.
    fn marks(links: u8, flows: u64, interval: u64, loses: impl FnMut(u64, u8) -> bool) -> usize {
        marks_with(&DetectorConfig::default(), links, flows, interval, loses)
    }

    fn marks_with(
        config: &DetectorConfig,
        links: u8,
        flows: u64,
        interval: u64,
        mut loses: impl FnMut(u64, u8) -> bool,
    ) -> usize {
        let mut detector = Detector::new(config, links);
        let packets = (0..20_000_u64).map(|n| (n, Time(n * interval * 1_000_000)));
        let is_marked = |(n, now)| {
            let arrived: Vec<u8> = (0..links).filter(|path| !loses(n, *path)).collect();
            for path in &arrived {
                detector.on_copy(now, PathId(*path), n, now, Ecn::Ect0);
            }
            let mut signal = || detector.signal(now, n, || FlowId(n % flows), Ecn::Ect0);
            !arrived.is_empty() && signal() == CongestionSignal::Mark
        };
        packets.map(is_marked).filter(|marked| *marked).count()
    }

    /// Whether a link loses a packet if each loses one of 50, in turn.
    fn in_turn(n: u64, path: u8) -> bool {
        n % 50 == u64::from(path) * 10
    }

    /// The number of marks that are added to 20 000 packets, one per ms, of four links, if
    /// `copy` returns the ECN field of a copy, or nothing if it is lost. The first copy is
    /// delivered.
    fn added(copy: impl Fn(u64, u8) -> Option<Ecn>) -> usize {
        let mut detector = Detector::new(&DetectorConfig::default(), 4);
        let is_marked = |n: &u64| {
            let now = Time(n * 1_000_000);
            let copies = (0..4).filter_map(|path| Some((path, copy(*n, path)?)));
            let copies: Vec<(u8, Ecn)> = copies.collect();
            for (path, ecn) in &copies {
                detector.on_copy(now, PathId(*path), *n, now, *ecn);
            }
            let (_, delivered) = copies[0];
            let signal = detector.signal(now, *n, || FlowId(n % 997), delivered);
            signal == CongestionSignal::Mark
        };
        (0..20_000).filter(is_marked).count()
    }

    /// Of a queue before the sender, which all copies have, and of the link of the first copy.
    #[test]
    fn marks_that_are_delivered_are_not_added_again() {
        let marked_if = |is_marked| Some(if is_marked { Ecn::Ce } else { Ecn::Ect0 });
        assert_eq!(added(|n, _| marked_if(n % 50 == 7)), 0);
        assert_eq!(added(|n, path| marked_if(in_turn(n, path))), 0);
        let losses_beside_marks = added(|n, path| {
            let is_lost = in_turn(n, path);
            marked_if(n % 100 == 7).filter(|_| !is_lost)
        });
        assert!(
            (380..=400).contains(&losses_beside_marks),
            "{losses_beside_marks}"
        );
    }

    /// Its losses are no congestion that copies mask: the application sees them.
    #[test]
    fn a_sender_without_copies_causes_no_marks() {
        let mut detector = Detector::new(&DetectorConfig::default(), 4);
        let is_marked = |n: &u64| {
            let now = Time(n * 1_000_000);
            if n % 50 == 7 {
                return false;
            }
            detector.on_copy(now, PathId(0), *n, now, Ecn::Ect0);
            detector.signal(now, *n, || FlowId(n % 997), Ecn::Ect0) == CongestionSignal::Mark
        };
        assert_eq!((0..20_000).filter(is_marked).count(), 0);
        assert_eq!(detector.statistics().windows, 0);
    }

    /// The receivers see what the only link that delivers loses, also if another one has
    /// delivered before.
    #[test]
    fn the_losses_of_the_last_link_cause_no_marks() {
        let is_lost = |n: u64, path| if path == 0 { n % 50 == 7 } else { n > 100 };
        assert_eq!(marks(2, 997, 1, is_lost), 0);
    }

    /// A sender that has changed to another policy uses the links in turn: nothing is masked,
    /// although the same links lose packets in every window.
    #[test]
    fn a_sender_that_alternates_links_causes_no_marks() {
        let config = DetectorConfig {
            signature: SignatureConfig::SameLinks(SameLinksConfig::default()),
            ..DetectorConfig::default()
        };
        let alternates = |n: u64, path| n % 2 == u64::from(path) || n % 50 == 7;
        let marks = |is_lost: &dyn Fn(u64, u8) -> bool| marks_with(&config, 2, 997, 1, is_lost);
        assert_eq!(marks(&|n, path| n > 100 && alternates(n, path)), 0);
        // With a copy of every other packet, there is something to mask.
        assert!(marks(&|n, path| n % 4 != 0 && alternates(n, path)) > 1000);
    }

    /// A packet that all links lose is seen by its receiver.
    #[test]
    fn packets_that_all_links_lose_cause_no_marks() {
        assert_eq!(marks(4, 997, 1, |n, _| n % 50 == 7), 0);
    }

    #[test]
    fn many_flows_get_as_many_marks_as_one_link_loses_where_each_loses_in_every_window() {
        // Each link loses 400; the last window is incomplete.
        let marks = marks(4, 997, 1, in_turn);
        assert!((395..=400).contains(&marks), "{marks}");
    }

    /// Of 400 losses of a link, fewer are in windows in which all links lost.
    #[test]
    fn independent_losses_in_small_windows_cause_few_marks() {
        let independent = |interval| {
            let mut stream = Seed(1).stream("losses");
            marks(4, 997, interval, |_, _| stream.chance(0.02))
        };
        let (hundred, twenty) = (independent(1), independent(5));
        std::println!("marks: {hundred} with 100 packets a window, {twenty} with 20");
        assert!((180..=300).contains(&hundred), "{hundred}");
        assert!(twenty <= 30, "{twenty}");
    }

    #[test]
    fn a_single_flow_is_marked_at_most_once_per_feedback_delay() {
        // A window of 0.1 s is read after the next has started, so a mark covers three windows.
        let marks = marks(4, 1, 1, in_turn);
        assert!((64..=67).contains(&marks), "{marks}");
    }

    #[test]
    fn the_number_of_remembered_flows_is_bounded() {
        let mut detector = Detector::new(&DetectorConfig::default(), 1);
        for flow in 0..5000 {
            assert!(detector.mark_flow(Time::ZERO, FlowId(flow)));
            assert!(detector.marked.len() <= MAX_FLOWS);
        }
        assert!(!detector.mark_flow(Time::ZERO, FlowId(4999)));
    }
}
