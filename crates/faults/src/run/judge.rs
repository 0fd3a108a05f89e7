//! What a node may say to what it takes.

use bytes::Bytes;
use polypath_session::event::SessionEvent;
use polypath_session::tunnel::Output;

use super::Run;
use crate::parcel::{End, Host, Parcel, Truth};
use crate::sabotage::Sabotage;
use crate::trace::Entry;
use crate::violation::Violation;

impl Run<'_> {
    pub(super) fn provoke(&self, parcel: &Parcel, said: &mut Vec<Output>) {
        let is_rejection = |output: &Output| rejection(output).is_some();
        if self.sabotage == Sabotage::ActsOnForgeries && said.iter().any(is_rejection) {
            said.push(Output::Datagram {
                path: parcel.to.path,
                datagram: Bytes::from_static(b"what is that?"),
            });
        }
        let is_answer = |output: &Output| matches!(output, Output::Reply { .. });
        if self.sabotage == Sabotage::BelievesHandshakes && said.iter().any(is_answer) {
            let path = parcel.to.path;
            said.push(Output::Authenticated { path });
        }
    }

    /// Nothing may follow from a datagram that is forged, changed or taken before.
    pub(super) fn judge(
        &mut self,
        end: End,
        parcel: &Parcel,
        said: &[Output],
    ) -> Result<(), Violation> {
        let id = parcel.id;
        let rejected = said.iter().find_map(rejection);
        let is_old = self.site(end).taken.contains(&id);
        if parcel.truth != Truth::Genuine || is_old {
            let acts = if parcel.truth == Truth::Old && !is_old {
                believes
            } else {
                acts
            };
            if said.iter().any(acts) {
                let host = Host::Node(end);
                return Err(Violation::Acted { host, id });
            }
        } else if rejected.is_none() || said.iter().any(is_relayed) {
            self.site(end).take(parcel);
            self.stranger.see_taken(Host::Node(end), parcel);
        }
        if let Some(reason) = rejected {
            let entry = Entry::Rejected(Host::Node(end), reason);
            self.trace.note(self.now, &entry);
        }
        self.sabotage_address(end, parcel, rejected.is_some())
    }

    fn sabotage_address(
        &mut self,
        end: End,
        parcel: &Parcel,
        rejected: bool,
    ) -> Result<(), Violation> {
        match self.sabotage {
            Sabotage::AnswersStrangers if rejected => {
                self.send(end, parcel.source, Bytes::from_static(b"who are you?"))
            }
            Sabotage::FollowsAnybody => self.follow(end, parcel.source),
            _ => Ok(()),
        }
    }
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

/// Whether anybody outside hears of it.
fn acts(output: &Output) -> bool {
    use Output::{Datagram, Reply};
    matches!(output, Datagram { .. } | Reply { .. }) || believes(output)
}

/// Whether the datagram just taken counts as the peer's own and new.
fn believes(output: &Output) -> bool {
    matches!(output, Output::Packet(_) | Output::Authenticated { .. }) || is_relayed(output)
}

/// Whether the datagram just taken opened as one of a relay, whatever it brought of the peer.
fn is_relayed(output: &Output) -> bool {
    matches!(output, Output::RelayAuthenticated { .. })
}
