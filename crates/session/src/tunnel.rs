//! A whole node but for its sockets: an endpoint of `polypath-core` over a [`Session`], as one machine.
//!
//! Heartbeats leave only where they can reach the peer: they neither wait for a session nor count as sent; once
//! one stands, the endpoint is told so that it tries all paths at once.
//!
//! IP packets of applications on one side, datagrams of paths on the other. The live node gives it a TUN
//! device and UDP sockets; a simulation gives it the ports of a network.
//!
//! A packet that is longer than any path carries whole ([`polypath_core::pmtu`]) is fragmented, where its sender allows
//! that, as a router does (RFC 791, 2.3): then it is the application's host that joins it again, and no datagram is
//! fragmented on its way, which many a network drops. Otherwise its sender is to hear of it ([`Output::PacketTooBig`]).
//!
//! A path may go by a [relay](crate::relay): what the session with the peer sends there is sealed once more, for the relay.

use bytes::Bytes;
use polypath_core::endpoint::{self, ConfigError, Endpoint, EndpointConfig};
use polypath_core::event::{DropReason, Event};
use polypath_core::frame::{Body, Frame, FrameKind, HEADER_LEN, PathId, SEAL_LEN};
use polypath_core::liveness::PathHealth;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet;
use polypath_core::pmtu::PathMtu;
use polypath_core::time::Time;
use polypath_core::wire;

use crate::datagram::OVERHEAD;
use crate::entropy::BoxedEntropy;
use crate::event::{Counters, Reject, SessionEvent};
use crate::record::{Entry, Recorder, shape_of_output, shape_of_wake};
use crate::session::{self, Session, SessionConfig};
pub use io::{Input, Output};
use relays::Relays;

mod fragment;
mod io;
mod relays;

/// Bytes that a datagram adds to the IP packet in it, IP and UDP headers aside.
pub const PACKET_OVERHEAD: usize = OVERHEAD + wire::HEADER_LEN;

/// The same on a path that may go by a relay, for which it is sealed, too.
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
    session: Session,
    relays: Relays,
    scratch: Vec<u8>,
    recorder: Option<Recorder>,
}

// The simulator takes the sizes from the core, so that both mean the same deployment.
const _: () = assert!(PACKET_OVERHEAD == (SEAL_LEN + HEADER_LEN) as usize);
const _: () = assert!(wire::HEADER_LEN == HEADER_LEN as usize);

impl Tunnel {
    /// A tunnel at rest, or what is wrong with the endpoint's configuration.
    pub fn new(
        endpoint: &EndpointConfig,
        session: SessionConfig,
        entropy: BoxedEntropy,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(endpoint)?,
            relays: Relays::none(session.reachable.len()),
            session: Session::new(session, entropy),
            scratch: Vec::new(),
            recorder: None,
        })
    }

    /// Lets `path` go by a relay, with which `session` is held ([`SessionConfig::with_relay`]).
    pub fn add_relay(&mut self, path: PathId, session: SessionConfig, entropy: BoxedEntropy) {
        self.relays.add(path, Session::new(session, entropy));
    }

    /// Has `recorder` take all that comes to the endpoint and all that it decides, from its first wake on.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Whether packets can cross now.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.session.is_established()
    }

    /// How many paths the peer has, as it said in the last handshake; none before the first.
    #[must_use]
    pub fn peer_paths(&self) -> Option<u8> {
        self.session.peer_paths()
    }

    /// How much is held of what comes and goes, in frames, handshakes, heartbeats, timers and windows: at most
    /// [`capacity`](Self::capacity), whatever the network brings.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.endpoint.buffered() + self.session.buffered() + self.relays.buffered()
    }

    /// The most that [`buffered`](Self::buffered) can be, which depends on how many paths are watched, or go by a relay.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.endpoint.capacity() + session::CAPACITY + self.relays.capacity()
    }

    /// The session with the relay of `path`; nothing where it goes by none.
    #[must_use]
    pub fn relay(&self, path: PathId) -> Option<&Session> {
        self.relays.session(path)
    }

    /// By what datagrams that come on `path` name the keys that open them ([`Session::local_indices`]).
    pub fn local_indices(&self, path: PathId) -> impl Iterator<Item = u32> {
        self.relay(path).unwrap_or(&self.session).local_indices()
    }

    /// What was observed of `path`; nothing where paths are not watched.
    #[must_use]
    pub fn health(&self, path: PathId) -> Option<PathHealth> {
        self.endpoint.health(path)
    }

    /// How long a packet `path` carries whole; nothing where that is not found out.
    #[must_use]
    pub fn path_mtu(&self, path: PathId) -> Option<PathMtu> {
        self.endpoint.path_mtu(path)
    }

    /// The end of the overlay, for what it tells of itself.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint<Bytes> {
        &self.endpoint
    }

    /// Since when the keys that seal now are in use; none while there are none.
    #[must_use]
    pub fn established_at(&self) -> Option<Time> {
        self.session.established_at()
    }

    /// What happened in the session, in numbers.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.session.counters()
    }

    fn on_packet(&mut self, now: Time, packet: Bytes, out: &mut impl FnMut(Output)) {
        match packet::parse(&packet) {
            Ok(meta) => {
                let payload = packet;
                let input = endpoint::Input::Packet { meta, payload };
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Err(_) => out(Output::Event(Event::Dropped {
                reason: DropReason::NotIp,
                len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            })),
        }
    }

    /// Takes back a packet that no path carries whole.
    fn on_refused(&mut self, now: Time, refused: Refused, out: &mut impl FnMut(Output)) {
        let Refused {
            packet,
            limit,
            is_final,
        } = refused;
        if let Some(fragments) = fragment::split(&packet, limit) {
            for fragment in fragments {
                self.on_packet(now, fragment, out);
            }
            return;
        }
        out(Output::Event(Event::Dropped {
            reason: DropReason::TooLong,
            len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
        }));
        // Hosts go by a limit for minutes: none is told that a search may raise in a moment.
        if is_final {
            let mtu = limit;
            out(Output::PacketTooBig { packet, mtu });
        }
    }

    /// Takes a datagram of the network: the peer's, or on a path by a relay the relay's, in which the peer's may be.
    fn on_datagram(
        &mut self,
        now: Time,
        path: PathId,
        datagram: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        let Some(heard) = self.relays.receive(now, path, datagram, out) else {
            return self.on_sealed(now, path, datagram, out);
        };
        if heard.is_new && self.session.is_established() {
            let input = endpoint::Input::PathReachable(path);
            self.wake_endpoint(now, Wake::Input(input), out);
        }
        if let Some(datagram) = heard.datagram {
            self.on_sealed(now, path, &datagram, out);
        }
    }

    fn on_sealed(
        &mut self,
        now: Time,
        path: PathId,
        datagram: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        let mut opened = None;
        let (mut restarted, mut established) = (false, false);
        let (session, relays) = (&mut self.session, &mut self.relays);
        session.receive(now, path, datagram, &mut |said| {
            if let session::Output::Event(event) = &said {
                restarted |= *event == SessionEvent::PeerRestarted;
                established |= matches!(event, SessionEvent::Established { .. });
            }
            match said {
                session::Output::Opened { frame, .. } => opened = Some(frame),
                said => forward(now, said, relays, out),
            }
        });
        // Before the first frame of the new instance, which may be the one that was opened.
        if restarted {
            self.wake_endpoint(now, Wake::Input(endpoint::Input::PeerRestarted), out);
        }
        if established {
            self.wake_endpoint(now, Wake::Input(endpoint::Input::Reachable), out);
        }
        let Some(bytes) = opened else { return };
        if let Some(frame) = decode(path, &bytes) {
            let input = endpoint::Input::Frame(frame);
            self.wake_endpoint(now, Wake::Input(input), out);
        } else {
            let (session, relays) = (&mut self.session, &mut self.relays);
            session.reject(path, Reject::Malformed, &mut |said| {
                forward(now, said, relays, out);
            });
        }
    }

    fn wake_endpoint(
        &mut self,
        now: Time,
        wake: Wake<endpoint::Input<Bytes>>,
        out: &mut impl FnMut(Output),
    ) {
        let (session, scratch) = (&mut self.session, &mut self.scratch);
        let relays = &mut self.relays;
        let carries = |session: &Session, relays: &Relays, path| {
            session.carries(path) && relays.carries(path)
        };
        let mut entry = self.recorder.is_some().then(|| Entry {
            at: now,
            wake: shape_of_wake(&wake),
            outputs: Vec::new(),
            deadline: None,
        });
        let mut refused = None;
        let next = step(&mut self.endpoint, now, wake, &mut |said| {
            if let Some(entry) = &mut entry {
                entry.outputs.push(shape_of_output(&said));
            }
            match said {
                endpoint::Output::Transmit(frame)
                    if is_heartbeat(frame.body.kind()) && !carries(session, relays, frame.path) => {
                }
                endpoint::Output::Event(Event::FrameOut { path, kind, .. })
                    if is_heartbeat(kind) && !carries(session, relays, path) => {}
                endpoint::Output::Transmit(frame) => {
                    scratch.clear();
                    wire::encode(&frame, scratch);
                    session.seal(now, frame.path, scratch, &mut |said| {
                        forward(now, said, relays, out);
                    });
                }
                endpoint::Output::Deliver(packet) => out(Output::Packet(packet)),
                endpoint::Output::Event(event) => {
                    if let Event::PathSilent { path, .. } = event {
                        relays.request_rekey(now, path);
                    }
                    out(Output::Event(event));
                }
                endpoint::Output::Refused {
                    payload: packet,
                    limit,
                    is_final,
                } => {
                    refused = Some(Refused {
                        packet,
                        limit,
                        is_final,
                    });
                }
            }
        });
        if let Some((recorder, mut entry)) = self.recorder.as_mut().zip(entry) {
            entry.deadline = next.map(|deadline| deadline.at);
            recorder(entry);
        }
        if let Some(refused) = refused {
            self.on_refused(now, refused, out);
        }
    }
}

/// A packet that the endpoint did not take.
struct Refused {
    packet: Bytes,
    limit: u16,
    is_final: bool,
}

const fn is_heartbeat(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Heartbeat | FrameKind::HeartbeatReply)
}

/// Reads the peer's frame; its packet shares the memory of `bytes`. The path is the one on which it
/// came, which the session has checked.
fn decode(path: PathId, bytes: &Bytes) -> Option<Frame<Bytes>> {
    let frame = wire::decode(bytes).ok()?;
    let body = match frame.body {
        Body::Data(packet) => Body::Data(bytes.slice_ref(packet)),
        Body::Probe { data_len } => Body::Probe { data_len },
        Body::Pair { trailing, len } => Body::Pair { trailing, len },
        Body::Switch { to } => Body::Switch { to },
        Body::Heartbeat(purpose) => Body::Heartbeat(purpose),
        Body::HeartbeatReply(purpose) => Body::HeartbeatReply(purpose),
    };
    Some(Frame {
        path,
        epoch: frame.epoch,
        sequence: frame.sequence,
        sent: frame.sent,
        body,
    })
}

/// What the session with the peer says, of paths by a relay to that.
fn forward(now: Time, said: session::Output, relays: &mut Relays, out: &mut impl FnMut(Output)) {
    match said {
        session::Output::Send { path, datagram } | session::Output::Reply { path, datagram }
            if relays.has(path) =>
        {
            relays.send(now, path, &datagram, out);
        }
        session::Output::Send { path, datagram } => out(Output::Datagram { path, datagram }),
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
            Input::Datagram { path, datagram } => self.on_datagram(now, path, &datagram, out),
            Input::DriverBehind(present) => {
                let input = endpoint::Input::DriverBehind(present);
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Input::Adjust(to) => {
                let input = endpoint::Input::Adjust(to);
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Input::PeerAddressKnown(path) => self.session.reach(now, path),
            Input::WallClock(at_zero) => {
                self.session.set_wall_clock(at_zero);
                self.relays.set_wall_clock(at_zero);
            }
            Input::PathReachable(path) => {
                let input = endpoint::Input::PathReachable(path);
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
        // The frames of the endpoint may be those after which a handshake is due at once.
        if due(self.endpoint.deadline()) {
            self.wake_endpoint(now, Wake::Timeout, out);
        }
        if due(self.session.deadline()) {
            let (session, relays) = (&mut self.session, &mut self.relays);
            step(session, now, Wake::Timeout, &mut |said| {
                forward(now, said, relays, out);
            });
        }
        // What the others sent may be that after which a handshake with a relay is due at once.
        self.relays.handle_timeout(now, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let own = Deadline::earlier(self.session.deadline(), self.endpoint.deadline());
        Deadline::earlier(own, self.relays.deadline())
    }
}

#[cfg(test)]
mod tests;
