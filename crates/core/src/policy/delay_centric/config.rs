//! The configuration of a delay-centric policy.

use alloc::format;
use alloc::string::String;

use super::super::PolicyContext;
use super::DelayCentric;
use crate::rng::Stream;
use crate::time::Duration;

/// The delay-centric policies with their parameters, as in scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
pub enum DelayCentricConfig {
    /// All data on the path with the lower smoothed round-trip time (delay-centric paper, II.B).
    DelayCentric(ReactiveConfig),
    /// All data on the path with the lower short-term average, if the trends agree (delay-centric
    /// paper, II.C).
    PredictiveDelayCentric(PredictiveConfig),
    /// Data leaves a path whose delay grows, at random times; the faster it grows, the sooner. Not
    /// in the paper.
    DelayGrowth(GrowthConfig),
}

/// The parameters of the policy that compares smoothed round-trip times (delay-centric paper,
/// II.B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ReactiveConfig {
    /// A path is better if its round-trip time is lower by more than this; 10 ms in the paper's
    /// experiments.
    pub hysteresis: Duration,
    /// The time between the decision to switch and the switch.
    pub guard: Guard,
    /// The measurement of paths without data.
    pub heartbeats: Heartbeats,
    /// The data that moves together.
    pub scope: Scope,
}

/// The parameters of the policy that compares averages and trends (delay-centric paper, II.C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct PredictiveConfig {
    /// The policy leaves a path only if its short-term average is above this; 150 ms in the paper's
    /// text, 70 ms in its experiments.
    pub threshold: Duration,
    /// The condition on the trends.
    pub trend: TrendRule,
    /// The time between the decision to switch and the switch.
    pub guard: Guard,
    /// The measurement of paths without data.
    pub heartbeats: Heartbeats,
    /// The data that moves together.
    pub scope: Scope,
}

/// The parameters of the policy that leaves a path whose delay grows.
///
/// While a path is offered the share g more than it carries, its delay grows by g, and g/(1+g) of
/// its load has to leave. A sender leaves at random, at the rate of that share over the sum of
/// `reaction` and the round-trip time, after which it sees the effect of others that left: many
/// senders that see the same growth then move the excess and little more, without knowing of each
/// other. Where the delay does not grow, a sender leaves for a lower delay at the rate of the
/// relative difference over `patience`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct GrowthConfig {
    /// A path is better if its round-trip time is lower by more than this.
    pub hysteresis: Duration,
    /// The time constant of the growth, or the time between measurements if that is longer.
    pub window: Duration,
    /// The mean time, beside the round-trip time, in which the excess leaves a path.
    pub reaction: Duration,
    /// The mean time in which a sender leaves a path for one whose delay is nothing.
    pub patience: Duration,
    /// The measurement of paths without data.
    pub heartbeats: Heartbeats,
    /// The data that moves together.
    pub scope: Scope,
}

impl Default for GrowthConfig {
    fn default() -> Self {
        Self {
            hysteresis: Duration::from_millis(10),
            window: Duration::from_millis(10),
            reaction: Duration::from_millis(20),
            patience: Duration::from_secs(20),
            heartbeats: Heartbeats::default(),
            scope: Scope::default(),
        }
    }
}

impl Default for ReactiveConfig {
    fn default() -> Self {
        Self {
            hysteresis: Duration::from_millis(10),
            guard: Guard::default(),
            heartbeats: Heartbeats::default(),
            scope: Scope::default(),
        }
    }
}

impl Default for PredictiveConfig {
    fn default() -> Self {
        Self {
            threshold: Duration::from_millis(150),
            trend: TrendRule::default(),
            guard: Guard::default(),
            heartbeats: Heartbeats::default(),
            scope: Scope::default(),
        }
    }
}

/// The data that moves to another path together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// All data.
    #[default]
    All,
    /// Each flow (addresses, protocol and ports) by itself, as each source does in the paper: a
    /// flow has a choice and guard times of its own, and all share the measurements of the paths.
    Flow,
}

/// Condition (ii) of the predictive policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum TrendRule {
    /// The round-trip time of the current path rises (the original method).
    Original,
    /// The current path's trend is greater than the other's (the paper's modification).
    #[default]
    Modified,
}

/// The guard time, drawn uniformly from `[least, most]` each time; none if both are 0, fixed if
/// they are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Guard {
    /// The minimum; 1 s in the paper's experiments.
    pub least: Duration,
    /// The maximum; 4 s in the paper's experiments.
    pub most: Duration,
    /// The switches that it delays.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kind: GuardKind,
}

/// The switches that a guard time delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum GuardKind {
    /// Every switch: the rule confirms or cancels it at the end of the guard time (delay-centric
    /// paper, II.B).
    #[default]
    Confirm,
    /// The switch after this one: the rule is not evaluated before the end of the guard time. Not
    /// in the paper's text.
    Hold,
}

/// The measurement of paths that carry no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Heartbeats {
    /// The minimum interval between heartbeats on a path, drawn uniformly from `[least, most]` each
    /// time.
    pub least: Duration,
    /// The maximum interval.
    pub most: Duration,
    /// The interval during a guard time: on the path that the pending switch leads to, or, after a
    /// switch, on all paths without data.
    pub in_guard: Duration,
    /// After this time without an answer the estimate of a path is discarded, and the policy leaves
    /// the path.
    pub timeout: Duration,
    /// Whether the interval begins with the answer to a heartbeat, or with the timeout if none
    /// comes, and not with its sending: SCTP likewise waits for a retransmission timeout beside its
    /// interval (RFC 9260, section 8.3). Not in the paper's text, which has "after each heartbeat"
    /// (III).
    pub wait: bool,
}

impl Default for Heartbeats {
    /// The paper's experiments (III); the timeout is the minimum of SCTP (`RTO.Min`, RFC 9260,
    /// section 16).
    fn default() -> Self {
        Self {
            least: Duration::from_millis(500),
            most: Duration::from_millis(1500),
            in_guard: Duration::from_millis(20),
            timeout: Duration::from_secs(1),
            wait: false,
        }
    }
}

/// The minimum of intervals and timeouts, so that time advances.
pub const MIN_INTERVAL: Duration = Duration::from_millis(1);

impl Guard {
    /// No guard time.
    pub const NONE: Self = Self {
        least: Duration::ZERO,
        most: Duration::ZERO,
        kind: GuardKind::Confirm,
    };

    /// Whether there is a guard time.
    #[must_use]
    pub fn is_some(self) -> bool {
        self.most > Duration::ZERO
    }

    /// Whether there is a guard time of this kind.
    pub(super) fn is_of(self, kind: GuardKind) -> bool {
        self.is_some() && self.kind == kind
    }

    /// Draws a guard time.
    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        uniform(self.least, self.most, stream).max(MIN_INTERVAL)
    }
}

impl Heartbeats {
    /// Draws an interval.
    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        uniform(self.least, self.most, stream).max(MIN_INTERVAL)
    }
}

/// The error of invalid parameters of a delay-centric policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DelayCentricError {
    /// Time would not advance.
    #[error("`{key}` is {span}, but must be at least {MIN_INTERVAL}")]
    Short {
        /// The key of the parameter.
        key: &'static str,
        /// Its value.
        span: Duration,
    },
    /// The range to draw from is empty.
    #[error("`least` is {least}, which is more than `most`, {most}")]
    Order {
        /// The key of the table that holds both.
        part: &'static str,
        /// The minimum.
        least: Duration,
        /// The maximum.
        most: Duration,
    },
}

impl DelayCentricError {
    /// The key of the invalid value, or of the first of two that are inconsistent.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Short { key, .. } => String::from(*key),
            Self::Order { part, .. } => format!("{part}.least"),
        }
    }
}

impl DelayCentricConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first of [`Self::errors`].
    pub fn check(self) -> Result<(), DelayCentricError> {
        self.errors().next().map_or(Ok(()), Err)
    }

    /// All errors in the parameters.
    pub fn errors(self) -> impl Iterator<Item = DelayCentricError> {
        let (heartbeats, guard) = (self.heartbeats(), self.guard());
        let growth = self.growth().unwrap_or_default();
        let spans = [
            ("heartbeats.least", heartbeats.least),
            ("heartbeats.in_guard", heartbeats.in_guard),
            ("heartbeats.timeout", heartbeats.timeout),
            ("window", growth.window),
            ("reaction", growth.reaction),
            ("patience", growth.patience),
        ];
        let orders = [
            ("heartbeats", heartbeats.least, heartbeats.most),
            ("guard", guard.least, guard.most),
        ];
        let spans = spans.into_iter().filter(|(_, s)| *s < MIN_INTERVAL);
        let orders = orders.into_iter().filter(|(_, least, most)| least > most);
        let spans = spans.map(|(key, span)| DelayCentricError::Short { key, span });
        spans.chain(orders.map(|(part, least, most)| DelayCentricError::Order {
            part,
            least,
            most,
        }))
    }

    /// Builds the policy; data starts on the first path unless the context names another.
    #[must_use]
    pub fn build(self, context: PolicyContext) -> DelayCentric {
        DelayCentric::new(self, context)
    }

    /// The guard time.
    #[must_use]
    pub const fn guard(self) -> Guard {
        match self {
            Self::DelayCentric(config) => config.guard,
            Self::PredictiveDelayCentric(config) => config.guard,
            Self::DelayGrowth(_) => Guard::NONE,
        }
    }

    /// The data that moves together.
    #[must_use]
    pub const fn scope(self) -> Scope {
        match self {
            Self::DelayCentric(config) => config.scope,
            Self::PredictiveDelayCentric(config) => config.scope,
            Self::DelayGrowth(config) => config.scope,
        }
    }

    /// The heartbeats.
    #[must_use]
    pub const fn heartbeats(self) -> Heartbeats {
        match self {
            Self::DelayCentric(config) => config.heartbeats,
            Self::PredictiveDelayCentric(config) => config.heartbeats,
            Self::DelayGrowth(config) => config.heartbeats,
        }
    }

    /// The policy with other data that moves together.
    #[must_use]
    pub const fn with_scope(mut self, scope: Scope) -> Self {
        match &mut self {
            Self::DelayCentric(config) => config.scope = scope,
            Self::PredictiveDelayCentric(config) => config.scope = scope,
            Self::DelayGrowth(config) => config.scope = scope,
        }
        self
    }

    /// The policy with other heartbeats.
    #[must_use]
    pub const fn with_heartbeats(mut self, heartbeats: Heartbeats) -> Self {
        match &mut self {
            Self::DelayCentric(config) => config.heartbeats = heartbeats,
            Self::PredictiveDelayCentric(config) => config.heartbeats = heartbeats,
            Self::DelayGrowth(config) => config.heartbeats = heartbeats,
        }
        self
    }

    /// The policy with another `hysteresis`, or `threshold` of the predictive one.
    #[must_use]
    pub const fn with_margin(mut self, margin: Duration) -> Self {
        match &mut self {
            Self::DelayCentric(config) => config.hysteresis = margin,
            Self::PredictiveDelayCentric(config) => config.threshold = margin,
            Self::DelayGrowth(config) => config.hysteresis = margin,
        }
        self
    }

    /// The policy with another guard time, if it has one.
    #[must_use]
    pub const fn with_guard(mut self, guard: Guard) -> Self {
        match &mut self {
            Self::DelayCentric(config) => config.guard = guard,
            Self::PredictiveDelayCentric(config) => config.guard = guard,
            Self::DelayGrowth(_) => {}
        }
        self
    }

    /// The shortest interval between heartbeats on a path.
    #[must_use]
    pub fn shortest_heartbeat_interval(self) -> Duration {
        let heartbeats = self.heartbeats();
        if self.guard().most > Duration::ZERO {
            heartbeats.least.min(heartbeats.in_guard)
        } else {
            heartbeats.least
        }
    }

    /// The parameters of `delay-growth`, if the policy is that.
    #[must_use]
    pub const fn growth(self) -> Option<GrowthConfig> {
        match self {
            Self::DelayGrowth(config) => Some(config),
            Self::DelayCentric(_) | Self::PredictiveDelayCentric(_) => None,
        }
    }
}

fn uniform(least: Duration, most: Duration, stream: &mut Stream) -> Duration {
    let width = most.0.saturating_sub(least.0);
    least + Duration(stream.below(width.saturating_add(1)))
}
