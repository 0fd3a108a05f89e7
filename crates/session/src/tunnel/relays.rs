//! The sessions with the relays of relayed paths.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;

use super::Output;
use crate::address::Source;
use crate::datagram::INITIATION;
use crate::event::SessionEvent;
use crate::handshake::ECN;
use crate::session::{self, Session};

/// The only path of a session with a relay.
const PATH: PathId = PathId(0);

/// For each path, the session with its relay, if it uses one.
pub(super) struct RelaySessions(Vec<Option<RelaySession>>);

/// The session with the relay of one path.
struct RelaySession {
    session: Session,
    /// The newest initiation to the peer from before the session with the relay was established.
    /// Nothing else is queued here: frames wait for the handshake with the peer.
    initiation: Option<Bytes>,
}

/// The result of receiving a datagram of a relay.
pub(super) struct Received {
    /// Whether it established a new session with the relay.
    pub(super) is_new_session: bool,
    /// The datagram of the peer in it.
    pub(super) datagram: Option<Bytes>,
}

impl RelaySessions {
    pub(super) fn none(paths: usize) -> Self {
        Self((0..paths).map(|_| None).collect())
    }

    pub(super) fn add(&mut self, path: PathId, session: Session) {
        if let Some(relay) = self.0.get_mut(path.index()) {
            *relay = Some(RelaySession {
                session,
                initiation: None,
            });
        }
    }

    fn get(&self, path: PathId) -> Option<&RelaySession> {
        self.0.get(path.index())?.as_ref()
    }

    fn get_mut(&mut self, path: PathId) -> Option<&mut RelaySession> {
        self.0.get_mut(path.index())?.as_mut()
    }

    /// Whether `path` uses a relay.
    pub(super) fn has(&self, path: PathId) -> bool {
        self.get(path).is_some()
    }

    pub(super) fn session(&self, path: PathId) -> Option<&Session> {
        self.get(path).map(|relay| &relay.session)
    }

    /// Renews the keys of the relay of `path`, if the path uses one, because it does not answer.
    pub(super) fn request_rekey(&mut self, now: Time, path: PathId) {
        if let Some(relay) = self.get_mut(path) {
            relay.session.request_rekey(now);
        }
    }

    /// Sets the wall clock of all sessions ([`Session::set_wall_clock`]).
    pub(super) fn set_wall_clock(&mut self, at_zero: u64) {
        let all = self.0.iter_mut().flatten();
        all.for_each(|relay| relay.session.set_wall_clock(at_zero));
    }

    /// Whether a datagram on `path` would be sent immediately.
    pub(super) fn can_send(&self, path: PathId) -> bool {
        let relay = self.get(path);
        relay.is_none_or(|relay| relay.session.is_established())
    }

    /// Whether marks of datagrams on `path` reach the peer, as far as its relay is concerned.
    pub(super) fn passes_on_ecn(&self, path: PathId) -> bool {
        let relay = self.get(path);
        relay.is_none_or(|relay| relay.session.features() & ECN != 0)
    }

    pub(super) fn buffered(&self) -> usize {
        let buffered = |relay: &RelaySession| {
            relay.session.buffered() + usize::from(relay.initiation.is_some())
        };
        self.0.iter().flatten().map(buffered).sum()
    }

    pub(super) fn capacity(&self) -> usize {
        self.0.iter().flatten().count() * (session::CAPACITY + 1)
    }

    /// Sends a datagram, whose outer header has this traffic class, to the peer through the relay of `path`.
    pub(super) fn send(
        &mut self,
        now: Time,
        path: PathId,
        datagram: &Bytes,
        traffic_class: TrafficClass,
        out: &mut impl FnMut(Output),
    ) {
        if let Some(relay) = self.get_mut(path) {
            relay.send(now, datagram, traffic_class, &mut |output| {
                forward(path, output, out);
            });
        }
    }

    /// Handles a datagram received on `path`; `None` if the path uses no relay.
    pub(super) fn receive(
        &mut self,
        now: Time,
        path: PathId,
        source: Source,
        datagram: &[u8],
        out: &mut impl FnMut(Output),
    ) -> Option<Received> {
        let relay = self.get_mut(path)?;
        Some(relay.receive(now, source, datagram, &mut |output| {
            forward(path, output, out);
        }))
    }

    pub(super) fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        for (path, relay) in (0..).map(PathId).zip(&mut self.0) {
            let session = relay.as_mut().map(|relay| &mut relay.session);
            let is_due = |session: &&mut Session| session.deadline().is_some_and(|d| d.at <= now);
            if let Some(session) = session.filter(is_due) {
                step(session, now, Wake::Timeout, &mut |output| {
                    forward(path, output, out);
                });
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let all = self.0.iter().flatten();
        let deadlines = all.map(|relay| relay.session.deadline());
        deadlines.fold(None, Deadline::earlier)
    }
}

impl RelaySession {
    fn send(
        &mut self,
        now: Time,
        datagram: &Bytes,
        traffic_class: TrafficClass,
        out: &mut impl FnMut(session::Output),
    ) {
        if self.session.is_established() {
            self.session.seal(now, PATH, datagram, traffic_class, out);
        } else if datagram.first() == Some(&INITIATION) {
            self.initiation = Some(datagram.clone());
        } else {
            self.session.discard(out);
        }
    }

    fn receive(
        &mut self,
        now: Time,
        source: Source,
        datagram: &[u8],
        out: &mut impl FnMut(session::Output),
    ) -> Received {
        let mut received = Received {
            is_new_session: false,
            datagram: None,
        };
        self.session
            .receive(now, PATH, source, datagram, &mut |output| match output {
                session::Output::Opened { frame, .. } => received.datagram = Some(frame),
                output => {
                    let established = SessionEvent::Established { initiator: true };
                    received.is_new_session |= output == session::Output::Event(established);
                    out(output);
                }
            });
        if received.is_new_session
            && let Some(initiation) = self.initiation.take()
        {
            self.session
                .seal(now, PATH, &initiation, TrafficClass::DEFAULT, out);
        }
        received
    }
}

/// Passes on an output of the session with the relay of `path`.
fn forward(path: PathId, output: session::Output, out: &mut impl FnMut(Output)) {
    use session::Output::{Authenticated, Event, Opened, Reply, Send};
    match output {
        Send {
            datagram,
            traffic_class,
            ..
        } => out(Output::Datagram {
            path,
            datagram,
            traffic_class,
        }),
        Authenticated { .. } => out(Output::RelayAuthenticated { path }),
        Event(SessionEvent::Rejected { reason, .. }) => {
            let event = SessionEvent::Rejected { path, reason };
            out(Output::Relay { path, event });
        }
        Event(event) => out(Output::Relay { path, event }),
        // The session answers no handshake, so there is no `Reply`.
        Reply { .. } | Opened { .. } => {}
    }
}
