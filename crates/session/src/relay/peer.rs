//! One of the two nodes of a relay: its session, its address and its rate limit.

use bytes::Bytes;
use polypath_core::machine::{Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{self, Rate};

use super::PATH;
use crate::address::{PeerAddress, Source};
use crate::event::{Reject, SessionEvent};
use crate::gcra::Gcra;
use crate::handshake::ReceivedInitiation;
use crate::session::{Output, Session};

/// The reason why a datagram of a node was not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undelivered {
    /// The other node has no session with the relay.
    NoSession,
    /// The other node has not answered for [`SILENCE_TIMEOUT`](crate::session::SILENCE_TIMEOUT).
    Silent,
    /// The node exceeded its rate.
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

/// Counters of the forwarded and dropped datagrams of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams forwarded to the other node.
    pub forwarded: u64,
    /// Their UDP payload in bytes, as sent.
    pub bytes: u64,
    undelivered: [u64; Undelivered::ALL.len()],
}

impl Traffic {
    /// The number of datagrams not forwarded for `reason`.
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

/// An output that concerns one node.
pub(super) enum PeerOutput<A> {
    Send {
        to: A,
        datagram: Bytes,
        traffic_class: TrafficClass,
    },
    Located(A),
    Session(SessionEvent),
}

/// The result of receiving a datagram.
#[derive(Default)]
pub(super) struct Received {
    /// Whether it is authentic.
    pub(super) is_authentic: bool,
    /// The frame for the other node.
    pub(super) frame: Option<Bytes>,
}

/// One of the two nodes.
pub(super) struct RelayPeer<A> {
    pub(super) session: Session,
    pub(super) address: PeerAddress<A>,
    pub(super) traffic: Traffic,
    is_silent: bool,
    limiter: Gcra,
}

impl<A: Copy + PartialEq + Into<Source>> RelayPeer<A> {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            address: PeerAddress::configured(None),
            traffic: Traffic::default(),
            is_silent: false,
            limiter: Gcra::default(),
        }
    }

    /// The reason why nothing can be sent to the node, if there is one.
    pub(super) fn undeliverable(&self) -> Option<Undelivered> {
        if !self.session.is_established() {
            Some(Undelivered::NoSession)
        } else if self.is_silent {
            Some(Undelivered::Silent)
        } else {
            None
        }
    }

    /// Charges `len` bytes to the node's rate limit; returns [`Undelivered::Rate`] if they exceed
    /// it.
    pub(super) fn exceeds_rate(
        &mut self,
        now: Time,
        len: usize,
        rate: Rate,
        burst: Duration,
    ) -> Option<Undelivered> {
        let cost = rate.transmission_time(units::Bytes(len as u64));
        let conforms = self.limiter.spend(now, cost, burst);
        (!conforms).then_some(Undelivered::Rate)
    }

    /// Opens a datagram with a receiver index of this session.
    pub(super) fn receive(
        &mut self,
        now: Time,
        source: A,
        bytes: &[u8],
        out: &mut impl FnMut(PeerOutput<A>),
    ) -> Received {
        let mut received = Received::default();
        let Self {
            session,
            address,
            is_silent,
            ..
        } = self;
        session.receive(
            now,
            PATH,
            source.into(),
            bytes,
            &mut |output| match output {
                Output::Opened { frame, .. } => received.frame = Some(frame),
                Output::Authenticated { .. } => {
                    received.is_authentic = true;
                    *is_silent = false;
                    if address.update(source) {
                        out(PeerOutput::Located(source));
                    }
                }
                output => forward_output(output, *address, is_silent, out),
            },
        );
        received
    }

    /// Answers an initiation of this node to its source address.
    pub(super) fn answer_initiation(
        &mut self,
        now: Time,
        source: A,
        initiation: ReceivedInitiation,
        out: &mut impl FnMut(PeerOutput<A>),
    ) -> Result<(), Reject> {
        let (session, address) = (&mut self.session, self.address);
        let is_silent = &mut self.is_silent;
        session.accept_initiation(now, PATH, initiation, &mut |output| match output {
            Output::Reply { datagram, .. } => {
                out(PeerOutput::Send {
                    to: source,
                    datagram,
                    traffic_class: TrafficClass::DEFAULT,
                });
            }
            output => forward_output(output, address, is_silent, out),
        })
    }

    /// Seals a frame of the other node, whose datagram had this traffic class, for this one.
    pub(super) fn seal(
        &mut self,
        now: Time,
        frame: &[u8],
        traffic_class: TrafficClass,
        out: &mut impl FnMut(PeerOutput<A>),
    ) {
        let (session, address) = (&mut self.session, self.address);
        let is_silent = &mut self.is_silent;
        session.seal(now, PATH, frame, traffic_class, &mut |output| {
            forward_output(output, address, is_silent, out);
        });
    }

    /// Runs the timers of the session that are due.
    pub(super) fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(PeerOutput<A>)) {
        let (session, address) = (&mut self.session, self.address);
        let is_silent = &mut self.is_silent;
        step(session, now, Wake::Timeout, &mut |output| {
            forward_output(output, address, is_silent, out);
        });
    }
}

/// Passes on an output of the session, with the node's address.
fn forward_output<A: Copy + PartialEq>(
    output: Output,
    address: PeerAddress<A>,
    is_silent: &mut bool,
    out: &mut impl FnMut(PeerOutput<A>),
) {
    match output {
        Output::Send {
            datagram,
            traffic_class,
            ..
        } => {
            if let Some(to) = address.get() {
                out(PeerOutput::Send {
                    to,
                    datagram,
                    traffic_class,
                });
            }
        }
        Output::Event(event) => {
            *is_silent |= event == SessionEvent::Silent;
            out(PeerOutput::Session(event));
        }
        Output::Reply { .. } | Output::Authenticated { .. } | Output::Opened { .. } => {}
    }
}
