//! Receiver-side combining: comparison of probes with data, switch requests, and loss signatures.
//!
//! Copies are matched by the data sequence inside the encrypted frame, never by packet content. The
//! first copy is delivered, others are dropped by the endpoint's receiver, with a bounded
//! [`crate::window::SlidingWindow`].
//! Three duplicate ACKs that TCP sends are three packets with three sequence numbers and arrive as
//! three.

mod comparison;
mod copies;
mod detector;
pub mod hysteresis;
pub mod signature;
mod switch_request;

pub use comparison::Comparison;
pub(crate) use comparison::MAX_TIMERS;
pub(crate) use copies::MAX_WINDOWS;
pub use copies::{Copies, CopiesConfig, CopiesError};
pub use detector::{
    CongestionSignal, Detector, DetectorConfig, DetectorError, DetectorStatistics, Reaction,
};
pub use switch_request::{FIRST_REPEAT, LAST_REPEAT, REPEATS, SwitchRequest};
