//! What must not happen.

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use crate::parcel::{Address, End, Host};
use crate::schedule::DELIVERED_WITHIN;

/// An invariant that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A packet was delivered more than once.
    #[error("packet {id} was delivered twice at {end}", end = end.name())]
    Twice {
        /// Where.
        end: End,
        /// The packet.
        id: u64,
    },
    /// A packet was delivered that the peer's applications did not send.
    #[error("a packet was delivered at {end} that nobody sent to there", end = end.name())]
    Forged {
        /// Where.
        end: End,
    },
    /// Somebody with another key read a packet.
    #[error("a packet was delivered to an impostor in the place of {end}", end = end.name())]
    Read {
        /// Whose place it has.
        end: End,
    },
    /// A packet did not arrive though a path had lived long enough.
    #[error(
        "packet {id} of {len} B to {end}, sent at {sent}, did not arrive, though a path had lived for {settled:.0} s before it \
         and {within:.0} s after",
        end = end.name(),
        settled = settled.as_secs_f64(),
        within = DELIVERED_WITHIN.as_secs_f64()
    )]
    Missing {
        /// Where it should have arrived.
        end: End,
        /// The packet.
        id: u64,
        /// Its length in bytes.
        len: u16,
        /// When it was sent.
        sent: Time,
        /// How long a path had lived by then at least.
        settled: Duration,
    },
    /// A node or a relay did something because of a datagram that was forged, changed or taken before.
    #[error("{host} acted on datagram #{id}, which is forged, changed or taken before", host = host.name())]
    Acted {
        /// Who did.
        host: Host,
        /// The datagram.
        id: u64,
    },
    /// A node or a relay sent to an address that is neither configured nor has proved a key.
    #[error("{host} sent to {to}, which has not proved its key", host = host.name())]
    Unproven {
        /// Who did.
        host: Host,
        /// Where it sent.
        to: Address,
    },
    /// A relay sent on more than came.
    #[error("a relay sent on {sent} B for the {came} B of datagram #{id}")]
    Amplified {
        /// The datagram.
        id: u64,
        /// Its length in bytes.
        came: usize,
        /// Length of what was sent on.
        sent: usize,
    },
    /// A node or a relay holds more than it may.
    #[error("{host} holds {held} things, more than it may", host = host.name())]
    Hoarded {
        /// Who does.
        host: Host,
        /// How much.
        held: usize,
    },
    /// A node takes packets to cross a path that do not.
    #[error("{end} takes packets of {found} B to cross path {path}, which carries at most {longest} B", end = end.name(), path = path.0)]
    Oversized {
        /// Which node.
        end: End,
        /// The path.
        path: PathId,
        /// The length that it found, in bytes.
        found: u16,
        /// The longest that crosses, in bytes.
        longest: u16,
    },
    /// A node did not find out how long packets cross a path.
    #[error("{end} found {found:?} B for path {path}, which carries {longest} B", end = end.name(), path = path.0)]
    Unsized {
        /// Which node.
        end: End,
        /// The path.
        path: PathId,
        /// The length that it found, in bytes.
        found: Option<u16>,
        /// The longest that crosses, in bytes.
        longest: u16,
    },
    /// The deadline of a node or a relay did not move on.
    #[error("the deadline of {host} does not move on: {why}", host = host.name())]
    Stuck {
        /// Whose.
        host: Host,
        /// What the deadline is for.
        why: &'static str,
    },
}
