//! The events of a simulation.

use polypath_core::event::Event;
use polypath_core::time::Time;

use crate::world::{BackgroundBytes, Side};

/// An event in the simulation of one scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum SimEvent {
    /// An endpoint of the overlay reports an event, as a deployed node would.
    Overlay {
        /// The side of the endpoint.
        side: Side,
        /// The event.
        event: Event,
    },
    /// The client sent its first SYN.
    TransferStarted {
        /// The transfer, from 0; transfers of the same round start at the same time in all schemes.
        round: u32,
    },
    /// More of the file has arrived in order: the playable size of the PPD paper's Figure 5.
    Progress {
        /// The transfer.
        round: u32,
        /// Bytes of the file that have arrived in order.
        bytes: u64,
    },
    /// The last byte has arrived in order, or the transfer has timed out.
    TransferFinished {
        /// The transfer.
        round: u32,
        /// False after a timeout.
        ok: bool,
    },
    /// A round is over: the next one starts now, in all schemes.
    RoundOver {
        /// The transfer.
        round: u32,
        /// The bytes of background traffic delivered since the round started. The interval is the
        /// same in all schemes, so their values can be compared.
        background: BackgroundBytes,
    },
}

/// Receives the events of the simulations of all schemes.
///
/// Times do not decrease within a scheme; between schemes they do, since the schemes take turns.
pub trait Observer {
    /// Receives an event of the scheme at position `scheme` of the scenario.
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent);
}

/// Ignores all events.
impl Observer for () {
    fn on_event(&mut self, _scheme: usize, _at: Time, _event: &SimEvent) {}
}

impl<F: FnMut(usize, Time, &SimEvent)> Observer for F {
    fn on_event(&mut self, scheme: usize, at: Time, event: &SimEvent) {
        self(scheme, at, event);
    }
}
