//! Packet spacing: the delay between two packets, adjusted by the receiver's feedback once per
//! round-trip time (packet-spacing paper, section 2; "the paper" below).
//!
//! **Model.** A [`SpacedSender`] starts a packet `t_x` + `t_s` after the start of the previous one
//! (Fig. 3): `t_x` is the transmission time of the packet, `t_s` the spacing. A [`SpacedReceiver`]
//! reports the number of received packets once per round-trip time. A [`RateController`] sets the
//! spacing: [`Fixed`], [`AdHoc`] (Fig. 4), [`Damped`] (2.2), or [`CubicRate`], which is fair.
//!
//! **Counting.** The paper compares the packets sent in the previous round-trip time with those
//! received. Counted by time, a packet that waits in a queue appears lost. A feedback therefore
//! names the sequence numbers that it covers, and the packets sent are those. [`FeedbackCounts`]
//! holds both counts; [`Counting`] selects the one that the controller uses.
//!
//! **Attribution.** Feedback is a round-trip time old: the one after a reaction still covers
//! packets sent before it, and a literal reading of Fig. 4 doubles the spacing twice. Here a loss
//! is attributed to the spacing in force when the packet was sent; [`Attribution::Latest`] is the
//! literal reading.
//!
//! **Lost feedback.** The counts are cumulative, so the next feedback replaces a lost one and only
//! the reaction is late. A feedback that repeats or is older than the last applied one has no
//! effect, nor has one that counts packets never sent. A packet that arrives after its range was
//! reported stays lost and is counted as late. Without feedback the spacing stays constant,
//! but for that of a [`CubicRate`].
//!
//! **Live sources.** The paper's sender always has a packet. A [`SpacedQueue`] holds those of an
//! application that is faster than the spacing permits, or slower.

mod accounting;
mod ad_hoc;
mod adaptive;
mod config;
mod controller;
mod cubic;
mod damped;
mod fixed;
mod message;
mod pacer;
mod queue;
mod queue_limit;
mod receiver;
mod round_trip;
mod send_log;
mod sender;
mod wire;

pub use accounting::{Counting, FeedbackCounts, IgnoreReason};
pub use ad_hoc::AdHoc;
pub use adaptive::{AdaptiveConfig, Attribution};
pub use config::{ControlConfig, RttSource, SenderConfig, SpacingConfig, SpacingError, SpacingKey};
pub use controller::{FeedbackReport, PacketCounts, RateController, SpacingChange};
pub use cubic::{CubicConfig, CubicRate};
pub use damped::Damped;
pub use fixed::Fixed;
pub use message::{Arrivals, Feedback, Message, SpacedHeader};
pub use pacer::Pacer;
pub use queue::{DuePacket, MAX_WAITING, SpacedQueue, SpacingStatistics};
pub use receiver::{Arrival, ReceiverOutput, SpacedReceiver};
pub use round_trip::{MAX_HOLD, MAX_RTT, MIN_RTT};
pub use sender::{SenderInput, SenderOutput, SpacedSender};
pub use wire::{FEEDBACK_LEN, HEADER_LEN, decode, encode};

#[cfg(test)]
mod loopback;
#[cfg(test)]
mod tests;
