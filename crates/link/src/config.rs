//! What a link is made of, as plain data.

use alloc::vec::Vec;

use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use crate::line::{LineRate, Trace, TraceError};
use crate::queue::{CoDelConfig, QueueConfig, QueueLimit, RedConfig};

/// A two-state Markov process: exponential sojourns up and down, beginning up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// Mean sojourn in the state that carries packets.
    pub up: Duration,
    /// Mean sojourn in the state that loses every packet.
    pub down: Duration,
}

/// A two-state Markov chain that steps with every packet, beginning good (Gilbert 1960, Elliott 1963).
///
/// The mean of a run of packets in the bad state is 1 / `r`; the share of packets that are in it is
/// `p` / (`p` + `r`). All four are probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// From good to bad, after a packet in the good state.
    pub p: f64,
    /// From bad to good, after a packet in the bad state.
    pub r: f64,
    /// Loss of a packet in the good state.
    pub good: f64,
    /// Loss of a packet in the bad state.
    pub bad: f64,
}

/// A span of time in which everything is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The first instant at which packets are lost.
    pub from: Time,
    /// The first instant at which they are carried again; never if absent.
    pub until: Option<Time>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Bits per second, more than zero; or a trace.
    pub rate: LineRate,
    /// Propagation delay.
    pub delay: Duration,
    /// The queue and its discipline.
    pub queue: QueueConfig,
    /// Probability with which a packet is lost, each for itself; within 0 and 1.
    pub loss: f64,
    /// Losses in runs of packets.
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Losses in spans of time.
    pub on_off: Option<OnOff>,
    /// Scheduled losses.
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
            outages: Vec::new(),
        }
    }

    /// Says what no link can be made of.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.rate == LineRate::Constant(Rate(0)) {
            return Err(ConfigError::ZeroRate);
        }
        self.queue.validate()?;
        self.validate_losses()
    }

    fn validate_losses(&self) -> Result<(), ConfigError> {
        let chain = self.gilbert_elliott.map(|g| [g.p, g.r, g.good, g.bad]);
        let all = chain.into_iter().flatten().chain([self.loss]);
        if !all.into_iter().all(is_probability) {
            return Err(ConfigError::LossRange);
        }
        if let Some(on_off) = self.on_off
            && (on_off.up == Duration::ZERO || on_off.down == Duration::ZERO)
        {
            return Err(ConfigError::ZeroSojourn);
        }
        let reversed = |o: &Outage| o.until.is_some_and(|until| until <= o.from);
        if self.outages.iter().any(reversed) {
            return Err(ConfigError::EmptyOutage);
        }
        Ok(())
    }
}

impl QueueConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        if matches!(
            self.limit(),
            QueueLimit::Packets(0) | QueueLimit::Bytes(Bytes(0))
        ) {
            return Err(ConfigError::ZeroQueue);
        }
        match self {
            Self::DropTail(_) => Ok(()),
            Self::Red(red) => red.validate(),
            Self::CoDel(codel) => codel.validate(),
        }
    }
}

impl RedConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let positive = |x: Option<f64>| x.is_none_or(|x| x > 0.0 && x.is_finite());
        let apart = match (self.min_th, self.max_th) {
            (Some(min), Some(max)) => min < max,
            _ => true,
        };
        if !positive(self.min_th) || !positive(self.max_th) || !apart {
            return Err(ConfigError::RedThresholds);
        }
        let share = |x: f64| is_probability(x) && x > 0.0;
        if !share(self.max_p) || !self.weight.is_none_or(share) {
            return Err(ConfigError::RedShares);
        }
        match self.mean_packet {
            Bytes(0) => Err(ConfigError::RedMeanPacket),
            _ => Ok(()),
        }
    }
}

impl CoDelConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        match self.interval {
            Duration::ZERO => Err(ConfigError::CoDelInterval),
            _ => Ok(()),
        }
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

fn is_probability(x: f64) -> bool {
    (0.0..=1.0).contains(&x)
}

/// Why no link can be made of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A packet would take for ever.
    #[error("the rate of a link must be more than zero")]
    ZeroRate,
    /// Not even the packet in transmission would have a place.
    #[error("the queue of a link must hold something")]
    ZeroQueue,
    /// A probability of loss, or one between good and bad, is no probability.
    #[error("the probabilities of loss must lie within 0 and 1")]
    LossRange,
    /// A sojourn of no time would change the state without end.
    #[error("the mean sojourns of an on/off link must be more than zero")]
    ZeroSojourn,
    /// An outage ends before it begins.
    #[error("an outage must end after it begins")]
    EmptyOutage,
    /// The thresholds of RED are no lengths of a queue in this order.
    #[error("RED needs 0 < min_th < max_th")]
    RedThresholds,
    /// The greatest probability of RED or the weight of its average is out of range.
    #[error("max_p and weight of RED must be more than 0 and at most 1")]
    RedShares,
    /// RED cannot tell how many packets would have passed in an idle time.
    #[error("the mean packet of RED must have a size")]
    RedMeanPacket,
    /// A recorded rate is none.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// `CoDel` would drop without end.
    #[error("the interval of CoDel must be more than zero")]
    CoDelInterval,
}
