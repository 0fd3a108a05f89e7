//! Checks of the outputs of a node for one datagram.

use bytes::Bytes;
use polypath_core::packet::{Ecn, TrafficClass};
use polypath_session::datagram::{COOKIE_REPLY, INITIATION};
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::tunnel::Output;

use super::Run;
use super::node_slot::NodeSlot;
use crate::datagram::{End, Host, Provenance, TestDatagram};
use crate::mutants::Mutant;
use crate::trace::TraceEvent;
use crate::violation::Violation;

impl Run<'_> {
    pub(super) fn mutate_outputs(&self, datagram: &TestDatagram, outputs: &mut Vec<Output>) {
        let is_rejection = |output: &Output| rejection(output).is_some();
        if self.mutant == Mutant::SendsOnRejected && outputs.iter().any(is_rejection) {
            outputs.push(Output::Datagram {
                path: datagram.to.path,
                datagram: Bytes::from_static(b"what is that?"),
                traffic_class: TrafficClass::DEFAULT,
            });
        }
        let is_answer = |output: &Output| matches!(output, Output::Reply { .. });
        if self.mutant == Mutant::AnswersFirstCopy && is_handshake_copy(outputs) {
            outputs.retain(|output| !is_answer(output));
        }
        if self.mutant == Mutant::LearnsFromInitiation && outputs.iter().any(is_answer) {
            let path = datagram.to.path;
            outputs.push(Output::Authenticated { path });
        }
    }

    /// Checks that a forged, modified or replayed datagram has no effect.
    pub(super) fn check_outputs(
        &mut self,
        end: End,
        datagram: &TestDatagram,
        outputs: &[Output],
    ) -> Result<(), Violation> {
        let id = datagram.id;
        let rejected = outputs.iter().find_map(rejection);
        self.progress.rejected = rejected;
        let is_sent_cookie = self.progress.cookies.contains(&datagram.bytes);
        let slot = self.slot(end);
        let is_old = slot.accepted.contains(&id);
        if datagram.provenance != Provenance::Genuine || is_old {
            let is_repeated = is_handshake_copy(outputs);
            let is_forbidden = |output: &Output| {
                let is_allowed = is_cookie(datagram, output)
                    || is_sent_cookie && is_repetition(datagram, output)
                    || is_repeated && slot.has_replied(output)
                    || datagram.provenance == Provenance::UnknownCopy && !is_old;
                is_accepted(output) || !is_allowed && sends(output)
            };
            if outputs.iter().any(is_forbidden) {
                let host = Host::Node(end);
                return Err(Violation::ActedOnForgery { host, id });
            }
        } else if rejected.is_none() || outputs.iter().any(is_from_relay) {
            self.slot(end).record_accepted(datagram);
            self.attacker.observe_accepted(Host::Node(end), datagram);
        }
        if let Some(reason) = rejected {
            let event = TraceEvent::Rejected(Host::Node(end), reason);
            self.trace.record(self.now, &event);
        }
        self.mutate_address(end, datagram, rejected.is_some())
    }

    /// Checks that the destination of an ECN-capable datagram would see a mark.
    pub(super) fn check_ecn(&self, datagram: &TestDatagram) -> Result<(), Violation> {
        let (host, id) = (datagram.to.host, datagram.id);
        if datagram.ecn.is_capable() && !self.schedule.ecn.is_received_by(host) {
            return Err(Violation::MarkWouldBeLost { host, id });
        }
        Ok(())
    }

    fn mutate_address(
        &mut self,
        end: End,
        datagram: &TestDatagram,
        rejected: bool,
    ) -> Result<(), Violation> {
        match self.mutant {
            Mutant::RepliesToRejected if rejected => {
                let reply = Bytes::from_static(b"who are you?");
                self.send(end, datagram.source, reply, Ecn::NotEct)
            }
            Mutant::LearnsUnauthenticated => self.learn_address(end, datagram.source),
            _ => Ok(()),
        }
    }
}

/// Whether the output only gives the sender of an initiation a cookie.
fn is_cookie(datagram: &TestDatagram, output: &Output) -> bool {
    let Output::Reply {
        datagram: reply, ..
    } = output
    else {
        return false;
    };
    datagram.bytes.first() == Some(&INITIATION)
        && reply.first() == Some(&COOKIE_REPLY)
        && reply.len() < datagram.bytes.len()
}

/// Whether the output only repeats an initiation with a cookie. Cookies are bound to no path: a
/// copy of one on another path is tried there.
fn is_repetition(datagram: &TestDatagram, output: &Output) -> bool {
    matches!(output, Output::Datagram { path, datagram: sent, .. }
        if *path == datagram.to.path && sent.first() == Some(&INITIATION))
}

fn rejection(output: &Output) -> Option<&'static str> {
    match output {
        Output::Session(SessionEvent::Rejected { reason, .. })
        | Output::Relay {
            event: SessionEvent::Rejected { reason, .. },
            ..
        } => Some(reason.name()),
        _ => None,
    }
}

/// Whether an initiation was rejected as a copy of one that was accepted.
fn is_handshake_copy(outputs: &[Output]) -> bool {
    let copy = Reject::HandshakeCopy.name();
    outputs.iter().any(|output| rejection(output) == Some(copy))
}

/// Whether the output sends a datagram.
fn sends(output: &Output) -> bool {
    matches!(output, Output::Datagram { .. } | Output::Reply { .. })
}

/// Whether the output accepts the datagram as authentic and new.
fn is_accepted(output: &Output) -> bool {
    matches!(output, Output::Packet(_) | Output::Authenticated { .. }) || is_from_relay(output)
}

/// Whether the output accepts the datagram as an authentic one of a relay.
fn is_from_relay(output: &Output) -> bool {
    matches!(output, Output::RelayAuthenticated { .. })
}

impl NodeSlot {
    /// Whether the output repeats a reply of this instance.
    fn has_replied(&self, output: &Output) -> bool {
        matches!(output, Output::Reply { datagram, .. } if self.replies.contains(datagram))
    }
}
