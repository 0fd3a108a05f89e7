//! What an endpoint measures of its paths.

mod delta_t;

pub use delta_t::{DeltaT, Measurement};
