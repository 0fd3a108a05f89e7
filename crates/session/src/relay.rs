//! A relay for paths on which no direct route exists or the direct route is poor (the overlay node
//! of the PPD-TCP paper), as a machine.
//!
//! **Sessions.** A relay serves one path of two nodes, which it knows by their public keys, and has
//! a [`Session`] of one path with each. The nodes initiate the handshakes and the relay only
//! answers, so it sends nothing to an address that a node has left. It learns the addresses of the
//! nodes, and follows their changes, from datagrams that open under agreed keys.
//!
//! **Forwarding.** A frame that one node sealed for the relay, and nothing else, is sealed for the
//! other node and sent to its address. The frame is a datagram of the nodes' own session, sealed
//! end to end, handshakes included: the relay cannot read, modify or forge it. Nothing is queued:
//! if the other node has no session with the relay, or has not answered for
//! [`SILENCE_TIMEOUT`](crate::session::SILENCE_TIMEOUT), the frame is dropped and counted. It
//! leaves with the traffic class with which it arrived; all else that a relay sends has the default.
//!
//! **Abuse.** Each forwarded datagram is caused by an authentic one and no longer than that. Apart
//! from these, the relay sends only responses and cookies to initiations, which are longer, and
//! hellos under agreed keys. It can therefore neither amplify traffic nor be used to send to third
//! parties. The forwarded rate of each node is limited ([`RelayConfig::rate`]), and so are the cost
//! of unauthenticated initiations ([`Reject::Throttled`]) and the memory ([`CAPACITY`]).

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::TrafficClass;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{self, Rate};

use crate::address::Source;
use crate::datagram::{self, Datagram, InitiationMessage};
use crate::entropy::BoxedEntropy;
use crate::event::{Counters, Reject};
use crate::session::{self, InitiationError, Origin, Session, SessionConfig};
pub use io::{Input, Output, RelayConfig, RelayEvent, Side};
use peer::RelayPeer;
pub use peer::{Traffic, Undelivered};

mod io;
mod peer;

/// The largest burst of a node, as time at its rate: a TCP window that is sent in one burst, for a
/// typical round-trip time through a relay.
pub const BURST: Duration = Duration::from_millis(50);
/// The minimum burst at any rate: an initial window of ten segments (RFC 6928), and the copies that
/// a policy adds.
pub const MIN_BURST: units::Bytes = units::Bytes(16 * 1500);

/// The maximum of [`Relay::buffered`], whatever is received.
pub const CAPACITY: usize = 2 * session::CAPACITY;

/// The only path of each session.
const PATH: PathId = PathId(0);

/// A relay of one path.
pub struct Relay<A> {
    peers: [RelayPeer<A>; 2],
    rate: Rate,
    burst: Duration,
    max_datagram: usize,
    /// Rejected datagrams that belong to neither session.
    unassigned: Counters,
}

impl<A: Copy + PartialEq + Into<Source>> Relay<A> {
    /// A relay without sessions, with entropy for each of the two.
    #[must_use]
    pub fn new(config: &RelayConfig, entropy: [BoxedEntropy; 2]) -> Self {
        let mut nodes = config.nodes.into_iter();
        let mut peer = |entropy| {
            // There are as many nodes as sources of entropy.
            let node = nodes.next().unwrap_or(config.nodes[0]);
            let session = SessionConfig {
                reachable: vec![false],
                max_datagram: config.max_datagram,
                limits: config.limits,
                receives_ecn: config.receives_ecn,
                // Only initiations carry a timestamp, and a relay sends none.
                wall_clock: 0,
                ..SessionConfig::new(config.private_key.clone(), node)
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
            unassigned: Counters::default(),
        }
    }

    /// The address of a node, if it has established a session.
    #[must_use]
    pub fn address(&self, side: Side) -> Option<A> {
        self.peer(side).address.get()
    }

    /// Whether the session with a node is established.
    #[must_use]
    pub fn is_established(&self, side: Side) -> bool {
        self.peer(side).session.is_established()
    }

    /// The receiver indices of the keys of a node's session ([`Session::local_indices`]).
    pub fn local_indices(&self, side: Side) -> impl Iterator<Item = u32> {
        self.peer(side).session.local_indices()
    }

    /// The counters of the session with a node.
    #[must_use]
    pub fn counters(&self, side: Side) -> &Counters {
        self.peer(side).session.counters()
    }

    /// The counters of a node's forwarded and dropped datagrams.
    #[must_use]
    pub fn traffic(&self, side: Side) -> &Traffic {
        &self.peer(side).traffic
    }

    /// The number of datagrams dropped for `reason` that belong to the session of neither node.
    #[must_use]
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.unassigned.rejected(reason)
    }

    /// The number of queued frames and remembered initiations: at most [`CAPACITY`].
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

    fn receive(&mut self, now: Time, input: &Input<A>, out: &mut impl FnMut(Output<A>)) {
        if let Err(reason) = self.try_receive(now, input, out) {
            self.unassigned.count_rejected(reason);
            out(Output::Event(RelayEvent::Rejected(reason)));
        }
    }

    fn try_receive(
        &mut self,
        now: Time,
        input: &Input<A>,
        out: &mut impl FnMut(Output<A>),
    ) -> Result<(), Reject> {
        let bytes = &input.datagram;
        if bytes.len() > self.max_datagram {
            return Err(Reject::Oversized);
        }
        match datagram::parse(bytes)? {
            Datagram::Transport(transport) => {
                self.on_transport(now, transport.receiver, input, out)
            }
            Datagram::Initiation(message) => self.on_initiation(now, input.source, &message, out),
            // A relay sends no initiations.
            Datagram::Response { .. } => Err(Reject::UnknownIndex),
            Datagram::Cookie(_) => Err(Reject::UnexpectedCookie),
        }
    }

    fn on_transport(
        &mut self,
        now: Time,
        index: u32,
        input: &Input<A>,
        out: &mut impl FnMut(Output<A>),
    ) -> Result<(), Reject> {
        let Input {
            source,
            datagram,
            traffic_class,
        } = input;
        let mut is_known = false;
        for side in Side::ALL {
            let peer = self.peer_mut(side);
            if !peer.session.contains_index(index) {
                continue;
            }
            is_known = true;
            // Both sessions may have drawn the same index; the datagram opens in one of them.
            let mut emit = |output| out(relay_output(side, output));
            let received = peer.receive(now, *source, datagram, &mut emit);
            if let Some(frame) = received.frame {
                let forwarded = Forwarded {
                    frame,
                    len: datagram.len(),
                    traffic_class: *traffic_class,
                };
                self.forward(now, side, &forwarded, out);
            }
            if received.is_authentic {
                break;
            }
        }
        if is_known {
            Ok(())
        } else {
            Err(Reject::UnknownIndex)
        }
    }

    /// Decrypts an initiation once, and passes it to the session of its sender.
    fn on_initiation(
        &mut self,
        now: Time,
        source: A,
        message: &InitiationMessage<'_>,
        out: &mut impl FnMut(Output<A>),
    ) -> Result<(), Reject> {
        let address = source.into();
        let mut sessions = self.peers.iter().map(|peer| &peer.session);
        let origin = Origin {
            path: PATH,
            source: address,
            is_peer_address: sessions.any(|session| session.is_peer_address(PATH, address)),
        };
        let [first, second] = &mut self.peers;
        let other = Some(&second.session);
        let read = (first.session).read_initiation(now, &origin, message, other);
        let initiation = match read {
            Ok(initiation) => initiation,
            Err(InitiationError::Rejected(reason)) => return Err(reason),
            Err(InitiationError::Replied(reason, datagram)) => {
                out(Output::Send {
                    to: source,
                    datagram,
                    traffic_class: TrafficClass::DEFAULT,
                });
                return Err(reason);
            }
            Err(InitiationError::NoEntropy) => {
                out(Output::Event(RelayEvent::NoEntropy));
                return Ok(());
            }
        };
        let mut sides = Side::ALL.into_iter();
        let is_sender = |side: &Side| self.peer(*side).session.is_from_peer(&initiation);
        let side = sides.find(is_sender).ok_or(Reject::WrongKey)?;
        let ephemeral = initiation.ephemeral;
        let mut emit = |output| out(relay_output(side, output));
        let answered = self
            .peer_mut(side)
            .answer_initiation(now, source, initiation, &mut emit);
        if let Err(reason) = answered {
            // The first session decrypts the initiations of both nodes.
            let first = self.peer_mut(Side::First);
            first.session.remember_initiation(ephemeral, reason);
        }
        answered
    }

    /// Forwards a frame to the other node, if that is reachable and the rate of the sender allows
    /// it.
    fn forward(
        &mut self,
        now: Time,
        side: Side,
        forwarded: &Forwarded,
        out: &mut impl FnMut(Output<A>),
    ) {
        let len = forwarded.len;
        let (rate, burst) = (self.rate, self.burst);
        let unreachable = self.peer(side.other()).undeliverable();
        let from = self.peer_mut(side);
        let reason = unreachable.or_else(|| from.exceeds_rate(now, len, rate, burst));
        if let Some(reason) = reason {
            from.traffic.count(reason);
            return out(Output::Event(RelayEvent::Undelivered { side, reason, len }));
        }
        let mut sent = None;
        let to = side.other();
        let Forwarded {
            frame,
            traffic_class,
            ..
        } = forwarded;
        self.peer_mut(to)
            .seal(now, frame, *traffic_class, &mut |output| {
                if let peer::PeerOutput::Send { datagram, .. } = &output {
                    sent = Some(datagram.len());
                }
                out(relay_output(to, output));
            });
        if let Some(len) = sent {
            self.peer_mut(side).traffic.forward(len);
        }
    }
}

/// A frame that one node sealed for the relay.
struct Forwarded {
    frame: Bytes,
    /// The length of its datagram in bytes.
    len: usize,
    /// The traffic class with which it arrived.
    traffic_class: TrafficClass,
}

fn relay_output<A>(side: Side, output: peer::PeerOutput<A>) -> Output<A> {
    match output {
        peer::PeerOutput::Send {
            to,
            datagram,
            traffic_class,
        } => Output::Send {
            to,
            datagram,
            traffic_class,
        },
        peer::PeerOutput::Located(at) => Output::Event(RelayEvent::Located { side, at }),
        peer::PeerOutput::Session(event) => Output::Event(RelayEvent::Session { side, event }),
    }
}

impl<A: Copy + PartialEq + Into<Source>> Machine for Relay<A> {
    type Input = Input<A>;
    type Output = Output<A>;

    fn handle_input(&mut self, now: Time, input: Input<A>, out: &mut impl FnMut(Output<A>)) {
        self.receive(now, &input, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<A>)) {
        for side in Side::ALL {
            let peer = self.peer_mut(side);
            if peer.session.deadline().is_some_and(|due| due.at <= now) {
                peer.handle_timeout(now, &mut |output| out(relay_output(side, output)));
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
