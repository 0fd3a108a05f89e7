//! Network links as machines: a queue, a transmitter, a propagation delay and error models.
//!
//! # The model
//!
//! A link is one direction between two nodes. A packet that arrives joins a FIFO queue with a limit
//! ([`QueueLimit`]), is transmitted at the link's rate once every packet before it has been, and arrives
//! at the far end one propagation delay after its last bit left (store and forward). There is no
//! processing time and no link-layer header.
//!
//! *Limit.* As in ns-2 (`queue-limit L`) the packet in transmission counts: L packets means at most L - 1
//! waiting and 1 in transmission, and likewise for bytes. A packet that finds no place is dropped. No queue holds
//! more than [`MOST_PACKETS`]: what comes beyond is dropped with [`DropReason::Overflow`], by which whoever runs
//! the link knows that it should not go on.
//!
//! *Discipline* ([`QueueConfig`]). Drop-tail, or one that drops before the queue is full: RED (Floyd and Jacobson
//! 1993) and `CoDel` (RFC 8289). With ECN both mark a packet that can be marked in place of dropping it
//! ([`Payload::mark_ce`](polypath_core::frame::Payload::mark_ce)).
//!
//! *Rate* ([`LineRate`]). Constant, or a recorded sequence of opportunities of 1500 bytes ([`Trace`]).
//!
//! *Equal times.* A packet whose last bit leaves at t still has its place when another arrives at t. ns-2 decides by
//! the order in which the two events were scheduled, and an arrival was scheduled before the packet ahead of it began
//! wherever the link that it comes from is longer than a transmission. Flows that share a bottleneck return its packets
//! at the pace at which it let them go, so that this case is frequent where queues are short. A source at exactly the
//! rate of the link loses nothing where the limit is two packets or more. With a trace the opportunity comes first, as in
//! Mahimahi.
//!
//! *Loss.* The error models look at a packet when its last bit leaves, so that a lost packet has used
//! queue and wire. They are a scheduled outage, a two-state Markov process in time (everything is lost while
//! down), a Gilbert-Elliott chain that steps with the packets, and independent loss. Each draws from a stream of
//! its own for every packet, whatever the other models say. A queue goes on draining while the link is down.
//!
//! *One wake for a hop.* With drop-tail and RED all of this is known when the packet arrives: FIFO order makes
//! the instant of the last bit a function of the packets before it. The link holds no packet. It says at once when
//! the packet will arrive ([`Output::Deliver`] with its time) or that it will not, and has no deadline. What
//! `CoDel` does with a packet depends on what arrives until the packet leaves: such a link holds its packets and has
//! a deadline while any waits.
//!
//! Inputs must come in order of time. One that is earlier than the one before queues behind it all the
//! same, and the error models see it at its place in the queue.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
mod counters;
mod error;
mod line;
mod link;
mod queue;

pub use config::{ConfigError, GilbertElliott, LinkConfig, OnOff, Outage};
pub use counters::{Counters, Drops};
pub use line::{LineRate, OPPORTUNITY, Trace, TraceError};
pub use link::{DropReason, Link, Output};
pub use queue::{CoDelConfig, MOST_PACKETS, QueueConfig, QueueLimit, RedConfig};
