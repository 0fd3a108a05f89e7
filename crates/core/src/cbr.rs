//! Even intervals, as exact as the sender's clock and scheduler.

use crate::rng::Stream;
use crate::time::Duration;

/// The shortest interval that is drawn, so that time advances.
const MIN_INTERVAL: Duration = Duration(1);

/// The configuration of a source of constant bit rate.
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

/// The intervals of a source of constant bit rate.
#[derive(Clone, Debug)]
pub struct Cbr {
    interval: Duration,
    jitter: f64,
    stream: Stream,
}

impl Cbr {
    /// The intervals of a source; draws its mean interval.
    #[must_use]
    pub fn new(config: CbrConfig, mut stream: Stream) -> Self {
        Self {
            interval: around(&mut stream, config.interval, config.drift),
            jitter: config.jitter,
            stream,
        }
    }

    /// Draws the time from the start of one datagram to the start of the next; at least 1 ns.
    pub fn interval(&mut self) -> Duration {
        around(&mut self.stream, self.interval, self.jitter).max(MIN_INTERVAL)
    }
}

/// Uniform within the share `spread` of `mean`; draws nothing if there is no spread.
fn around(stream: &mut Stream, mean: Duration, spread: f64) -> Duration {
    if spread == 0.0 {
        return mean;
    }
    let factor = 1.0 + spread * (2.0 * stream.uniform() - 1.0);
    Duration::from_secs_f64(mean.as_secs_f64() * factor)
}
