//! The configuration of controllers and senders.

use alloc::boxed::Box;

use super::accounting::Counting;
use super::ad_hoc::AdHoc;
use super::adaptive::AdaptiveConfig;
use super::controller::RateController;
use super::damped::Damped;
use super::fixed::Fixed;
use crate::time::Duration;
use crate::units::{Bytes, Rate};

/// The controllers with their parameters, as in scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
pub enum ControlConfig {
    /// A constant spacing.
    Fixed {
        /// The spacing.
        spacing: Duration,
    },
    /// Doubles the spacing after a loss and otherwise lowers it by a step (packet-spacing paper,
    /// 2.1).
    AdHoc(AdaptiveConfig),
    /// As ad hoc, but reverts a decrease that led to a loss (packet-spacing paper, 2.2).
    Damped(AdaptiveConfig),
}

impl ControlConfig {
    /// Whether feedback changes the spacing.
    #[must_use]
    pub const fn is_adaptive(self) -> bool {
        !matches!(self, Self::Fixed { .. })
    }

    /// Builds the controller.
    #[must_use]
    pub fn build(self) -> Box<dyn RateController> {
        match self {
            Self::Fixed { spacing } => Box::new(Fixed::new(spacing)),
            Self::AdHoc(config) => Box::new(AdHoc::new(config)),
            Self::Damped(config) => Box::new(Damped::new(config)),
        }
    }
}

/// The round-trip time that sets the feedback interval and bounds the spacing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RttSource {
    /// The base round-trip time measured at set-up, as in the paper's experiments (2.1).
    #[default]
    Base,
    /// The smoothed round-trip time, updated with each feedback (RFC 6298, section 2); future work
    /// in the paper.
    Smoothed,
}

/// The configuration of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// The rate controller.
    pub control: ControlConfig,
    /// The size of each packet on the wire.
    pub packet: Bytes,
    /// The rate of the first link, which determines `t_x`. With `None` `t_x` is 0: the spacing
    /// separates the starts of packets, and spacing 0 sends whenever the socket is writable.
    pub line_rate: Option<Rate>,
    /// The base round-trip time. With `None` an adaptive sender measures it with a ping, and a
    /// fixed one requests no feedback.
    pub base_rtt: Option<Duration>,
    /// The round-trip time in use.
    pub rtt: RttSource,
    /// The counts that control the spacing.
    pub counting: Counting,
    /// The maximum lag behind the schedule for which a sender catches up, with packets closer
    /// together than the spacing.
    pub catch_up: Duration,
}

impl SenderConfig {
    /// The paper's sender: packets of `packet` bytes on the wire, and a base round-trip time
    /// measured with a ping.
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
