//! Exponential intervals.

use polypath_core::rng::Stream;
use polypath_core::time::Duration;

use super::source::{Traffic, seconds};

/// A Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    mean: Duration,
    stream: Stream,
}

impl Poisson {
    /// A process with this mean interval.
    #[must_use]
    pub const fn new(mean: Duration, stream: Stream) -> Self {
        Self { mean, stream }
    }
}

impl Traffic for Poisson {
    fn first(&mut self) -> Duration {
        self.interval()
    }

    fn interval(&mut self) -> Duration {
        seconds(self.stream.exponential(self.mean.as_secs_f64()))
    }
}
