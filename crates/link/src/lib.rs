//! Network links as machines: a queue, a transmitter, a propagation delay and error models.
//!
//! # The model
//!
//! A link is one direction between two nodes. A packet that arrives joins a queue with a limit
//! ([`QueueLimit`]), is transmitted at the link's rate when its turn comes, and arrives at the far
//! end one propagation delay after its last bit left (store and forward). There is no
//! processing time and no link-layer header.
//!
//! *Limit.* As in ns-2 (`queue-limit L`) the packet in transmission counts: L packets means at most
//! L - 1 waiting and 1 in transmission, and likewise for bytes. A packet that finds the queue full
//! is dropped. No queue holds more than [`MAX_PACKETS`]: packets beyond that are dropped with
//! [`DropReason::Overflow`], at which a run should stop.
//!
//! *Discipline* ([`QueueConfig`]). Drop-tail, or one that drops before the queue is full. With ECN
//! such a discipline marks an ECN-capable packet instead of dropping it
//! ([`Payload::mark_ce`](polypath_core::frame::Payload::mark_ce)).
//!
//! *Rate* ([`LineRate`]). Constant; a recorded sequence of opportunities of 1500 bytes ([`Trace`]); or
//! one that varies at random ([`RateVariation`]).
//!
//! *Equal times.* A packet whose last bit leaves at t still occupies the queue when another arrives
//! at t. ns-2 decides by the order in which the two events were scheduled, and an arrival was
//! scheduled before the packet ahead of it started wherever the link that it comes from is longer
//! than a transmission. Flows that share a bottleneck return its packets at the rate at which it
//! delivered them, so this case is frequent where queues are short. A source at exactly the rate of
//! the link loses no packet where the limit is two packets or more. With a trace the opportunity
//! comes first, as in Mahimahi.
//!
//! *Loss.* The error models decide when the last bit of a packet leaves, so a lost packet has used
//! queue and wire. They are a scheduled outage, a two-state Markov process in time (all packets are
//! lost while it is down), fades of one length at random times, a Gilbert-Elliott chain that steps
//! with the packets, and independent loss. The first three run in time: which packets a link
//! carries does not change when it is down. Each model draws from its own stream for every packet, whatever the other models decide. The
//! queue keeps draining while the link is down.
//!
//! *One wake per hop.* With drop-tail and RED the fate of a packet is known when it arrives: FIFO
//! order makes the instant of its last bit a function of the packets before it. The link holds no
//! packet. It reports the arrival of the packet in advance ([`Output::Deliver`] with its time), or
//! that it is dropped, and has no deadline. With other disciplines the fate of a packet depends on
//! arrivals until the packet leaves: such a link holds its packets and has a deadline while any
//! waits.
//!
//! Inputs must be in the order of time. One that is earlier than the one before still queues behind
//! it, and the error models see it at its position in the queue.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
mod config_error;
mod counters;
mod drop_reason;
mod error;
mod line;
mod link;
mod queue;

pub use config::LinkConfig;
pub use config_error::ConfigError;
pub use counters::{Counters, Drops};
pub use drop_reason::DropReason;
pub use error::{Fades, GilbertElliott, OnOff, Outage, outage_problems};
pub use line::{LineRate, OPPORTUNITY, RateVariation, Trace, TraceError};
pub use link::{Link, Output};
pub use queue::*;
