//! One stream over several TCP connections, whose number and receiver windows set its rate
//! (`MultiTCP` paper; "the paper" below).
//!
//! **The model.** A [`ControlUnit`] at the receiver measures the throughput once per sampling
//! interval and asks a [`ConnectionController`] for the *wanted* state ([`Windows`]): the number of
//! connections and the window of each. At the sender, a [`Striper`] assigns packets to connections
//! in round-robin order (4.2.3). At the receiver, a [`Resequencer`] restores the order, and a
//! [`PlayOut`] reports when playback stalls because the buffer is empty (5.3).
//!
//! A [`StreamSender`] and a [`StreamReceiver`] are composed of these. The driver of the sender
//! writes packets to the connections as assigned; that of the receiver opens and closes connections,
//! sets their windows, and reads them. A connection may end at any time: the sender keeps what the
//! receiver lacks, and the receiver replaces the connection. The paper does not treat that.
//!
//! Deployed ends exchange [messages](wire): a [`ServedStream`] and a [`Reception`] are these two with
//! the messages to the other, credits, and the rules of how a stream begins and ends.
//!
//! **The controllers** are [`FixedWindows`], [`AdjustWindow`] (Algorithm 1) and
//! [`VariedConnections`] (Algorithms 2 and 3). The algorithms cannot run as printed. Changes made
//! here:
//!
//! * Line 11 of Algorithm 1 uses a `D_s` that only the other branch computes. Both branches use
//!   that of line 4.
//! * Windows are whole segments of at least 1, and there is at least one connection.
//! * The sum is compared with its bound before it grows, so it may exceed `f T_d RTT / MTU` by one
//!   `D_s`.
//! * A new number of connections redistributes the sum `W_s`. Algorithm 3 as printed would rerun
//!   line 2 of Algorithm 1 and reset the sum to `W_n`; the ratio `W_s / W_n` that drives Algorithm
//!   2 would then stay at 1.
//! * `prevcongR` starts at 1, the ratio without congestion.
//! * The guard lambda is compared with throughputs, so its unit is bytes per second, not bytes.
//! * Before the round-trip time is known, each connection has the initial window of TCP.
//! * The paper's source always has the next packet. Where the sender waits for a live one, the sampling
//!   interval raises no window and opens no connection ([`ControlInput::ApplicationLimited`]), and
//!   lowers by a segment what a congestion has raised, as TCP and QUIC treat congestion windows (RFC
//!   7661; RFC 9002, 7.8). The throughput of the source would otherwise look like congestion: windows
//!   would grow to their bound, and Algorithm 2 would open connections.
//!
//! The paper's analysis of the cost of a loss is in [`equations`].

mod adjust_connections;
mod adjust_window;
mod config;
mod control_unit;
mod controller;
mod credit;
pub mod equations;
mod failures;
mod fixed_windows;
mod parameters;
mod playout;
mod receiver;
mod reception;
mod resequencer;
mod sender;
mod served_stream;
mod striper;
mod throughput_meter;
mod varied_connections;
mod windows;
pub mod wire;

pub use adjust_connections::{AdjustConnections, Congestion};
pub use adjust_window::AdjustWindow;
pub use config::ControllerConfig;
pub use control_unit::{ControlDecision, ControlInput, ControlUnit};
pub use controller::{ConnectionController, Sample};
pub use credit::{Credit, Credits, WindowControl};
pub use fixed_windows::FixedWindows;
pub use parameters::{ControlConfig, Target, VariationConfig};
pub use playout::{PlayOut, PlayOutConfig, PlayOutEvent, PlayOutInput};
pub use receiver::{ReceiverConfig, ReceiverInput, ReceiverOutput, SizedPacket, StreamReceiver};
pub use reception::{
    ConnectionEnd, FINISH_WITHIN, LEAVE_WITHIN, OPEN_WITHIN, Opening, Reception, ReceptionConfig,
    ReceptionCounts, ReceptionFailure, ReceptionInput, ReceptionOutput,
};
pub use resequencer::{OfferResult, Resequencer, ResequencerCounts};
pub use sender::{SenderInput, SenderOutput, StreamSender};
pub use served_stream::{ConnectionNumbers, ServedInput, ServedOutput, ServedStream, StreamEnd};
pub use striper::{Striper, StriperInput, StriperOutput};
pub use throughput_meter::ThroughputMeter;
pub use varied_connections::VariedConnections;
pub use windows::{MAX_CONNECTIONS, MAX_WINDOW_SUM, Windows};

#[cfg(test)]
mod tests;
