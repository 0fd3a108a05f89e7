//! Both ends of a stream over TCP connections that fail, under faults drawn from one seed.
//!
//! # Model
//!
//! A [`Reception`](polypath_core::connections::Reception) and a
//! [`ServedStream`](polypath_core::connections::ServedStream) are those of `polypath stream get` and
//! `serve`, without sockets. A connection delivers messages in order, in a window that the receiver
//! sets, over a link that all share. It may be reset, carry nothing any more without a sign to one
//! end or both, be ended in order by a device on the way, and take long to open. The server may
//! restart without its streams, the network may carry nothing for a while, and the receiver may stall.
//!
//! # Invariants
//!
//! * Each packet is delivered once, in order, and is the one that the source has.
//! * From [`SETTLING_TIME`] after the last fault on, a packet is delivered at least every
//!   [`LONGEST_GAP`], until the stream is complete.
//! * Over each [`RATE_INTERVAL`] it then has at least a quarter of its rate, times the part of its
//!   connections that the server takes.
//! * No stream fails whose receiver is patient.
//! * The server sends no packet that the receiver has not permitted, keeps no more than the receiver
//!   buffers, and queues a bounded number of messages for a connection.
//! * The server ends a stream as complete only if it is, and within [`ENDING_TIME`] after its receiver
//!   has ended.
//! * The deadline of a machine advances whenever it was woken for it.

mod connection;
mod coverage;
mod mutants;
mod network;
mod receiver;
mod run;
mod schedule;
mod server;
mod violation;

pub use coverage::StreamCoverage;
pub use mutants::StreamMutant;
pub use run::{StreamOptions, run_stream};
pub use schedule::{StreamFault, StreamFaultKind, StreamSchedule};
pub use violation::StreamViolation;

use polypath_core::time::Duration;

/// The time from the last fault to the first delivery: a connection that carries nothing fails after
/// up to 12 s, its replacement may wait for 5 s, and an attempt to open one may take 10 s before that.
pub const SETTLING_TIME: Duration = Duration::from_secs(30);
/// The longest time without a delivery afterwards.
pub const LONGEST_GAP: Duration = Duration::from_secs(5);
/// The interval over which a stream then has at least a quarter of its rate.
pub const RATE_INTERVAL: Duration = Duration::from_secs(10);
/// The time in which a server ends the stream of a receiver that has ended: 120 s until it notices
/// that a connection carries nothing, 60 s without connections, and a little more.
pub const ENDING_TIME: Duration = Duration::from_secs(190);
