//! Packet spacing: the delay between two packets, set by what the receiver reports each round-trip time
//! (packet-spacing paper, 2; "the paper" below).
//!
//! **The model.** A [`SpacedSender`] begins a packet `t_x` + `t_s` after the last one began (Fig. 3): `t_x` is the
//! packet's transmission time, `t_s` the spacing. A [`SpacedReceiver`] says once a round-trip time how many packets
//! came. A [`RateController`] sets the spacing: [`Fixed`], [`AdHoc`] (Fig. 4) or [`Damped`] (2.2).
//!
//! **What is counted.** The paper compares the packets sent in the previous round-trip time with those received. By
//! the clock, a packet that waits in a queue looks lost; so a feedback names the sequence numbers that it is about,
//! and the packets sent are those. Both readings are in [`FeedbackCounts`]; [`Counting`] says which one steers.
//!
//! **What a loss says.** Feedback is a round-trip time old: the one after a reaction is still about packets from
//! before it, and a literal reading of Fig. 4 doubles twice. Here a loss belongs to the spacing in force when the
//! packet was sent; [`Attribution::Latest`] is the literal reading.
//!
//! **Feedback that goes astray.** Its counts run from the start, so that the next one stands in for a lost one and
//! only the reaction is late. One that repeats or is older than the last one taken changes nothing; neither does one
//! that counts packets never sent. A packet that comes after its range was reported stays lost and is counted as
//! late. Without any feedback the spacing stays as it is.

mod account;
mod ad_hoc;
mod config;
mod controller;
mod damped;
mod fixed;
mod message;
mod pacer;
mod receiver;
mod round_trip;
mod send_log;
mod sender;
mod wire;

pub use account::{FeedbackCounts, IgnoreReason, PacketCounts};
pub use ad_hoc::AdHoc;
pub use config::{AdaptiveConfig, ControlConfig, Counting, RttSource, SenderConfig};
pub use controller::{Attribution, FeedbackReport, RateController, SpacingChange};
pub use damped::Damped;
pub use fixed::Fixed;
pub use message::{Arrivals, Feedback, Message, SpacedHeader};
pub use pacer::Pacer;
pub use receiver::{Arrival, ReceiverOutput, SpacedReceiver};
pub use round_trip::{MAX_RTT, MIN_RTT};
pub use sender::{SenderInput, SenderOutput, SpacedSender};
pub use wire::{FEEDBACK_LEN, HEADER_LEN, decode, encode};

#[cfg(test)]
mod loopback;
#[cfg(test)]
mod tests;
