//! Events of the calendar.

use crate::route::AgentEnd;

/// The event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet comes to the end of a link.
    Arrival(u32),
    /// A link that holds packets wants to be woken.
    Link(u32),
    /// A background TCP source wants to be woken.
    Source(u32),
    /// A background TCP sink wants to be woken.
    Sink(u32),
    /// A background UDP source wants to be woken.
    Datagrams(u32),
    /// A timer of one end of an agent expires.
    Agent(AgentEnd),
    /// An application changes the receiver window of a TCP sink.
    ReceiverWindow(u32),
}
