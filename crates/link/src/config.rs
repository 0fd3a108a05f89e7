//! The configuration of a link.

use alloc::vec::Vec;

use polypath_core::time::Duration;
use polypath_core::units::Rate;

use crate::config_error::{ConfigError, probability};
use crate::error::{Fades, GilbertElliott, OnOff, Outage, outage_problems};
use crate::line::{LineRate, Trace};
use crate::queue::QueueConfig;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// The rate in bits per second, more than zero; or a trace, or one that varies.
    pub rate: LineRate,
    /// The propagation delay.
    pub delay: Duration,
    /// The queue discipline with its parameters.
    pub queue: QueueConfig,
    /// The probability that a packet is lost, independently of the others.
    pub loss: f64,
    /// Losses in runs of packets.
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Random outages.
    pub on_off: Option<OnOff>,
    /// Fades at random times.
    pub fades: Option<Fades>,
    /// Scheduled outages.
    pub outages: Vec<Outage>,
}

impl LinkConfig {
    /// A link that loses packets only at its queue.
    #[must_use]
    pub fn new(rate: Rate, delay: Duration, queue: impl Into<QueueConfig>) -> Self {
        Self {
            rate: rate.into(),
            delay,
            queue: queue.into(),
            loss: 0.0,
            gilbert_elliott: None,
            on_off: None,
            fades: None,
            outages: Vec::new(),
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// The first problem.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.rate.mean() == Rate(0) && !matches!(self.rate, LineRate::Trace(_)) {
            return Err(ConfigError::ZeroRate);
        }
        let mut problems = self.queue.problems(self.rate.constant());
        if let LineRate::Varying { variation, .. } = &self.rate {
            problems.extend(variation.problems());
        }
        problems.extend(probability("loss", self.loss));
        problems.extend(
            self.gilbert_elliott
                .iter()
                .flat_map(GilbertElliott::problems),
        );
        problems.extend(self.on_off.iter().flat_map(OnOff::problems));
        problems.extend(self.fades.iter().flat_map(Fades::problems));
        problems.extend(outage_problems(&self.outages));
        problems.into_iter().next().map_or(Ok(()), Err)
    }
}

impl From<Rate> for LineRate {
    fn from(rate: Rate) -> Self {
        Self::Constant(rate)
    }
}

impl From<Trace> for LineRate {
    fn from(trace: Trace) -> Self {
        Self::Trace(trace)
    }
}
