//! Violations of the invariants of streams.

use polypath_core::connections::{ReceptionFailure, StreamEnd};
use polypath_core::time::Duration;

/// A violated invariant of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamViolation {
    /// A packet was lost, or delivered twice or too early.
    #[error("packet {found} was delivered after packet {}", expected - 1)]
    WrongOrder {
        /// The packet that should have followed.
        expected: u64,
        /// The packet that did.
        found: u64,
    },
    /// No packet was delivered, although there was no fault.
    #[error("no packet after packet {delivered} was delivered for {:.1} s, although the last fault is long over", for_time.as_secs_f64())]
    Stalled {
        /// The last packet delivered.
        delivered: u64,
        /// The time since then.
        for_time: Duration,
    },
    /// The receiver gave up.
    #[error("the receiver gave up: {0:?}")]
    Failed(ReceptionFailure),
    /// The server sent more packets than the receiver had permitted.
    #[error(
        "connection {connection} carried {sent} packets, and the receiver permitted {permitted}"
    )]
    OverCredit {
        /// The connection.
        connection: u32,
        /// The number of packets sent on it.
        sent: u64,
        /// The number that the receiver had permitted.
        permitted: u64,
    },
    /// The server keeps more packets than the receiver buffers, or too many messages wait.
    #[error("the server keeps {kept} packets or messages, more than {capacity}")]
    OverCapacity {
        /// The number that it keeps.
        kept: usize,
        /// The number that it may keep.
        capacity: usize,
    },
    /// The receiver named another source than that of its stream.
    #[error("a hello names the source {0}")]
    UnknownSource(u64),
    /// The stream is slow, although there was no fault.
    #[error(
        "{delivered} packets were delivered in {:.0} s, and {expected} are expected, although the last fault is long over",
        in_time.as_secs_f64()
    )]
    Slow {
        /// The number of packets delivered.
        delivered: u64,
        /// The number that is expected.
        expected: u64,
        /// The time in which they were delivered.
        in_time: Duration,
    },
    /// The server ended the stream for a reason that does not hold.
    #[error("the server ended the stream ({0}) after packet {1}")]
    WrongEnd(StreamEnd, u64),
    /// The server did not end the stream.
    #[error("the server has not ended the stream, although its receiver ended long ago")]
    NeverEnded,
    /// The deadline of an end did not advance.
    #[error("a deadline did not advance: {0}")]
    StuckDeadline(&'static str),
}
