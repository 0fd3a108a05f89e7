//! What a link is made of, as plain data.

use alloc::vec::Vec;

use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

/// How much a link's queue holds, the packet in transmission included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of packets of any size.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
}

/// A two-state Markov process: exponential sojourns up and down, beginning up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// Mean sojourn in the state that carries packets.
    pub up: Duration,
    /// Mean sojourn in the state that loses every packet.
    pub down: Duration,
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
    /// Bits per second; more than zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Limit of the queue; more than zero.
    pub queue: QueueLimit,
    /// Probability with which a packet is lost, each for itself; within 0 and 1.
    pub loss: f64,
    /// Losses in long runs.
    pub on_off: Option<OnOff>,
    /// Scheduled losses.
    pub outages: Vec<Outage>,
}

impl LinkConfig {
    /// A link that loses packets only at its queue.
    #[must_use]
    pub fn new(rate: Rate, delay: Duration, queue: QueueLimit) -> Self {
        Self {
            rate,
            delay,
            queue,
            loss: 0.0,
            on_off: None,
            outages: Vec::new(),
        }
    }

    /// Says what no link can be made of.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.rate.0 == 0 {
            return Err(ConfigError::ZeroRate);
        }
        if matches!(
            self.queue,
            QueueLimit::Packets(0) | QueueLimit::Bytes(Bytes(0))
        ) {
            return Err(ConfigError::ZeroQueue);
        }
        if !(0.0..=1.0).contains(&self.loss) {
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

/// Why no link can be made of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A packet would take for ever.
    #[error("the rate of a link must be more than zero")]
    ZeroRate,
    /// Not even the packet in transmission would have a place.
    #[error("the queue of a link must hold something")]
    ZeroQueue,
    /// The probability of loss is no probability.
    #[error("the loss of a link must lie within 0 and 1")]
    LossRange,
    /// A sojourn of no time would change the state without end.
    #[error("the mean sojourns of an on/off link must be more than zero")]
    ZeroSojourn,
    /// An outage ends before it begins.
    #[error("an outage must end after it begins")]
    EmptyOutage,
}
