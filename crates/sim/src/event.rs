//! Events of the calendar.

use crate::route::AgentEnd;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet arrives at the end of a link.
    Arrival(u32),
    /// The timer of a link that holds packets expires.
    Link(u32),
    /// The timer of a background TCP source expires.
    Source(u32),
    /// The timer of a background TCP sink expires.
    Sink(u32),
    /// The timer of a background UDP source expires.
    Datagrams(u32),
    /// A timer of one end of an agent expires.
    Agent(AgentEnd),
    /// An application changes the receiver window of a TCP sink.
    ReceiverWindow(u32),
}
