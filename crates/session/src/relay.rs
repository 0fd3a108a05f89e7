//! A relay: what a path goes by where no direct one is to be had, or is not good (the overlay node of the PPD
//! paper), as a machine.
//!
//! **One path, one relay.** Two nodes, known by their public keys, have one path through it, and it has a [`Session`] of one
//! path with each. Each begins its own; the relay answers and never begins, so that nothing goes to where no node is
//! any more. Where they are it learns from what opens under agreed keys, and follows.
//!
//! **What is forwarded.** What one node sealed for the relay, and nothing else, is sealed for the other and sent to where that
//! is. In the seal are the nodes' own datagrams, handshakes included, sealed end to end: the relay cannot read them, change
//! them unnoticed or make any. Nothing waits: where the other node has no session here, or has answered nothing for
//! [`SILENCE_TIMEOUT`](crate::session::SILENCE_TIMEOUT), a datagram is dropped, and counted.
//!
//! **What it cannot be used for.** A datagram leaves for one that opened and is no longer than that; beside these leave only
//! answers to handshakes, which are shorter, and hellos under agreed keys. So nobody who proves nothing gets more than
//! they sent, or has anything sent to others. What each node may have forwarded is bounded by a rate. What
//! handshakes of strangers may cost is bounded, too ([`Reject::Throttled`]); what is held, by [`CAPACITY`].

use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};
use polypath_core::units::{self, Rate};

use crate::datagram::{self, Datagram, Handshake};
use crate::entropy::BoxedEntropy;
use crate::event::{Counters, Reject};
use crate::session::{self, Refusal, Session, SessionConfig};
pub use io::{Input, Output, RelayConfig, RelayEvent, Side};
use peer::RelayPeer;
pub use peer::{Traffic, Undelivered};

mod io;
mod peer;

/// What a node may send at once, as time at its rate: a window of TCP that leaves in one burst, over a round trip that is
/// usual on a path with a detour.
pub const BURST: Duration = Duration::from_millis(50);
/// A burst is at least so long, whatever the rate: an initial window of ten segments (RFC 6928) and what a policy adds.
pub const MIN_BURST: units::Bytes = units::Bytes(16 * 1500);

/// Most of what a relay holds at once, whatever comes ([`Relay::buffered`]).
pub const CAPACITY: usize = 2 * session::CAPACITY;

/// The path of either session.
const PATH: PathId = PathId(0);

/// A relay of one path.
pub struct Relay<A> {
    peers: [RelayPeer<A>; 2],
    rate: Rate,
    burst: Duration,
    max_datagram: usize,
    strangers: Counters,
}

impl<A: Copy + PartialEq> Relay<A> {
    /// A relay at rest, with entropy for each of the two sessions.
    #[must_use]
    pub fn new(config: &RelayConfig, entropy: [BoxedEntropy; 2]) -> Self {
        let mut nodes = config.nodes.into_iter();
        let mut peer = |entropy| {
            let session = SessionConfig {
                private_key: config.private_key.clone(),
                // There are as many as sources of entropy.
                peer: nodes.next().unwrap_or(config.nodes[0]),
                reachable: vec![false],
                max_datagram: config.max_datagram,
                // A relay begins no handshake, and so shows nobody its clock.
                wall_clock: 0,
                limits: config.limits,
            };
            RelayPeer::new(Session::responder(session, entropy))
        };
        let [first, second] = entropy;
        let least = config.rate.transmission_time(MIN_BURST);
        Self {
            peers: [peer(first), peer(second)],
            rate: config.rate,
            burst: BURST.max(least),
            max_datagram: config.max_datagram,
            strangers: Counters::default(),
        }
    }

    /// Where a node is, if it has come.
    #[must_use]
    pub fn address(&self, side: Side) -> Option<A> {
        self.peer(side).address.get()
    }

    /// Whether there is a session with a node.
    #[must_use]
    pub fn is_established(&self, side: Side) -> bool {
        self.peer(side).session.is_established()
    }

    /// By what a node names the keys that open here ([`Session::local_indices`]).
    pub fn local_indices(&self, side: Side) -> impl Iterator<Item = u32> {
        self.peer(side).session.local_indices()
    }

    /// What happened in the session with a node, in numbers.
    #[must_use]
    pub fn counters(&self, side: Side) -> &Counters {
        self.peer(side).session.counters()
    }

    /// What became of a node's datagrams.
    #[must_use]
    pub fn traffic(&self, side: Side) -> &Traffic {
        &self.peer(side).traffic
    }

    /// How many datagrams were dropped for `reason` that belong to the session of neither node.
    #[must_use]
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.strangers.rejected(reason)
    }

    /// How much is held of what comes and goes: at most [`CAPACITY`].
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.peers.iter().map(|peer| peer.session.buffered()).sum()
    }

    fn peer(&self, side: Side) -> &RelayPeer<A> {
        &self.peers[side.index()]
    }

    fn peer_mut(&mut self, side: Side) -> &mut RelayPeer<A> {
        &mut self.peers[side.index()]
    }

    fn receive(&mut self, now: Time, source: A, bytes: &[u8], out: &mut impl FnMut(Output<A>)) {
        if let Err(reason) = self.try_receive(now, source, bytes, out) {
            self.strangers.count_rejected(reason);
            out(Output::Event(RelayEvent::Rejected(reason)));
        }
    }

    fn try_receive(
        &mut self,
        now: Time,
        source: A,
        bytes: &[u8],
        out: &mut impl FnMut(Output<A>),
    ) -> Result<(), Reject> {
        if bytes.len() > self.max_datagram {
            return Err(Reject::Oversized);
        }
        match datagram::parse(bytes)? {
            Datagram::Transport(transport) => {
                self.on_transport(now, source, transport.receiver, bytes, out)
            }
            Datagram::Initiation(message) => self.on_initiation(now, source, &message, out),
            // It answers nothing, for a relay begins no handshake.
            Datagram::Response { .. } => Err(Reject::UnknownIndex),
        }
    }

    fn on_transport(
        &mut self,
        now: Time,
        source: A,
        index: u32,
        bytes: &[u8],
        out: &mut impl FnMut(Output<A>),
    ) -> Result<(), Reject> {
        let mut is_known = false;
        for side in Side::ALL {
            let peer = self.peer_mut(side);
            if !peer.session.knows(index) {
                continue;
            }
            is_known = true;
            // Both may have drawn one index: then it opens at one of them.
            let mut tell = |said| out(told(side, said));
            let receipt = peer.receive(now, source, bytes, &mut tell);
            if let Some(frame) = receipt.frame {
                self.forward(now, side, &frame, bytes.len(), out);
            }
            if receipt.is_authentic {
                break;
            }
        }
        if is_known {
            Ok(())
        } else {
            Err(Reject::UnknownIndex)
        }
    }

    /// Reads an initiation once, and hands it to the session of whoever wrote it.
    fn on_initiation(
        &mut self,
        now: Time,
        source: A,
        message: &Handshake<'_>,
        out: &mut impl FnMut(Output<A>),
    ) -> Result<(), Reject> {
        if self.peers.iter().any(|peer| peer.session.is_copy(message)) {
            return Err(Reject::HandshakeCopy);
        }
        let [reader, _] = &mut self.peers;
        let opened = match reader.session.read_initiation(now, PATH, message) {
            Ok(opened) => opened,
            Err(Refusal::Rejected(reason)) => return Err(reason),
            Err(Refusal::NoEntropy) => {
                out(Output::Event(RelayEvent::NoEntropy));
                return Ok(());
            }
        };
        let mut sides = Side::ALL.into_iter();
        let is_writer = |side: &Side| self.peer(*side).session.is_with(&opened);
        let side = sides.find(is_writer).ok_or(Reject::WrongKey)?;
        let ephemeral = opened.ephemeral;
        let mut tell = |said| out(told(side, said));
        let greeted = self.peer_mut(side).greet(now, source, opened, &mut tell);
        if greeted == Err(Reject::StaleTimestamp) {
            // It is the first session that reads them.
            self.peer_mut(Side::First).session.remember_stale(ephemeral);
        }
        greeted
    }

    /// Sends what a node sealed for the relay on to the other, if that is there and the rate allows it.
    fn forward(
        &mut self,
        now: Time,
        side: Side,
        frame: &[u8],
        len: usize,
        out: &mut impl FnMut(Output<A>),
    ) {
        let (rate, burst) = (self.rate, self.burst);
        let obstacle = self.peer(side.other()).obstacle();
        let from = self.peer_mut(side);
        let reason = obstacle.or_else(|| from.exceeds(now, len, rate, burst));
        if let Some(reason) = reason {
            from.traffic.count(reason);
            return out(Output::Event(RelayEvent::Undelivered { side, reason, len }));
        }
        let mut sent = None;
        let to = side.other();
        self.peer_mut(to).seal(now, frame, &mut |said| {
            if let peer::PeerOutput::Send { datagram, .. } = &said {
                sent = Some(datagram.len());
            }
            out(told(to, said));
        });
        if let Some(len) = sent {
            self.peer_mut(side).traffic.forward(len);
        }
    }
}

fn told<A>(side: Side, said: peer::PeerOutput<A>) -> Output<A> {
    match said {
        peer::PeerOutput::Send { to, datagram } => Output::Send { to, datagram },
        peer::PeerOutput::Located(at) => Output::Event(RelayEvent::Located { side, at }),
        peer::PeerOutput::Session(event) => Output::Event(RelayEvent::Session { side, event }),
    }
}

impl<A: Copy + PartialEq> Machine for Relay<A> {
    type Input = Input<A>;
    type Output = Output<A>;

    fn handle_input(&mut self, now: Time, input: Input<A>, out: &mut impl FnMut(Output<A>)) {
        self.receive(now, input.source, &input.datagram, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<A>)) {
        for side in Side::ALL {
            let peer = self.peer_mut(side);
            if peer.session.deadline().is_some_and(|due| due.at <= now) {
                peer.expire(now, &mut |said| out(told(side, said)));
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let [first, second] = &self.peers;
        Deadline::earlier(first.session.deadline(), second.session.deadline())
    }
}

#[cfg(test)]
mod tests;
