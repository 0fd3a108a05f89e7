//! Even intervals, as exact as the sender's clock and scheduler.

use polypath_core::rng::Stream;
use polypath_core::time::Duration;

use polypath_scenario::network::traffic::datagrams;

use super::source::{SendTimes, seconds};
use crate::agents::setup::FlowSetup;

/// The configuration of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CbrConfig {
    /// The interval between the starts of successive datagrams.
    pub interval: Duration,
    /// The half-width of the uniform distribution of each interval, as a fraction of the mean: 0.5
    /// gives 0.5 to 1.5 times the mean.
    pub jitter: f64,
    /// The same for the mean interval of the whole run, which is drawn once.
    pub drift: f64,
}

/// Datagrams at constant intervals; the first is sent at the start.
#[derive(Clone, Debug)]
pub struct Cbr {
    interval: Duration,
    jitter: f64,
    stream: Stream,
}

impl Cbr {
    /// A source; draws its mean interval.
    #[must_use]
    pub fn new(config: CbrConfig, mut stream: Stream) -> Self {
        Self {
            interval: around(&mut stream, config.interval, config.drift),
            jitter: config.jitter,
            stream,
        }
    }
}

impl Cbr {
    /// The times of a flow of a graph.
    pub(in crate::agents) fn of_flow(config: &datagrams::Cbr, setup: &FlowSetup<'_>) -> Self {
        let config = CbrConfig {
            interval: config.interval,
            jitter: config.jitter,
            drift: config.drift,
        };
        Self::new(config, setup.stream("traffic"))
    }
}

impl SendTimes for Cbr {
    fn first(&mut self) -> Duration {
        Duration::ZERO
    }

    fn interval(&mut self) -> Duration {
        around(&mut self.stream, self.interval, self.jitter)
    }
}

/// Uniform within the share `spread` of `mean`; draws nothing if there is no spread.
fn around(stream: &mut Stream, mean: Duration, spread: f64) -> Duration {
    if spread == 0.0 {
        return mean;
    }
    let factor = 1.0 + spread * (2.0 * stream.uniform() - 1.0);
    seconds(mean.as_secs_f64() * factor)
}
