//! The properties, checked on what two sessions receive and emit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;
use polypath_session::datagram::RECEIVER_OFFSET;
use polypath_session::event::{Reject, SessionEvent};

use crate::sent::Sent;
use crate::world::NodeId;

/// The end of the nonce in a transport datagram, in bytes; it follows the receiver's index.
const NONCE_END: usize = RECEIVER_OFFSET + 4 + 3;

/// A property that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// Two datagrams under one key have the same nonce.
    NonceReused,
    /// A node seals with keys that the receiver has not derived from a message of this run of it.
    KeysNotConfirmed,
    /// A frame was opened twice by one run of a node.
    OpenedTwice,
    /// One run of a node has derived keys from an initiation twice.
    DerivedTwice,
    /// A frame was opened that the peer did not send.
    Forged,
    /// A frame of an earlier run of the peer was opened after one of a later run.
    FormerRunOpened,
    /// A frame of a new run was opened, and no restart was reported before it.
    RestartNotReported,
    /// A restart was reported that did not happen, or a second time.
    RestartReportedFalsely,
    /// A datagram was rejected for a reason that must have no effect, and has changed the session.
    RejectHadEffect,
    /// A deadline does not advance.
    DeadlineStuck,
    /// An attacker caused more decryptions than the budgets allow.
    Unthrottled,
    /// With a network that delivers, the nodes do not agree on keys, or lose frames.
    NoAgreement,
    /// With a network that delivers, a handshake needs too many attempts during a flood.
    TooManyAttempts,
}

impl Violation {
    pub(crate) const ALL: [Self; 13] = [
        Self::NonceReused,
        Self::KeysNotConfirmed,
        Self::OpenedTwice,
        Self::DerivedTwice,
        Self::Forged,
        Self::FormerRunOpened,
        Self::RestartNotReported,
        Self::RestartReportedFalsely,
        Self::RejectHadEffect,
        Self::DeadlineStuck,
        Self::Unthrottled,
        Self::NoAgreement,
        Self::TooManyAttempts,
    ];

    /// The property that it violates.
    pub(crate) const fn property(self) -> &'static str {
        match self {
            Self::NonceReused => "no nonce is used twice with a key",
            Self::KeysNotConfirmed => "a node seals only with keys that the peer has confirmed",
            Self::OpenedTwice => "no frame is opened twice",
            Self::DerivedTwice => "each run of a node derives keys from an initiation once at most",
            Self::Forged => "a frame that opens was sent by the peer",
            Self::FormerRunOpened => "no frame of a former run opens after one of a later run",
            Self::RestartNotReported => "a restart is reported before the first frame after it",
            Self::RestartReportedFalsely => "each restart is reported once at most, and no other",
            Self::RejectHadEffect => "a datagram that is rejected as a copy changes nothing",
            Self::DeadlineStuck => "each deadline is later than the one before",
            Self::Unthrottled => "an attacker causes no more decryptions than the budgets allow",
            Self::NoAgreement => "a network that delivers leads to the same keys at both nodes",
            Self::TooManyAttempts => "during a flood a handshake takes two attempts at most",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "does not hold: {}", self.property())
    }
}

/// A frame that names its sender, the run of the sender and its number in that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    pub(crate) from: NodeId,
    pub(crate) run: u8,
    pub(crate) number: u16,
}

impl Frame {
    pub(crate) fn to_bytes(self) -> Bytes {
        let [high, low] = self.number.to_be_bytes();
        let from = u8::try_from(self.from).unwrap_or(u8::MAX);
        vec![from, self.run, high, low].into()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let [from, run, high, low] = *bytes else {
            return None;
        };
        Some(Self {
            from: usize::from(from),
            run,
            number: u16::from_be_bytes([high, low]),
        })
    }
}

/// Something that an exploration must reach, so that its properties mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Keys are in use at a node, later than other keys.
    Renewed,
    /// An initiation lost against the node's own.
    Precedence,
    /// An initiation was recognised as a replay by its timestamp.
    Stale,
    /// A restart of the peer was reported.
    RestartNoticed,
    /// A restarted node has answered an initiation to its former run.
    OldAnswered,
    /// An initiation was refused because it had no cookie.
    CookieRequired,
}

/// The goals that were reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached(u8);

impl Reached {
    pub(crate) fn insert(&mut self, goal: Goal) {
        self.0 |= 1 << goal as u8;
    }

    pub(crate) fn contains(self, goal: Goal) -> bool {
        self.0 & 1 << goal as u8 != 0
    }

    /// Only rejects that change something count: those are the ones that lead to a state.
    pub(crate) fn on_rejected(&mut self, reason: Reject) {
        match reason {
            Reject::Simultaneous => self.insert(Goal::Precedence),
            Reject::StaleTimestamp => self.insert(Goal::Stale),
            Reject::CookieRequired => self.insert(Goal::CookieRequired),
            _ => {}
        }
    }
}

/// A node and the index of its keys.
type KeyId = (NodeId, u32);

/// The record of one run of a node.
#[derive(Clone, Default)]
struct Run {
    /// The initiations that it has answered.
    answered: BTreeSet<Bytes>,
    /// Those that its former runs have answered.
    answered_before: BTreeSet<Bytes>,
    opened: BTreeSet<Frame>,
    /// The run of the peer whose frame was opened last.
    newest: Option<u8>,
    /// Restarts of the peer reported since then.
    reported: u8,
    /// Restarts of the peer reported in total.
    reported_total: u8,
    /// Keys that came into use.
    established: u8,
}

/// The observer of a world.
#[derive(Clone, Default)]
pub(crate) struct Monitor {
    pub(crate) violation: Option<Violation>,
    pub(crate) reached: Reached,
    offered: BTreeSet<Frame>,
    nonces: BTreeSet<(NodeId, u8, Bytes)>,
    /// For each index of a node, the runs of the peer with which it has keys.
    holders: BTreeMap<KeyId, BTreeSet<u8>>,
    /// The index of the peer for the same keys.
    partners: BTreeMap<KeyId, u32>,
    runs: [Run; 2],
    /// The receiver's index in the last transport datagram of each node.
    pub(crate) last_receiver: [Option<u32>; 2],
}

impl Monitor {
    /// Records a violation, unless there was one before.
    pub(crate) fn violate(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }

    pub(crate) fn on_offered(&mut self, frame: Frame) {
        self.offered.insert(frame);
    }

    pub(crate) fn on_restarted(&mut self, id: NodeId) {
        let former = std::mem::take(&mut self.runs[id]);
        self.runs[id].answered_before = former.answered_before;
        self.runs[id].answered_before.extend(former.answered);
        self.last_receiver[id] = None;
    }

    /// A handshake message has given a node keys under `index`.
    pub(crate) fn on_keys(&mut self, id: NodeId, index: u32, message: &Sent) {
        let holders = self.holders.entry((id, index)).or_default();
        holders.insert(message.run);
        if message.is_response()
            && let Some(peer_index) = message.answered_with
        {
            self.partners.insert((id, index), peer_index);
        }
        if message.is_initiation() {
            let run = &mut self.runs[id];
            if run.answered_before.contains(&message.bytes) {
                self.reached.insert(Goal::OldAnswered);
            }
            let is_first = run.answered.insert(message.bytes.clone());
            if !is_first {
                self.violate(Violation::DerivedTwice);
            }
        }
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        if sent.is_response()
            && let Some(own) = sent.answered_with
        {
            self.partners.insert((sent.from, own), sent.receiver());
        }
        if !sent.is_transport() {
            return;
        }
        let nonce = sent.bytes.slice(..NONCE_END);
        if !self.nonces.insert((sent.from, sent.run, nonce)) {
            self.violate(Violation::NonceReused);
        }
        let holders = self.holders.get(&(1 - sent.from, sent.receiver()));
        if !holders.is_some_and(|runs| runs.contains(&sent.run)) {
            self.violate(Violation::KeysNotConfirmed);
        }
        self.last_receiver[sent.from] = Some(sent.receiver());
    }

    pub(crate) fn on_opened(&mut self, id: NodeId, bytes: &Bytes) {
        let frame = Frame::parse(bytes).filter(|frame| frame.from == 1 - id);
        let Some(frame) = frame.filter(|frame| self.offered.contains(frame)) else {
            return self.violate(Violation::Forged);
        };
        let run = &mut self.runs[id];
        let is_first = run.opened.insert(frame);
        let newest = run.newest.replace(frame.run);
        let reported = std::mem::take(&mut run.reported);
        if !is_first {
            self.violate(Violation::OpenedTwice);
        }
        let Some(newest) = newest else {
            return;
        };
        if frame.run < newest {
            self.violate(Violation::FormerRunOpened);
        } else if frame.run > newest && reported == 0 {
            self.violate(Violation::RestartNotReported);
        } else if reported > frame.run - newest {
            self.violate(Violation::RestartReportedFalsely);
        }
    }

    pub(crate) fn on_event(&mut self, id: NodeId, event: SessionEvent, peer_run: u8) {
        match event {
            SessionEvent::Rejected { reason, .. } => self.reached.on_rejected(reason),
            SessionEvent::PeerRestarted => {
                self.reached.insert(Goal::RestartNoticed);
                let run = &mut self.runs[id];
                run.reported += 1;
                run.reported_total += 1;
                if run.reported_total > peer_run {
                    self.violate(Violation::RestartReportedFalsely);
                }
            }
            SessionEvent::Established { .. } => {
                self.runs[id].established += 1;
                if self.runs[id].established > 1 {
                    self.reached.insert(Goal::Renewed);
                }
            }
            _ => {}
        }
    }

    /// Whether the last datagrams of both nodes are sealed with the keys of one handshake.
    pub(crate) fn agree(&self) -> bool {
        let [Some(to_1), Some(to_0)] = self.last_receiver else {
            return false;
        };
        let partner = |node, index| self.partners.get(&(node, index)).copied();
        partner(0, to_0) == Some(to_1) && partner(1, to_1) == Some(to_0)
    }

    /// The number of frames that the current run of a node has opened.
    pub(crate) fn opened(&self, id: NodeId) -> usize {
        self.runs[id].opened.len()
    }
}
