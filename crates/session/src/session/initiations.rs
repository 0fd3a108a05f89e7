//! Initiations of the peer: decrypted, validated and answered.
//!
//! The steps are separate because a relay decrypts an initiation before it knows whose session it
//! belongs to.

use polypath_core::frame::PathId;
use polypath_core::time::Time;

use super::attempts::Known;
use super::{InitiationError, Origin, Output, Session};
use crate::address::Source;
use crate::datagram::{Authenticator, InitiationMessage};
use crate::event::{Reject, SessionEvent};
use crate::handshake::ReceivedInitiation;

impl Session {
    /// Handles an initiation, and answers it if it is the peer's and new.
    pub(super) fn on_initiation(
        &mut self,
        now: Time,
        path: PathId,
        source: Source,
        message: &InitiationMessage<'_>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        let origin = Origin {
            path,
            source,
            is_peer_address: self.is_peer_address(path, source),
        };
        match self.read_initiation(now, &origin, message, None) {
            Ok(initiation) => {
                let ephemeral = initiation.ephemeral;
                let accepted = self.accept_initiation(now, path, initiation, out);
                if let Err(reason) = accepted {
                    self.remember_initiation(ephemeral, reason);
                }
                accepted
            }
            Err(InitiationError::Rejected(reason)) => Err(reason),
            Err(InitiationError::Replied(reason, datagram)) => {
                out(Output::Reply { path, datagram });
                Err(reason)
            }
            Err(InitiationError::NoEntropy) => {
                out(Output::Event(SessionEvent::NoEntropy));
                Ok(())
            }
        }
    }

    /// Decrypts an initiation, regardless of its sender. `other` is another session that it may belong
    /// to, under the same static key.
    pub(crate) fn read_initiation(
        &mut self,
        now: Time,
        origin: &Origin,
        message: &InitiationMessage<'_>,
        other: Option<&Session>,
    ) -> Result<ReceivedInitiation, InitiationError> {
        let known = match (self.recognise(message), other) {
            (Known::Nothing, Some(other)) => other.recognise(message),
            (known, _) => known,
        };
        let keys = [Some(&self.keys), other.map(|other| &other.keys)];
        let is_valid = |mac: &Authenticator<'_>| {
            let mut keys = keys.into_iter().flatten();
            keys.any(|keys| keys.verify_session_mac(mac))
        };
        (self.attempts).read_initiation(now, origin, message, known, is_valid)
    }

    /// Whether the newest authentic datagram on `path` came from `source`.
    pub(crate) fn is_peer_address(&self, path: PathId, source: Source) -> bool {
        self.sources.get(path.index()) == Some(&Some(source))
    }

    /// The relation of an initiation to the last accepted one, before it is decrypted.
    fn recognise(&self, message: &InitiationMessage<'_>) -> Known {
        let awaits_confirmation = |index| self.keys.awaits_confirmation(index);
        self.attempts.recognise(message, awaits_confirmation)
    }

    /// Remembers an authentic initiation if it is rejected as stale, so that copies of it are
    /// rejected before decryption.
    pub(crate) fn remember_initiation(&mut self, ephemeral: [u8; 32], reason: Reject) {
        self.attempts.remember(ephemeral, reason);
    }

    /// Whether an initiation is from this session's peer.
    pub(crate) fn is_from_peer(&self, initiation: &ReceivedInitiation) -> bool {
        self.attempts.is_from_peer(initiation)
    }

    /// Answers an initiation, if it is the peer's and new.
    pub(crate) fn accept_initiation(
        &mut self,
        now: Time,
        path: PathId,
        initiation: ReceivedInitiation,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        self.attempts.validate(now, &initiation)?;
        let is_used = |index| self.keys.contains_index(index);
        let Some(response) = self.attempts.respond(now, initiation, is_used) else {
            out(Output::Event(SessionEvent::NoEntropy));
            return Ok(());
        };
        let pair = self.key_pair(now, response.completed, response.index);
        self.keys.await_confirmation(pair);
        let datagram = response.datagram;
        self.send_on_all_paths(&datagram, Some(path), out);
        out(Output::Reply { path, datagram });
        Ok(())
    }
}
