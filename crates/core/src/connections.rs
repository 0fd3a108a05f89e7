//! One stream over several TCP connections, whose number and receiver windows set its rate (`MultiTCP` paper; "the paper"
//! below).
//!
//! **The model.** A [`ControlUnit`] at the receiver measures the throughput once an interval, and asks a
//! [`ConnectionController`] for the *wanted* state ([`Windows`]): so many connections, and the window of each. Whoever drives
//! it opens and closes connections and sets receiver windows until they are so. At the sender a [`Striper`] hands packets to
//! the connections in turn (4.2.3), at the receiver a [`Resequencer`] puts them in order again, and [`PlayOut`] says when
//! the player stops for want of data (5.3).
//!
//! **The controllers** are [`FixedWindows`], [`AdjustWindow`] (Algorithm 1) and [`VariedConnections`] (Algorithms 2 and 3).
//! As printed they cannot run; what is mended here:
//!
//! * Line 11 of Algorithm 1 decreases by a `D_s` that only its other branch computes: it is that of line 4 in both.
//! * Windows are whole segments of at least 1, and there is at least one connection.
//! * The sum is compared with its bound before it grows, so that it may pass `f T_d RTT / MTU` by one `D_s`.
//! * A new number of connections redistributes the sum `W_s`. Algorithm 3 would run line 2 of Algorithm 1 again and set the
//!   sum to `W_n`: `W_s / W_n`, by which Algorithm 2 decides, would stay 1.
//! * `prevcongR` starts at 1, where nothing is congested.
//! * The guard lambda is compared with throughputs, so that its bytes are bytes a second.
//! * No windows can be computed before the round-trip time is known: until then each is that of a new connection.
//!
//! The paper's analysis of a loss is in [`equations`].

mod adjust_connections;
mod adjust_window;
mod config;
mod control_unit;
mod controller;
pub mod equations;
mod fixed_windows;
mod parameters;
mod playout;
mod resequencer;
mod striper;
mod throughput_meter;
mod varied_connections;
mod windows;

pub use adjust_connections::{AdjustConnections, Congestion};
pub use adjust_window::AdjustWindow;
pub use config::ControllerConfig;
pub use control_unit::{ControlDecision, ControlInput, ControlUnit};
pub use controller::{ConnectionController, Sample};
pub use fixed_windows::FixedWindows;
pub use parameters::{ControlConfig, Target, VariationConfig};
pub use playout::{PlayOut, PlayOutConfig, PlayOutEvent, PlayOutInput};
pub use resequencer::{OfferResult, Resequencer, ResequencerCounts};
pub use striper::{Striper, StriperInput, StriperOutput};
pub use throughput_meter::ThroughputMeter;
pub use varied_connections::VariedConnections;
pub use windows::{MAX_CONNECTIONS, MAX_WINDOW_SUM, Windows};

#[cfg(test)]
mod tests;
