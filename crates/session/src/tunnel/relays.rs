//! The sessions with the relays of those paths that go by one.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::Time;

use super::Output;
use crate::datagram::INITIATION;
use crate::event::SessionEvent;
use crate::session::{self, Session};

/// The path of a session with a relay.
const PATH: PathId = PathId(0);

/// For each path the session with its relay, if it goes by one.
pub(super) struct Relays(Vec<Option<Relayed>>);

/// A path by a relay.
struct Relayed {
    session: Session,
    /// The newest initiation to the peer that came before the relay's session stood. Nothing else waits: a handshake with the
    /// peer comes first, and frames wait for that.
    initiation: Option<Bytes>,
}

/// What a datagram of a relay brought.
pub(super) struct Heard {
    /// Whether the relay's session stands anew.
    pub(super) is_new: bool,
    /// A datagram of the peer.
    pub(super) datagram: Option<Bytes>,
}

impl Relays {
    pub(super) fn none(paths: usize) -> Self {
        Self((0..paths).map(|_| None).collect())
    }

    pub(super) fn add(&mut self, path: PathId, session: Session) {
        if let Some(relayed) = self.0.get_mut(path.index()) {
            *relayed = Some(Relayed {
                session,
                initiation: None,
            });
        }
    }

    fn get(&self, path: PathId) -> Option<&Relayed> {
        self.0.get(path.index())?.as_ref()
    }

    fn get_mut(&mut self, path: PathId) -> Option<&mut Relayed> {
        self.0.get_mut(path.index())?.as_mut()
    }

    /// Whether `path` goes by a relay.
    pub(super) fn has(&self, path: PathId) -> bool {
        self.get(path).is_some()
    }

    pub(super) fn session(&self, path: PathId) -> Option<&Session> {
        self.get(path).map(|relayed| &relayed.session)
    }

    /// Nothing comes back by the relay of `path`, if it goes by one.
    pub(super) fn request_rekey(&mut self, now: Time, path: PathId) {
        if let Some(relayed) = self.get_mut(path) {
            relayed.session.request_rekey(now);
        }
    }

    /// The wall clock was set ([`Session::set_wall_clock`]).
    pub(super) fn set_wall_clock(&mut self, at_zero: u64) {
        let all = self.0.iter_mut().flatten();
        all.for_each(|relayed| relayed.session.set_wall_clock(at_zero));
    }

    /// Whether what is sent on `path` leaves now.
    pub(super) fn carries(&self, path: PathId) -> bool {
        let relayed = self.get(path);
        relayed.is_none_or(|relayed| relayed.session.is_established())
    }

    pub(super) fn buffered(&self) -> usize {
        let held = |relayed: &Relayed| {
            relayed.session.buffered() + usize::from(relayed.initiation.is_some())
        };
        self.0.iter().flatten().map(held).sum()
    }

    pub(super) fn capacity(&self) -> usize {
        self.0.iter().flatten().count() * (session::CAPACITY + 1)
    }

    /// Sends a datagram to the peer by the relay of `path`.
    pub(super) fn send(
        &mut self,
        now: Time,
        path: PathId,
        datagram: &Bytes,
        out: &mut impl FnMut(Output),
    ) {
        if let Some(relayed) = self.get_mut(path) {
            relayed.send(now, datagram, &mut |said| tell(path, said, out));
        }
    }

    /// Takes a datagram that came on `path`; nothing where that goes by no relay.
    pub(super) fn receive(
        &mut self,
        now: Time,
        path: PathId,
        datagram: &[u8],
        out: &mut impl FnMut(Output),
    ) -> Option<Heard> {
        let relayed = self.get_mut(path)?;
        Some(relayed.receive(now, datagram, &mut |said| tell(path, said, out)))
    }

    pub(super) fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        for (path, relayed) in (0..).map(PathId).zip(&mut self.0) {
            let session = relayed.as_mut().map(|relayed| &mut relayed.session);
            let is_due = |session: &&mut Session| session.deadline().is_some_and(|d| d.at <= now);
            if let Some(session) = session.filter(is_due) {
                step(session, now, Wake::Timeout, &mut |said| {
                    tell(path, said, out);
                });
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let all = self.0.iter().flatten();
        let deadlines = all.map(|relayed| relayed.session.deadline());
        deadlines.fold(None, Deadline::earlier)
    }
}

impl Relayed {
    fn send(&mut self, now: Time, datagram: &Bytes, out: &mut impl FnMut(session::Output)) {
        if self.session.is_established() {
            self.session.seal(now, PATH, datagram, out);
        } else if datagram.first() == Some(&INITIATION) {
            self.initiation = Some(datagram.clone());
        } else {
            self.session.discard(out);
        }
    }

    fn receive(
        &mut self,
        now: Time,
        datagram: &[u8],
        out: &mut impl FnMut(session::Output),
    ) -> Heard {
        let mut heard = Heard {
            is_new: false,
            datagram: None,
        };
        self.session
            .receive(now, PATH, datagram, &mut |said| match said {
                session::Output::Opened { frame, .. } => heard.datagram = Some(frame),
                said => {
                    let established = SessionEvent::Established { initiator: true };
                    heard.is_new |= said == session::Output::Event(established);
                    out(said);
                }
            });
        if heard.is_new
            && let Some(initiation) = self.initiation.take()
        {
            self.session.seal(now, PATH, &initiation, out);
        }
        heard
    }
}

/// What the session with the relay of `path` says.
fn tell(path: PathId, said: session::Output, out: &mut impl FnMut(Output)) {
    use session::Output::{Authenticated, Event, Opened, Reply, Send};
    match said {
        // A relay begins no handshake, so that there is nothing to answer.
        Send { datagram, .. } | Reply { datagram, .. } => out(Output::Datagram { path, datagram }),
        Authenticated { .. } => out(Output::RelayAuthenticated { path }),
        Event(SessionEvent::Rejected { reason, .. }) => {
            let event = SessionEvent::Rejected { path, reason };
            out(Output::Relay { path, event });
        }
        Event(event) => out(Output::Relay { path, event }),
        Opened { .. } => {}
    }
}
