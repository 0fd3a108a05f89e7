//! Initiations of the peer: decrypted, validated and answered.
//!
//! The steps are separate because a relay decrypts an initiation before it knows whose session it
//! belongs to.

use polypath_core::frame::PathId;
use polypath_core::time::Time;

use super::{InitiationError, Output, Session};
use crate::datagram::Handshake;
use crate::event::{Reject, SessionEvent};
use crate::handshake::ReceivedInitiation;

impl Session {
    /// Handles an initiation, and answers it if it is the peer's and new.
    pub(super) fn on_initiation(
        &mut self,
        now: Time,
        path: PathId,
        message: &Handshake<'_>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        match self.read_initiation(now, path, message) {
            Ok(initiation) => {
                let ephemeral = initiation.ephemeral;
                let accepted = self.accept_initiation(now, path, initiation, out);
                if accepted == Err(Reject::StaleTimestamp) {
                    self.remember_stale(ephemeral);
                }
                accepted
            }
            Err(InitiationError::Rejected(reason)) => Err(reason),
            Err(InitiationError::NoEntropy) => {
                out(Output::Event(SessionEvent::NoEntropy));
                Ok(())
            }
        }
    }

    /// Decrypts an initiation, regardless of its sender.
    pub(crate) fn read_initiation(
        &mut self,
        now: Time,
        path: PathId,
        message: &Handshake<'_>,
    ) -> Result<ReceivedInitiation, InitiationError> {
        self.attempts.read_initiation(now, path, message)
    }

    /// Whether this is a copy of the last accepted initiation.
    pub(crate) fn is_duplicate(&self, message: &Handshake<'_>) -> bool {
        self.attempts.is_duplicate(message)
    }

    /// Remembers a stale initiation, so that copies of it are rejected before decryption.
    pub(crate) fn remember_stale(&mut self, ephemeral: [u8; 32]) {
        self.attempts.remember_stale(ephemeral);
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
        self.attempts.validate(now, path, &initiation)?;
        let is_used = |index| self.keys.contains_index(index);
        let Some(response) = self.attempts.respond(now, initiation, is_used) else {
            out(Output::Event(SessionEvent::NoEntropy));
            return Ok(());
        };
        let pair = self.key_pair(now, response.completed, response.index, out);
        self.keys.await_confirmation(pair);
        let datagram = response.datagram;
        self.send_on_all_paths(&datagram, Some(path), out);
        out(Output::Reply { path, datagram });
        Ok(())
    }
}
