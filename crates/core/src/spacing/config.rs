//! The controllers by name, and what a sender is made of.

use alloc::boxed::Box;

use super::ad_hoc::AdHoc;
use super::controller::{Attribution, RateController};
use super::damped::Damped;
use super::fixed::Fixed;
use crate::time::Duration;
use crate::units::{Bytes, Rate};

/// The controllers by name, with their parameters, as scenario files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
pub enum ControlConfig {
    /// The same spacing throughout.
    Fixed {
        /// The spacing.
        spacing: Duration,
    },
    /// Doubles on loss, lowers by a step without (packet-spacing paper, 2.1).
    AdHoc(AdaptiveConfig),
    /// The same, but reverts a decrease that led to loss (packet-spacing paper, 2.2).
    Damped(AdaptiveConfig),
}

/// The parameters of Fig. 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct AdaptiveConfig {
    /// The spacing at the start; the paper's is 0.
    pub initial: Duration,
    /// The spacing after a loss at 0; the paper's is 50 us.
    pub first: Duration,
    /// How much smaller the spacing becomes without a loss; the paper's is 2, here microseconds.
    pub step: Duration,
    /// To which spacing a loss belongs.
    pub attribution: Attribution,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self {
            initial: Duration::ZERO,
            first: Duration::from_micros(50),
            step: Duration::from_micros(2),
            attribution: Attribution::default(),
        }
    }
}

impl ControlConfig {
    /// Whether feedback changes the spacing.
    #[must_use]
    pub const fn is_adaptive(self) -> bool {
        !matches!(self, Self::Fixed { .. })
    }

    /// The controller.
    #[must_use]
    pub fn build(self) -> Box<dyn RateController> {
        match self {
            Self::Fixed { spacing } => Box::new(Fixed::new(spacing)),
            Self::AdHoc(config) => Box::new(AdHoc::new(config)),
            Self::Damped(config) => Box::new(Damped::new(config)),
        }
    }
}

/// How the packets sent are counted that a feedback is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Counting {
    /// Those of the sequence numbers that the feedback is about.
    #[default]
    Range,
    /// Those sent so long ago that without queues they would have come: a packet in a queue counts as lost.
    Clock,
}

/// Which round-trip time sets the interval of feedback and the upper bound of the spacing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RttSource {
    /// The one measured at set-up, as in the paper's experiments (2.1).
    #[default]
    Base,
    /// The smoothed one, measured with each feedback (RFC 6298, 2), which the paper leaves for later.
    Smoothed,
}

/// What a sender is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// What sets the spacing.
    pub control: ControlConfig,
    /// The size of each packet on the wire.
    pub packet: Bytes,
    /// The rate of the first link, from which `t_x` follows; `None` takes `t_x` as 0, so that the spacing runs from start
    /// to start and a spacing of 0 sends whenever the socket takes a packet.
    pub line_rate: Option<Rate>,
    /// The base round-trip time; `None` measures it with a ping, or with a fixed spacing asks for no feedback.
    pub base_rtt: Option<Duration>,
    /// The round-trip time that is used.
    pub rtt: RttSource,
    /// The reading that steers.
    pub counting: Counting,
    /// How far behind its schedule a sender may catch up, in packets closer to each other than the spacing.
    pub catch_up: Duration,
}

impl SenderConfig {
    /// The paper's sender of packets of `packet` on the wire, with a base round-trip time that a ping measures.
    #[must_use]
    pub fn new(control: ControlConfig, packet: Bytes) -> Self {
        Self {
            control,
            packet,
            line_rate: None,
            base_rtt: None,
            rtt: RttSource::default(),
            counting: Counting::default(),
            catch_up: Duration::from_millis(1),
        }
    }
}
