//! Violations of the invariants.

use polypath_core::frame::PathId;
use polypath_core::packet::Ecn;
use polypath_core::time::{Duration, Time};

use crate::datagram::{Address, End, Host};
use crate::schedule::DELIVERY_TIME;
use crate::streams::StreamViolation;

/// A violated invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// One of a stream.
    #[error(transparent)]
    Stream(#[from] StreamViolation),
    /// A packet was delivered more than once.
    #[error("{end} delivered packet {id} twice", end = end.name())]
    DuplicateDelivery {
        /// The receiving node.
        end: End,
        /// The packet.
        id: u64,
    },
    /// A packet was delivered that the peer's applications did not send.
    #[error("{end} delivered a packet that its peer did not send", end = end.name())]
    ForgedDelivery {
        /// The receiving node.
        end: End,
    },
    /// A packet was delivered with an ECN field that neither the network nor a policy gave it.
    #[error("{end} delivered packet {id} with the ECN field {ecn:?}, which was sent with {sent:?}", end = end.name())]
    WrongEcn {
        /// The receiving node.
        end: End,
        /// The packet.
        id: u64,
        /// Its field when it was sent.
        sent: Ecn,
        /// Its field when it was delivered.
        ecn: Ecn,
    },
    /// A packet was delivered without the mark that the network gave it.
    #[error("{end} delivered packet {id} without the mark of the network", end = end.name())]
    LostMark {
        /// The receiving node.
        end: End,
        /// The packet.
        id: u64,
    },
    /// An ECN-capable datagram was sent to a node or a relay that would not see a mark.
    #[error("{host} does not receive ECN fields, but datagram #{id} to it is ECN-capable", host = host.name())]
    MarkWouldBeLost {
        /// The node or relay.
        host: Host,
        /// The datagram.
        id: u64,
    },
    /// An impostor with another key received a packet.
    #[error("a packet was delivered to an impostor of {end}", end = end.name())]
    DeliveredToImpostor {
        /// The node that it replaces.
        end: End,
    },
    /// A packet did not arrive although a path had worked for long enough.
    #[error(
        "packet {id} of {len} B to {end}, sent at {sent}, did not arrive, although a path worked for {settled:.0} s before and \
         {within:.0} s after it",
        end = end.name(),
        settled = settled.as_secs_f64(),
        within = DELIVERY_TIME.as_secs_f64()
    )]
    Missing {
        /// The receiving node.
        end: End,
        /// The packet.
        id: u64,
        /// Its length in bytes.
        len: u16,
        /// The time at which it was sent.
        sent: Time,
        /// The minimum time for which a path had worked by then.
        settled: Duration,
    },
    /// A forged, modified or replayed datagram had an effect on a node or a relay.
    #[error("{host} acted on datagram #{id}, which is forged, modified or replayed", host = host.name())]
    ActedOnForgery {
        /// The node or relay.
        host: Host,
        /// The datagram.
        id: u64,
    },
    /// A node or a relay sent to an address that is neither configured nor authenticated.
    #[error("{host} sent to {to}, which is not authenticated", host = host.name())]
    UnprovenDestination {
        /// The node or relay.
        host: Host,
        /// The destination.
        to: Address,
    },
    /// A node sent on a path that it or the peer has closed.
    #[error("{end} sent on path {path}, whose quota is used up", end = end.name(), path = path.0)]
    SentOnClosedPath {
        /// The node.
        end: End,
        /// The path.
        path: PathId,
    },
    /// A node sent a packet on a path that was ahead of its ceiling.
    #[error("{end} sent a packet on path {path}, which was ahead of its ceiling", end = end.name(), path = path.0)]
    ExceededCeiling {
        /// The node.
        end: End,
        /// The path.
        path: PathId,
    },
    /// A node or a relay sent a cookie to another address than the one that it covers.
    #[error("{host} sent {to} a cookie for another address", host = host.name())]
    MisdirectedCookie {
        /// The node or relay.
        host: Host,
        /// The destination.
        to: Address,
    },
    /// A relay forwarded more bytes than it received.
    #[error("a relay forwarded {sent} B for the {received} B of datagram #{id}")]
    Amplified {
        /// The datagram.
        id: u64,
        /// Its length in bytes.
        received: usize,
        /// The length of the forwarded datagrams in bytes.
        sent: usize,
    },
    /// A node or a relay exceeds its capacity.
    #[error("{host} buffers {buffered} items, more than its capacity", host = host.name())]
    OverCapacity {
        /// The node or relay.
        host: Host,
        /// The number of buffered items.
        buffered: usize,
    },
    /// A node assumes a path MTU larger than the real one.
    #[error("{end} assumes an MTU of {found} B for path {path}, which carries at most {longest} B", end = end.name(), path = path.0)]
    MtuTooLarge {
        /// The node.
        end: End,
        /// The path.
        path: PathId,
        /// The discovered MTU in bytes.
        found: u16,
        /// The longest packet that the path carries, in bytes.
        longest: u16,
    },
    /// A node did not discover the MTU of a path.
    #[error("{end} discovered an MTU of {found:?} B for path {path}, which carries {longest} B", end = end.name(), path = path.0)]
    MtuNotFound {
        /// The node.
        end: End,
        /// The path.
        path: PathId,
        /// The discovered MTU in bytes.
        found: Option<u16>,
        /// The longest packet that the path carries, in bytes.
        longest: u16,
    },
    /// The deadline of a node or a relay did not advance.
    #[error("the deadline of {host} does not advance: {why}", host = host.name())]
    StuckDeadline {
        /// The node or relay.
        host: Host,
        /// The reason for the deadline.
        why: &'static str,
    },
}
