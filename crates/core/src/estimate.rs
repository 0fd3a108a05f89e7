//! What an endpoint measures of its paths.

mod delta_t;
mod srtt;

pub use delta_t::{DeltaT, Measurement};
pub use srtt::Srtt;
