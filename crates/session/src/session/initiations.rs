//! Initiations of the peer: read, judged and answered. A relay reads one before it knows whose it is.

use polypath_core::frame::PathId;
use polypath_core::time::Time;

use super::{Output, Refusal, Session};
use crate::datagram::Handshake;
use crate::event::{Reject, SessionEvent};
use crate::handshake::Opened;

impl Session {
    /// Takes an initiation, and answers it if it is the peer's and new.
    pub(super) fn on_initiation(
        &mut self,
        now: Time,
        path: PathId,
        message: &Handshake<'_>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        match self.read_initiation(now, path, message) {
            Ok(opened) => {
                let ephemeral = opened.ephemeral;
                let taken = self.take_initiation(now, path, opened, out);
                if taken == Err(Reject::StaleTimestamp) {
                    self.remember_stale(ephemeral);
                }
                taken
            }
            Err(Refusal::Rejected(reason)) => Err(reason),
            Err(Refusal::NoEntropy) => {
                out(Output::Event(SessionEvent::NoEntropy));
                Ok(())
            }
        }
    }

    /// Reads an initiation, of whomever it is.
    pub(crate) fn read_initiation(
        &mut self,
        now: Time,
        path: PathId,
        message: &Handshake<'_>,
    ) -> Result<Opened, Refusal> {
        self.attempts.read(now, path, message)
    }

    /// Whether this is the initiation that was taken last.
    pub(crate) fn is_copy(&self, message: &Handshake<'_>) -> bool {
        self.attempts.is_copy(message)
    }

    /// Knows an old initiation again from now on, before it is read.
    pub(crate) fn remember_stale(&mut self, ephemeral: [u8; 32]) {
        self.attempts.remember_stale(ephemeral);
    }

    /// Whether an initiation is the peer's.
    pub(crate) fn is_with(&self, opened: &Opened) -> bool {
        self.attempts.is_with(opened)
    }

    /// Answers an initiation, if it is the peer's and new.
    pub(crate) fn take_initiation(
        &mut self,
        now: Time,
        path: PathId,
        opened: Opened,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        self.attempts.judge(path, &opened)?;
        let taken = |index| self.keys.knows(index);
        let Some((index, datagram, agreed)) = self.attempts.answer(now, opened, taken) else {
            out(Output::Event(SessionEvent::NoEntropy));
            return Ok(());
        };
        let pair = self.pair(now, agreed, index, out);
        self.keys.await_confirmation(pair);
        self.send_everywhere(&datagram, Some(path), out);
        out(Output::Reply { path, datagram });
        Ok(())
    }
}
