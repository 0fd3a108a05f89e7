//! What a relay has of one of its nodes: a session, an address, and what it may still have forwarded.

use bytes::Bytes;
use polypath_core::machine::{Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_core::units::{self, Rate};

use super::PATH;
use crate::address::PeerAddress;
use crate::event::{Reject, SessionEvent};
use crate::gcra::Gcra;
use crate::handshake::Opened;
use crate::session::{Output, Session};

/// Why a datagram of a node was not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undelivered {
    /// The other node has no session with the relay.
    NoSession,
    /// The other node has answered nothing for [`SILENCE_TIMEOUT`](crate::session::SILENCE_TIMEOUT).
    Silent,
    /// The node sent more than it may.
    Rate,
}

impl Undelivered {
    /// All reasons.
    pub const ALL: [Undelivered; 3] = [Self::NoSession, Self::Silent, Self::Rate];

    /// The reason's name in statistics and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSession => "no-session",
            Self::Silent => "silent",
            Self::Rate => "rate",
        }
    }
}

/// What became of the datagrams of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams that went on to the other node.
    pub forwarded: u64,
    /// Their bytes, as they went.
    pub bytes: u64,
    undelivered: [u64; Undelivered::ALL.len()],
}

impl Traffic {
    /// How many were not forwarded for `reason`.
    #[must_use]
    pub const fn undelivered(&self, reason: Undelivered) -> u64 {
        self.undelivered[reason as usize]
    }

    pub(super) const fn count(&mut self, reason: Undelivered) {
        self.undelivered[reason as usize] += 1;
    }

    pub(super) const fn forward(&mut self, len: usize) {
        self.forwarded += 1;
        self.bytes += len as u64;
    }
}

/// What is said of a node.
pub(super) enum PeerOutput<A> {
    Send { to: A, datagram: Bytes },
    Located(A),
    Session(SessionEvent),
}

/// What became of a datagram.
#[derive(Default)]
pub(super) struct Receipt {
    /// Whether it opened.
    pub(super) is_authentic: bool,
    /// What is in it for the other node.
    pub(super) frame: Option<Bytes>,
}

/// One of the two nodes.
pub(super) struct RelayPeer<A> {
    pub(super) session: Session,
    pub(super) address: PeerAddress<A>,
    pub(super) traffic: Traffic,
    is_silent: bool,
    spent: Gcra,
}

impl<A: Copy + PartialEq> RelayPeer<A> {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            address: PeerAddress::configured(None),
            traffic: Traffic::default(),
            is_silent: false,
            spent: Gcra::default(),
        }
    }

    /// Why nothing can be sent to the node now.
    pub(super) fn obstacle(&self) -> Option<Undelivered> {
        if !self.session.is_established() {
            Some(Undelivered::NoSession)
        } else if self.is_silent {
            Some(Undelivered::Silent)
        } else {
            None
        }
    }

    /// Takes `len` bytes off what the node may have forwarded, if that is not too much.
    pub(super) fn exceeds(
        &mut self,
        now: Time,
        len: usize,
        rate: Rate,
        burst: Duration,
    ) -> Option<Undelivered> {
        let cost = rate.transmission_time(units::Bytes(len as u64));
        let is_earned = self.spent.spend(now, cost, burst);
        (!is_earned).then_some(Undelivered::Rate)
    }

    /// Opens a datagram that names keys of this session.
    pub(super) fn receive(
        &mut self,
        now: Time,
        source: A,
        bytes: &[u8],
        out: &mut impl FnMut(PeerOutput<A>),
    ) -> Receipt {
        let mut receipt = Receipt::default();
        let Self {
            session,
            address,
            is_silent,
            ..
        } = self;
        session.receive(now, PATH, bytes, &mut |said| match said {
            Output::Opened { frame, .. } => receipt.frame = Some(frame),
            Output::Authenticated { .. } => {
                receipt.is_authentic = true;
                *is_silent = false;
                if address.update(source) {
                    out(PeerOutput::Located(source));
                }
            }
            said => pass(said, *address, is_silent, out),
        });
        receipt
    }

    /// Answers an initiation of this node where it came from.
    pub(super) fn greet(
        &mut self,
        now: Time,
        source: A,
        opened: Opened,
        out: &mut impl FnMut(PeerOutput<A>),
    ) -> Result<(), Reject> {
        let (session, address) = (&mut self.session, self.address);
        let is_silent = &mut self.is_silent;
        session.take_initiation(now, PATH, opened, &mut |said| match said {
            Output::Reply { datagram, .. } => {
                let to = source;
                out(PeerOutput::Send { to, datagram });
            }
            said => pass(said, address, is_silent, out),
        })
    }

    /// Seals a frame of the other node for this one.
    pub(super) fn seal(&mut self, now: Time, frame: &[u8], out: &mut impl FnMut(PeerOutput<A>)) {
        let (session, address) = (&mut self.session, self.address);
        let is_silent = &mut self.is_silent;
        session.seal(now, PATH, frame, &mut |said| {
            pass(said, address, is_silent, out);
        });
    }

    /// Does what is due in the session.
    pub(super) fn expire(&mut self, now: Time, out: &mut impl FnMut(PeerOutput<A>)) {
        let (session, address) = (&mut self.session, self.address);
        let is_silent = &mut self.is_silent;
        step(session, now, Wake::Timeout, &mut |said| {
            pass(said, address, is_silent, out);
        });
    }
}

/// What a session says, to where the node is.
fn pass<A: Copy + PartialEq>(
    said: Output,
    address: PeerAddress<A>,
    is_silent: &mut bool,
    out: &mut impl FnMut(PeerOutput<A>),
) {
    match said {
        Output::Send { datagram, .. } => {
            if let Some(to) = address.get() {
                out(PeerOutput::Send { to, datagram });
            }
        }
        Output::Event(event) => {
            *is_silent |= event == SessionEvent::Silent;
            out(PeerOutput::Session(event));
        }
        Output::Reply { .. } | Output::Authenticated { .. } | Output::Opened { .. } => {}
    }
}
