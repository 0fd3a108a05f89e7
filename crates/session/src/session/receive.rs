//! Datagrams from the network: parsed, opened, and handled by their type.

use polypath_core::frame::PathId;
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;

use super::{HELLO_REPLY, Output, Session};
use crate::address::Source;
use crate::datagram::{self, Datagram, Transport};
use crate::event::{Reject, SessionEvent};
use crate::keyring::Slot;

impl Session {
    /// Handles a datagram from the network.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        path: PathId,
        source: Source,
        bytes: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        if let Err(reason) = self.try_receive(now, path, source, bytes, out) {
            self.reject(path, reason, out);
        }
    }

    fn try_receive(
        &mut self,
        now: Time,
        path: PathId,
        source: Source,
        bytes: &[u8],
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        if path.index() >= self.reachable.len() {
            return Err(Reject::UnknownPath);
        }
        if bytes.len() > self.max_datagram {
            return Err(Reject::Oversized);
        }
        match datagram::parse(bytes)? {
            Datagram::Transport(datagram) => self.on_transport(now, path, source, &datagram, out),
            Datagram::Initiation(_) if !self.answers => Err(Reject::UnexpectedInitiation),
            Datagram::Initiation(message) => self.on_initiation(now, path, source, &message, out),
            Datagram::Response { receiver, message } => {
                let (index, completed) = self.attempts.complete(now, path, receiver, &message)?;
                self.emit_authenticated(path, source, out);
                self.on_completed(now, index, completed, out);
                Ok(())
            }
            Datagram::Cookie(reply) => {
                if let Some(datagram) = self.attempts.on_cookie(now, path, &reply)? {
                    out(Output::Send {
                        path,
                        datagram,
                        traffic_class: TrafficClass::DEFAULT,
                    });
                }
                Ok(())
            }
        }
    }

    fn on_transport(
        &mut self,
        now: Time,
        path: PathId,
        source: Source,
        datagram: &Transport<'_>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        let (slot, pair) = self
            .keys
            .find(datagram.receiver)
            .ok_or(Reject::UnknownIndex)?;
        let frame = pair.open(path, datagram, &mut self.arena)?;
        self.emit_authenticated(path, source, out);
        if slot == Slot::Next {
            self.attempts.on_confirmed();
            if self.keys.confirm(now, &self.limits) {
                out(Output::Event(SessionEvent::PeerRestarted));
            }
            self.established(now, false, out);
        }
        // A datagram under retired keys does not prove that the peer has the new ones.
        if slot != Slot::Previous {
            self.attempts.on_proven();
            self.hellos.on_received(path);
        }
        match &frame[..] {
            [] => self.send_hello(path, HELLO_REPLY, out),
            HELLO_REPLY => {}
            _ => {
                self.counters.opened += 1;
                out(Output::Opened { path, frame });
            }
        }
        Ok(())
    }

    fn emit_authenticated(&mut self, path: PathId, source: Source, out: &mut impl FnMut(Output)) {
        self.reachable[path.index()] = true;
        self.sources[path.index()] = Some(source);
        out(Output::Authenticated { path });
    }
}
