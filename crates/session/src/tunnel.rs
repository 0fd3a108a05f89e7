//! A whole node without its sockets: an endpoint of `polypath-core` over a [`Session`], as one
//! machine.
//!
//! IP packets of applications are on one side, datagrams of paths on the other. The live node
//! connects a TUN device and UDP sockets; a simulation connects the ports of a network.
//!
//! Heartbeats and reports are sent only when they can reach the peer: they are neither queued for a
//! session nor counted as sent. When the session is established, the endpoint is notified and
//! probes all paths immediately.
//!
//! A packet that exceeds the MTU of every path ([`polypath_core::pmtu`]) is fragmented, if its
//! sender permits that, as by a router (RFC 791, section 2.3). The application's host reassembles
//! it, and no datagram is fragmented in transit, which many networks drop. Otherwise its sender is
//! to be notified ([`Output::PacketTooBig`]).
//!
//! On a path through a [relay](crate::relay), datagrams of the session with the peer are sealed
//! again for the relay.
//!
//! A datagram has the DSCP of the packet in it (as in RFC 4301, section 5.1.2), so that queues on
//! the way treat it alike. The delivered packet keeps its own, whatever the network did with that
//! of the datagram.
//!
//! If the peer, and the relay of the path, pass it on, a datagram also has the ECN field of
//! the packet in it (the normal mode of RFC 6040): a queue on the way marks it instead of dropping
//! it, and the delivered packet has the mark. Otherwise it is not ECN-capable (the compatibility
//! mode).

use bytes::Bytes;
use polypath_core::endpoint::{self, ConfigError, Endpoint, EndpointConfig};
use polypath_core::event::Event;
use polypath_core::frame::{HEADER_LEN, PathId, SEAL_LEN};
use polypath_core::liveness::PathHealth;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::pmtu::PathMtu;
use polypath_core::time::Time;
use polypath_core::wire::{self, Numbers};

use crate::address::Source;
use crate::datagram::OVERHEAD;
use crate::entropy::BoxedEntropy;
use crate::event::{Counters, SessionEvent};
use crate::handshake::{FRAGMENTS, REPORTS, SPACING};
use crate::record::{Entry, Recorder, shape_of_output, shape_of_wake};
use crate::session::{self, Session, SessionConfig};
use closed::ClosedPaths;
use io::OuterHeader;
pub use io::{Input, Output};
use outgoing::Outgoing;
use packets::Refused;
use relays::RelaySessions;

mod closed;
mod decapsulation;
pub mod fragment;
mod io;
mod outgoing;
mod packets;
mod relays;

/// Bytes that a datagram adds to the IP packet in it, not counting the outer IP and UDP headers.
pub const PACKET_OVERHEAD: usize = OVERHEAD + wire::HEADER_LEN;

/// The overhead of a datagram on a path, which is larger if the path may use a relay.
#[must_use]
pub const fn packet_overhead(by_relay: bool) -> usize {
    if by_relay {
        PACKET_OVERHEAD + OVERHEAD
    } else {
        PACKET_OVERHEAD
    }
}

/// An endpoint over a session.
pub struct Tunnel {
    endpoint: Endpoint<Bytes>,
    /// That of the endpoint, as of its last wake: it is read several times for each packet.
    endpoint_deadline: Option<Deadline>,
    session: Session,
    relays: RelaySessions,
    /// Those of the frames in both directions.
    numbers: Numbers,
    scratch: Vec<u8>,
    /// Whether a path has a quota that the peer does not know to keep.
    is_quota_unenforceable: bool,
    recorder: Option<Recorder<Entry>>,
}

// The simulator takes these sizes from the core.
const _: () = assert!(PACKET_OVERHEAD == (SEAL_LEN + HEADER_LEN) as usize);
const _: () = assert!(wire::HEADER_LEN == HEADER_LEN as usize);

impl Tunnel {
    /// A tunnel without a session yet, or the error in the endpoint's configuration.
    pub fn new(
        endpoint: &EndpointConfig,
        session: SessionConfig,
        entropy: BoxedEntropy,
    ) -> Result<Self, ConfigError> {
        let endpoint = Endpoint::new(endpoint)?;
        Ok(Self {
            endpoint_deadline: endpoint.deadline(),
            endpoint,
            relays: RelaySessions::none(session.reachable.len()),
            session: Session::new(session, entropy),
            numbers: Numbers::default(),
            scratch: Vec::new(),
            is_quota_unenforceable: false,
            recorder: None,
        })
    }

    /// Routes `path` through a relay; `session` configures the session with it
    /// ([`SessionConfig::with_relay`]).
    pub fn add_relay(&mut self, path: PathId, session: SessionConfig, entropy: BoxedEntropy) {
        self.relays.add(path, Session::with_relay(session, entropy));
    }

    /// Records every wake of the endpoint and its outputs with `recorder`.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder<Entry>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Whether the session with the peer is established.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.session.is_established()
    }

    /// The session with the peer, for its state.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The number of buffered frames, handshakes, heartbeats, timers and windows: at most
    /// [`capacity`](Self::capacity), whatever is received.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.endpoint.buffered() + self.session.buffered() + self.relays.buffered()
    }

    /// The maximum of [`buffered`](Self::buffered), which depends on the watched and the relayed
    /// paths.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.endpoint.capacity() + session::CAPACITY + self.relays.capacity()
    }

    /// The session with the relay of `path`; `None` if the path uses no relay.
    #[must_use]
    pub fn relay(&self, path: PathId) -> Option<&Session> {
        self.relays.session(path)
    }

    /// The receiver indices in datagrams on `path` ([`Session::local_indices`]).
    pub fn local_indices(&self, path: PathId) -> impl Iterator<Item = u32> {
        self.relay(path).unwrap_or(&self.session).local_indices()
    }

    /// The receiver index in a response to this node's handshake on `path`; `None` if none is
    /// pending.
    #[must_use]
    pub fn pending_index(&self, path: PathId) -> Option<u32> {
        self.relay(path).unwrap_or(&self.session).pending_index()
    }

    /// The observed health of `path`; `None` if paths are not watched.
    #[must_use]
    pub fn health(&self, path: PathId) -> Option<PathHealth> {
        self.endpoint.health(path)
    }

    /// The discovered MTU of `path`; `None` without path MTU discovery.
    #[must_use]
    pub fn path_mtu(&self, path: PathId) -> Option<PathMtu> {
        self.endpoint.path_mtu(path)
    }

    /// The endpoint, for its state and statistics.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint<Bytes> {
        &self.endpoint
    }

    /// The time since which the current keys are in use; `None` without keys.
    #[must_use]
    pub fn established_at(&self) -> Option<Time> {
        self.session.established_at()
    }

    /// The counters of the session with the peer.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.session.counters()
    }

    /// Handles a datagram from the network: the peer's, or on a relayed path the relay's, which may
    /// contain one of the peer.
    fn on_datagram(
        &mut self,
        now: Time,
        path: PathId,
        header: OuterHeader,
        datagram: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        let OuterHeader { source, ecn } = header;
        // A relay's keepalives are not answered on a closed path.
        let received = {
            let permitted = &mut ClosedPaths::of(&self.endpoint).permitted(out);
            (self.relays).receive(now, path, source, datagram, permitted)
        };
        let Some(received) = received else {
            return self.on_sealed(now, path, header, datagram, out);
        };
        if received.is_new_session && self.session.is_established() {
            let input = endpoint::Input::PathReachable(path);
            self.wake_endpoint(now, Wake::Input(input), out);
        }
        if let Some(datagram) = received.datagram {
            let source = Source::RELAYED;
            self.on_sealed(now, path, OuterHeader { source, ecn }, &datagram, out);
        }
    }

    fn on_sealed(
        &mut self,
        now: Time,
        path: PathId,
        header: OuterHeader,
        datagram: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        let mut opened = None;
        let (mut restarted, mut established) = (false, false);
        let closed = ClosedPaths::of(&self.endpoint);
        let (session, relays) = (&mut self.session, &mut self.relays);
        session.receive(now, path, header.source, datagram, &mut |output| {
            if let session::Output::Event(event) = &output {
                restarted |= *event == SessionEvent::PeerRestarted;
                established |= matches!(event, SessionEvent::Established { .. });
            }
            match output {
                session::Output::Opened { frame, .. } => opened = Some(frame),
                output if closed.forbid(&output) => {}
                output => forward(now, output, relays, out),
            }
        });
        // Before the first frame of the new instance, which may be the one just opened.
        if restarted {
            self.numbers.on_peer_restarted();
            self.wake_endpoint(now, Wake::Input(endpoint::Input::PeerRestarted), out);
        }
        if established {
            self.check_quotas(out);
            let has = |feature| self.session.features() & feature != 0;
            let inputs = [
                endpoint::Input::PeerReports(has(REPORTS)),
                endpoint::Input::PeerFragments(has(FRAGMENTS)),
                endpoint::Input::PeerSpacing(has(SPACING)),
                endpoint::Input::Reachable,
            ];
            for input in inputs {
                self.wake_endpoint(now, Wake::Input(input), out);
            }
        }
        let Some(bytes) = opened else { return };
        match self.decode(now, path, header.ecn, &bytes) {
            Ok(frame) => {
                let input = endpoint::Input::Frame(frame);
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Err(reason) => {
                let (session, relays) = (&mut self.session, &mut self.relays);
                session.reject(path, reason, &mut |output| {
                    forward(now, output, relays, out);
                });
            }
        }
    }

    fn wake_endpoint(
        &mut self,
        now: Time,
        wake: Wake<endpoint::Input<Bytes>>,
        out: &mut impl FnMut(Output),
    ) {
        let mut outgoing = Outgoing {
            closed: ClosedPaths::of(&self.endpoint),
            session: &mut self.session,
            relays: &mut self.relays,
            numbers: &mut self.numbers,
            scratch: &mut self.scratch,
        };
        let mut entry = self.recorder.is_some().then(|| Entry {
            at: now,
            wake: shape_of_wake(&wake, &self.endpoint),
            outputs: Vec::new(),
            deadline: None,
        });
        let mut refused = Vec::new();
        self.endpoint_deadline = step(&mut self.endpoint, now, wake, &mut |output| {
            if let Some(entry) = &mut entry {
                entry.outputs.push(shape_of_output(&output));
            }
            match output {
                endpoint::Output::Transmit(frame)
                    if outgoing.is_useless(frame.body.kind(), frame.path) => {}
                endpoint::Output::Event(Event::FrameOut { path, kind, .. })
                    if outgoing.is_useless(kind, path) => {}
                endpoint::Output::Transmit(frame) => outgoing.transmit(now, &frame, out),
                endpoint::Output::Deliver(packet) => out(Output::Packet(packet)),
                endpoint::Output::Event(event) => {
                    if let Event::PathSilent { path, .. } | Event::PathSilentAgain { path, .. } =
                        event
                    {
                        outgoing.relays.request_rekey(now, path);
                    }
                    out(Output::Event(event));
                }
                endpoint::Output::Refused {
                    payload: packet,
                    limit,
                    is_final,
                } => {
                    refused.push(Refused {
                        packet,
                        limit,
                        is_final,
                    });
                }
            }
        });
        if let Some((recorder, mut entry)) = self.recorder.as_mut().zip(entry) {
            entry.deadline = self.endpoint_deadline.map(|deadline| deadline.at);
            recorder(entry);
        }
        for refused in refused {
            self.on_refused(now, refused, out);
        }
    }
}

/// Passes on an output of the session with the peer, through the relay if the path uses one.
fn forward(
    now: Time,
    output: session::Output,
    relays: &mut RelaySessions,
    out: &mut impl FnMut(Output),
) {
    match output {
        session::Output::Send {
            path,
            datagram,
            traffic_class,
        } if relays.has(path) => relays.send(now, path, &datagram, traffic_class, out),
        session::Output::Reply { path, datagram } if relays.has(path) => {
            relays.send(now, path, &datagram, TrafficClass::DEFAULT, out);
        }
        session::Output::Send {
            path,
            datagram,
            traffic_class,
        } => out(Output::Datagram {
            path,
            datagram,
            traffic_class,
        }),
        session::Output::Reply { path, datagram } => out(Output::Reply { path, datagram }),
        session::Output::Authenticated { path } => out(Output::Authenticated { path }),
        session::Output::Event(event) => out(Output::Session(event)),
        session::Output::Opened { .. } => {}
    }
}

impl Machine for Tunnel {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Time, input: Input, out: &mut impl FnMut(Output)) {
        match input {
            Input::Packet(packet) => self.on_packet(now, packet, out),
            Input::Datagram {
                path,
                source,
                ecn,
                datagram,
            } => self.on_datagram(now, path, OuterHeader { source, ecn }, &datagram, out),
            Input::DriverBehind(present) => {
                let input = endpoint::Input::DriverBehind(present);
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Input::Adjust(to) => {
                let input = endpoint::Input::Adjust(to);
                self.wake_endpoint(now, Wake::Input(input), out);
                self.check_quotas(out);
            }
            Input::PeerAddressKnown(path) => self.session.set_reachable(now, path),
            Input::WallClock(at_zero) => {
                self.session.set_wall_clock(at_zero);
                self.relays.set_wall_clock(at_zero);
            }
            Input::PathReachable(path) => {
                let input = endpoint::Input::PathReachable(path);
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Input::PathUsed {
                path,
                used,
                is_renewed,
            } => {
                let input = endpoint::Input::PathUsed {
                    path,
                    used,
                    is_renewed,
                };
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Input::InterfaceMtu {
                path,
                mtu,
                rerouted,
            } => {
                let input = endpoint::Input::InterfaceMtu {
                    path,
                    mtu,
                    rerouted,
                };
                self.wake_endpoint(now, Wake::Input(input), out);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        let due = |deadline: Option<Deadline>| deadline.is_some_and(|d| d.at <= now);
        // The endpoint first: its frames may exhaust the keys, which makes a handshake due
        // immediately.
        if due(self.endpoint_deadline) {
            self.wake_endpoint(now, Wake::Timeout, out);
        }
        if due(self.session.deadline()) {
            let closed = ClosedPaths::of(&self.endpoint);
            let (session, relays) = (&mut self.session, &mut self.relays);
            step(session, now, Wake::Timeout, &mut |output| {
                if !closed.forbid(&output) {
                    forward(now, output, relays, out);
                }
            });
        }
        // The relays last, for the same reason.
        let permitted = &mut ClosedPaths::of(&self.endpoint).permitted(out);
        self.relays.handle_timeout(now, permitted);
    }

    fn deadline(&self) -> Option<Deadline> {
        let own = Deadline::earlier(self.session.deadline(), self.endpoint_deadline);
        Deadline::earlier(own, self.relays.deadline())
    }
}

#[cfg(test)]
mod tests;
