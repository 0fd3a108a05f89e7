//! Exponential intervals.

use polypath_core::rng::Stream;
use polypath_core::time::Duration;

use polypath_scenario::network::traffic::datagrams;

use super::source::{SendTimes, seconds};
use crate::agents::setup::FlowSetup;

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

impl Poisson {
    /// The times of a flow of a graph.
    pub(in crate::agents) fn of_flow(config: &datagrams::Poisson, setup: &FlowSetup<'_>) -> Self {
        let mean = config.rate.transmission_time(config.packet);
        Self::new(mean, setup.stream("traffic"))
    }
}

impl SendTimes for Poisson {
    fn first(&mut self) -> Duration {
        self.interval()
    }

    fn interval(&mut self) -> Duration {
        seconds(self.stream.exponential(self.mean.as_secs_f64()))
    }
}
