//! Checks of the outputs of a node for one datagram.

use bytes::Bytes;
use polypath_session::datagram::{COOKIE_REPLY, INITIATION};
use polypath_session::event::SessionEvent;
use polypath_session::tunnel::Output;

use super::Run;
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
            });
        }
        let is_answer = |output: &Output| matches!(output, Output::Reply { .. });
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
        let is_old = self.slot(end).accepted.contains(&id);
        if datagram.provenance != Provenance::Genuine || is_old {
            let outputs = outputs.iter().filter(|output| !is_cookie(datagram, output));
            let is_forbidden = if datagram.provenance == Provenance::PreviousInstance && !is_old {
                is_accepted
            } else {
                has_effect
            };
            if outputs.into_iter().any(is_forbidden) {
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

    fn mutate_address(
        &mut self,
        end: End,
        datagram: &TestDatagram,
        rejected: bool,
    ) -> Result<(), Violation> {
        match self.mutant {
            Mutant::RepliesToRejected if rejected => {
                self.send(end, datagram.source, Bytes::from_static(b"who are you?"))
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

/// Whether the output sends a datagram, or accepts the received one.
fn has_effect(output: &Output) -> bool {
    use Output::{Datagram, Reply};
    matches!(output, Datagram { .. } | Reply { .. }) || is_accepted(output)
}

/// Whether the output accepts the datagram as authentic and new.
fn is_accepted(output: &Output) -> bool {
    matches!(output, Output::Packet(_) | Output::Authenticated { .. }) || is_from_relay(output)
}

/// Whether the output accepts the datagram as an authentic one of a relay.
fn is_from_relay(output: &Output) -> bool {
    matches!(output, Output::RelayAuthenticated { .. })
}
