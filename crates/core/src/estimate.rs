//! Estimators for paths: round-trip time, its trend, and delta T.

mod arrivals;
mod delta_t;
mod growth;
mod macd;
mod minimum;
mod round_trip;
mod srtt;

pub use arrivals::{ArrivalQuality, ArrivalStatistics};
pub use delta_t::{DeltaT, Measurement};
pub use growth::Growth;
pub use macd::Macd;
pub(crate) use minimum::Minimum;
pub use round_trip::RoundTrip;
pub use srtt::Srtt;
