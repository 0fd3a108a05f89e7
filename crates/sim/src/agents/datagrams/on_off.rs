//! Bursts at a constant rate with random on and off times.

use polypath_core::rng::Stream;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};

use polypath_scenario::network::traffic::datagrams;

use super::source::{SendTimes, seconds};
use crate::agents::setup::FlowSetup;

/// The configuration of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOffConfig {
    /// The rate during on times, in bits per second.
    pub peak: Rate,
    /// Mean of the on times.
    pub on: Duration,
    /// Mean of the off times.
    pub off: Duration,
    /// Size of a datagram on the wire.
    pub packet: Bytes,
    /// The distribution of both.
    pub sojourn: Sojourn,
}

/// The distribution of on and off times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sojourn {
    /// Exponential, as ns-2's `Application/SendTimes/Exponential`.
    Exponential,
    /// Pareto with this shape, more than 1, as ns-2's `Application/SendTimes/Pareto`.
    Pareto(f64),
}

/// Sends datagrams at constant intervals during on times, the first at the start of each; starts
/// with an off time.
///
/// As in ns-2 an on time is a whole number of datagrams, at least one.
#[derive(Clone, Debug)]
pub struct OnOff {
    config: OnOffConfig,
    interval: Duration,
    stream: Stream,
    /// The unsent datagrams of the current on time.
    remaining: u64,
}

impl OnOff {
    /// A source that starts with an off time.
    #[must_use]
    pub fn new(config: OnOffConfig, stream: Stream) -> Self {
        Self {
            config,
            interval: config.peak.transmission_time(config.packet),
            stream,
            remaining: 0,
        }
    }

    /// The bursts of a flow of a graph with exponential times.
    pub(in crate::agents) fn exponential(
        config: &datagrams::Exponential,
        setup: &FlowSetup<'_>,
    ) -> Self {
        let config = OnOffConfig {
            peak: config.peak,
            on: config.on,
            off: config.off,
            packet: config.packet,
            sojourn: Sojourn::Exponential,
        };
        Self::new(config, setup.stream("traffic"))
    }

    /// The bursts of a flow of a graph with Pareto times.
    pub(in crate::agents) fn pareto(config: &datagrams::Pareto, setup: &FlowSetup<'_>) -> Self {
        let config = OnOffConfig {
            peak: config.peak,
            on: config.on,
            off: config.off,
            packet: config.packet,
            sojourn: Sojourn::Pareto(config.shape),
        };
        Self::new(config, setup.stream("traffic"))
    }

    /// Draws an off time and the on time that follows it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates; a count is positive"
    )]
    fn pause(&mut self) -> Duration {
        let off = self.draw(self.config.off);
        let on = self.draw(self.config.on);
        self.remaining = (on / self.interval.as_secs_f64()).round().max(1.0) as u64;
        seconds(off)
    }

    /// A random on or off time in seconds.
    fn draw(&mut self, mean: Duration) -> f64 {
        match self.config.sojourn {
            Sojourn::Exponential => self.stream.exponential(mean.as_secs_f64()),
            Sojourn::Pareto(shape) => self.stream.pareto(mean.as_secs_f64(), shape),
        }
    }
}

impl SendTimes for OnOff {
    fn first(&mut self) -> Duration {
        self.pause()
    }

    fn interval(&mut self) -> Duration {
        self.remaining -= 1;
        let pause = match self.remaining {
            0 => self.pause(),
            _ => Duration::ZERO,
        };
        self.interval + pause
    }
}
