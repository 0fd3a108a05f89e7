//! The fragments that an endpoint receives.

use super::Endpoint;
use super::io::Output;
use super::receiver::FrameHeader;
use crate::event::{DropReason, Event};
use crate::fragment::{FragmentHeader, FragmentStatistics, ReassemblyOutcome};
use crate::frame::{Attempt, Body, Frame, Payload};
use crate::time::Time;

impl<P: Payload> Endpoint<P> {
    /// The counters of packets that arrived in fragments; `None` if none has.
    #[must_use]
    pub fn fragment_statistics(&self) -> Option<FragmentStatistics> {
        Some(self.reassembly.as_ref()?.statistics())
    }

    /// The packet that a frame of the peer would complete, if it is its last fragment that is
    /// needed. For a recording, which has to state what the endpoint examines.
    #[must_use]
    pub fn completed_by(&self, frame: &Frame<P>) -> Option<P> {
        let Body::Fragment { header, payload } = &frame.body else {
            return None;
        };
        let reassembly = self.reassembly.as_ref()?;
        reassembly.completed_by(frame.sequence, *header, payload.clone())
    }

    /// Handles a fragment: delivers its packet if it is complete.
    #[cold]
    pub(super) fn on_fragment(
        &mut self,
        now: Time,
        header: FrameHeader,
        fragment: FragmentHeader,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        if !self.receiver.on_fragment(now, header, fragment, out) {
            return;
        }
        let reassembly = self.reassembly.get_or_insert_default();
        let refused = match reassembly.offer(header.sequence, fragment, payload) {
            ReassemblyOutcome::Kept => return,
            ReassemblyOutcome::Restored { packet, outer } => {
                let receiver = &mut self.receiver;
                let packet = receiver.on_restored(now, header, packet, outer, out);
                if packet.is_some() {
                    self.spacing.on_arrival(now, header, Attempt::First);
                }
                return self.put_in_order(now, header.sequence, packet, false, out);
            }
            ReassemblyOutcome::Behind => DropReason::BehindWindow,
            ReassemblyOutcome::Duplicate => DropReason::Duplicate,
            ReassemblyOutcome::Inconsistent => DropReason::InconsistentFragment,
        };
        out(Output::Event(Event::Dropped {
            reason: refused,
            len: fragment.fragment_len().into(),
        }));
    }

    /// Discards the fragments of a peer that has restarted.
    pub(super) fn restart_reassembly(&mut self) {
        if let Some(reassembly) = &mut self.reassembly {
            reassembly.restart();
        }
    }
}
