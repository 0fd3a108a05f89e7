//! The configuration of controllers and senders.

use alloc::boxed::Box;

use super::accounting::Counting;
use super::ad_hoc::AdHoc;
use super::adaptive::AdaptiveConfig;
use super::controller::RateController;
use super::cubic::{CubicConfig, CubicRate};
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
    /// Grows and reduces the rate as CUBIC does (RFC 9438), and limits the queueing delay.
    Cubic(CubicConfig),
}

impl ControlConfig {
    /// Whether feedback changes the spacing.
    #[must_use]
    pub const fn is_adaptive(self) -> bool {
        !matches!(self, Self::Fixed { .. })
    }

    /// Whether the spacing is that from the start of a packet to that of the next, and not from its end:
    /// the controller sets a rate.
    #[must_use]
    pub const fn sets_rate(self) -> bool {
        matches!(self, Self::Cubic(_))
    }

    /// Checks the parameters that do not depend on a queue of packets.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn check(self) -> Result<(), SpacingError> {
        match self {
            Self::AdHoc(config) | Self::Damped(config) if config.first == Duration::ZERO => {
                Err(SpacingError::First)
            }
            Self::Fixed { .. } | Self::AdHoc(_) | Self::Damped(_) => Ok(()),
            Self::Cubic(config) => check_cubic(config),
        }
    }

    /// Builds the controller.
    #[must_use]
    pub fn build(self) -> Box<dyn RateController> {
        match self {
            Self::Fixed { spacing } => Box::new(Fixed::new(spacing)),
            Self::AdHoc(config) => Box::new(AdHoc::new(config)),
            Self::Damped(config) => Box::new(Damped::new(config)),
            Self::Cubic(config) => Box::new(CubicRate::new(config)),
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

/// The spacing of all packets of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SpacingConfig {
    /// The rate controller.
    pub control: ControlConfig,
    /// The longest time for which a packet waits: one that has waited longer when its turn comes is
    /// dropped.
    #[cfg_attr(feature = "serde", serde(default = "default_max_wait"))]
    pub max_wait: Duration,
    /// The round-trip time that sets the interval of feedback and bounds the spacing.
    #[cfg_attr(feature = "serde", serde(default = "default_rtt"))]
    pub rtt: RttSource,
}

/// The limits of [`SpacingConfig::max_wait`].
const MIN_MAX_WAIT: Duration = Duration::from_millis(1);
const MAX_MAX_WAIT: Duration = Duration::from_secs(10);

/// The limits of [`CubicConfig::initial`], [`CubicConfig::reference_rtt`] and
/// [`CubicConfig::max_queue`].
const MIN_INITIAL: Duration = Duration::from_micros(1);
const MIN_REFERENCE: Duration = Duration::from_millis(1);
const MAX_REFERENCE: Duration = Duration::from_secs(1);
const MAX_MAX_QUEUE: Duration = Duration::from_secs(1);

fn check_cubic(config: CubicConfig) -> Result<(), SpacingError> {
    if config.initial < MIN_INITIAL {
        return Err(SpacingError::Initial(config.initial));
    }
    if !(MIN_REFERENCE..=MAX_REFERENCE).contains(&config.reference_rtt) {
        return Err(SpacingError::ReferenceRtt(config.reference_rtt));
    }
    if config.max_queue > MAX_MAX_QUEUE {
        return Err(SpacingError::MaxQueue(config.max_queue));
    }
    Ok(())
}

/// The key of a spacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpacingKey {
    /// That of a fixed controller.
    Spacing,
    /// The first one of an adaptive controller.
    Initial,
}

impl SpacingKey {
    const fn leaf(self) -> &'static str {
        match self {
            Self::Spacing => "spacing",
            Self::Initial => "initial",
        }
    }
}

/// The error of an invalid [`SpacingConfig`]; each names its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpacingError {
    /// The longest wait is out of range.
    #[error("`max_wait` is {0}; it can be {MIN_MAX_WAIT} to {MAX_MAX_WAIT}")]
    MaxWait(Duration),
    /// The spacing, or the initial one, is longer than a packet may wait.
    #[error("`{}` is {spacing}: longer than a packet may wait (`max_wait`)", kind.leaf())]
    Spacing {
        /// The key.
        kind: SpacingKey,
        /// Its value.
        spacing: Duration,
    },
    /// The spacing after a loss would stay at 0.
    #[error("`first`, the spacing after a loss at 0, must not be 0")]
    First,
    /// A rate needs a spacing to start from.
    #[error("`initial` is {0}; the spacing at the start is {MIN_INITIAL} or more")]
    Initial(Duration),
    /// The reference round-trip time is out of range.
    #[error("`reference_rtt` is {0}; it can be {MIN_REFERENCE} to {MAX_REFERENCE}")]
    ReferenceRtt(Duration),
    /// The limit of the queueing delay is out of range.
    #[error("`max_queue` is {0}; it can be {MAX_MAX_QUEUE} at most")]
    MaxQueue(Duration),
}

impl SpacingError {
    /// The key of the value, in the table of the spacing.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::MaxWait(_) => "max_wait",
            Self::Spacing {
                kind: SpacingKey::Spacing,
                ..
            } => "control.spacing",
            Self::Spacing { .. } | Self::Initial(_) => "control.initial",
            Self::First => "control.first",
            Self::ReferenceRtt(_) => "control.reference_rtt",
            Self::MaxQueue(_) => "control.max_queue",
        }
    }

    /// The remedy, for users.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::MaxWait(_) => "use less than the buffer of the receiver, as \"100 ms\"",
            Self::Spacing { .. } => "use a shorter one, as \"1 ms\", or a longer `max_wait`",
            Self::First => "remove it: the default is the paper's 50 us",
            Self::Initial(_) => "remove it: the default is 10 ms",
            Self::ReferenceRtt(_) => {
                "use the round-trip time of the TCP that is to have an equal share, as \"40 ms\""
            }
            Self::MaxQueue(_) => "use \"50 ms\", or \"0 s\" if losses alone are to count",
        }
    }
}

impl SpacingConfig {
    /// A controller with the defaults.
    #[must_use]
    pub const fn new(control: ControlConfig) -> Self {
        Self {
            control,
            max_wait: default_max_wait(),
            rtt: default_rtt(),
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), SpacingError> {
        if !(MIN_MAX_WAIT..=MAX_MAX_WAIT).contains(&self.max_wait) {
            return Err(SpacingError::MaxWait(self.max_wait));
        }
        let (kind, spacing) = match self.control {
            ControlConfig::Fixed { spacing } => (SpacingKey::Spacing, spacing),
            ControlConfig::AdHoc(config) | ControlConfig::Damped(config) => {
                (SpacingKey::Initial, config.initial)
            }
            ControlConfig::Cubic(config) => (SpacingKey::Initial, config.initial),
        };
        if spacing > self.max_wait {
            return Err(SpacingError::Spacing { kind, spacing });
        }
        self.control.check()
    }

    /// The sender, whose packets have any size.
    pub(super) fn sender(&self, base_rtt: Option<Duration>) -> SenderConfig {
        SenderConfig {
            base_rtt: base_rtt.filter(|_| self.control.is_adaptive()),
            rtt: self.rtt,
            ..SenderConfig::new(self.control, Bytes(0))
        }
    }
}

/// A part of the buffer of receivers: those of SRT and RIST hold 120 ms and more.
const fn default_max_wait() -> Duration {
    Duration::from_millis(100)
}

/// The smoothed one, since the paths of a deployment change.
const fn default_rtt() -> RttSource {
    RttSource::Smoothed
}

/// The configuration of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// The rate controller.
    pub control: ControlConfig,
    /// The size of each packet on the wire.
    pub packet: Bytes,
    /// The rate of the first link, which determines `t_x`. With `None`, and for a controller that sets
    /// a rate, `t_x` is 0: the spacing separates the starts of packets, and spacing 0 sends whenever
    /// the socket is writable.
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
