//! What a delay-centric policy is made of.

use super::DelayCentric;
use crate::frame::PathId;
use crate::rng::Stream;
use crate::time::Duration;

/// The kinds of delay-centric path choice, with their parameters, as scenario files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(
    feature = "serde",
    serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum DelayCentricConfig {
    /// To the path with the lower smoothed round-trip time (delay-centric paper, II.B).
    DelayCentric {
        /// By how much it has to be lower; the paper's experiments have 10 ms.
        #[cfg_attr(feature = "serde", serde(default = "default_hysteresis"))]
        hysteresis: Duration,
        /// What passes between the wish to switch and the switch.
        #[cfg_attr(feature = "serde", serde(default))]
        guard: Guard,
        /// How the paths without data are measured.
        #[cfg_attr(feature = "serde", serde(default))]
        heartbeats: Heartbeats,
    },
    /// To the path with the lower short-term average where the trends say so, too (delay-centric paper, II.C).
    PredictiveDelayCentric {
        /// A path is left only where its short-term average is more; 150 ms in the paper's text, 70 ms in its
        /// experiments.
        #[cfg_attr(feature = "serde", serde(default = "default_threshold"))]
        threshold: Duration,
        /// What the trends have to say.
        #[cfg_attr(feature = "serde", serde(default))]
        trend: TrendRule,
        /// What passes between the wish to switch and the switch.
        #[cfg_attr(feature = "serde", serde(default))]
        guard: Guard,
        /// How the paths without data are measured.
        #[cfg_attr(feature = "serde", serde(default))]
        heartbeats: Heartbeats,
    },
}

/// Condition (ii) of the predictive kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum TrendRule {
    /// The current path's time rises (the original method).
    Original,
    /// The current path's trend is greater than the other's (the paper's modification).
    #[default]
    Modified,
}

/// The guard time: uniform in `[least, most]`, drawn each time; none where both are 0, fixed where they are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Guard {
    /// The shortest; the paper's experiments have 1 s.
    pub least: Duration,
    /// The longest; the paper's experiments have 4 s.
    pub most: Duration,
    /// Which switches it keeps back.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kind: GuardKind,
}

/// What a guard time keeps back, from when on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum GuardKind {
    /// Every switch, from the wish on: at its end the rule confirms or cancels it (delay-centric paper, II.B).
    #[default]
    Confirm,
    /// The next switch, from the last one on: the rule is not asked again before its end. Not in the paper's text.
    Hold,
}

/// How paths that carry no data are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Heartbeats {
    /// The shortest time from one to the next on a path: uniform in `[least, most]`, drawn each time.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
    /// The time from one to the next in guard time: on the path to which it leads, or, where it follows a switch, on all
    /// without data.
    pub in_guard: Duration,
    /// A path that answers nothing for so long has no estimate any more, and is left.
    pub timeout: Duration,
}

impl Default for Heartbeats {
    /// The paper's experiments (III); the time-out is SCTP's least one (`RTO.Min`, RFC 9260, 16).
    fn default() -> Self {
        Self {
            least: Duration::from_millis(500),
            most: Duration::from_millis(1500),
            in_guard: Duration::from_millis(20),
            timeout: Duration::from_secs(1),
        }
    }
}

/// No interval and no time-out is shorter: time goes on.
pub const MIN_INTERVAL: Duration = Duration::from_millis(1);

impl Guard {
    /// Whether there is any.
    #[must_use]
    pub fn is_some(self) -> bool {
        self.most > Duration::ZERO
    }

    /// Whether there is any, of this kind.
    pub(super) fn is_of(self, kind: GuardKind) -> bool {
        self.is_some() && self.kind == kind
    }

    /// A drawn guard time.
    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        uniform(self.least, self.most, stream).max(MIN_INTERVAL)
    }
}

impl Heartbeats {
    /// A drawn interval.
    pub(super) fn draw(self, stream: &mut Stream) -> Duration {
        uniform(self.least, self.most, stream).max(MIN_INTERVAL)
    }
}

/// Why there is no such policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DelayCentricError {
    /// Time would not go on.
    #[error("`{key}` is {span}, but must be at least {MIN_INTERVAL}")]
    Short {
        /// The parameter, as scenario files have it.
        key: &'static str,
        /// What it is.
        span: Duration,
    },
    /// What is drawn from has no values.
    #[error("`least` is {least}, and `most` is {most}")]
    Order {
        /// What they are parts of, as scenario files have it.
        part: &'static str,
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
}

impl DelayCentricConfig {
    /// Whether there is such a policy.
    ///
    /// # Errors
    /// The first of [`Self::errors`].
    pub fn check(self) -> Result<(), DelayCentricError> {
        self.errors().next().map_or(Ok(()), Err)
    }

    /// All that speaks against it.
    pub fn errors(self) -> impl Iterator<Item = DelayCentricError> {
        let (heartbeats, guard) = (self.heartbeats(), self.guard());
        let spans = [
            ("heartbeats.least", heartbeats.least),
            ("heartbeats.in_guard", heartbeats.in_guard),
            ("heartbeats.timeout", heartbeats.timeout),
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

    /// The policy over the first `paths` paths, with data on `first` to begin with; it draws from `stream`.
    #[must_use]
    pub fn build(self, paths: u8, first: PathId, stream: Stream) -> DelayCentric {
        DelayCentric::new(self, paths, first, stream)
    }

    /// Its guard time.
    #[must_use]
    pub const fn guard(self) -> Guard {
        match self {
            Self::DelayCentric { guard, .. } | Self::PredictiveDelayCentric { guard, .. } => guard,
        }
    }

    /// Its heartbeats.
    #[must_use]
    pub const fn heartbeats(self) -> Heartbeats {
        match self {
            Self::DelayCentric { heartbeats, .. }
            | Self::PredictiveDelayCentric { heartbeats, .. } => heartbeats,
        }
    }
}

fn uniform(least: Duration, most: Duration, stream: &mut Stream) -> Duration {
    let width = most.0.saturating_sub(least.0);
    least + Duration(stream.below(width.saturating_add(1)))
}

#[cfg(feature = "serde")]
fn default_hysteresis() -> Duration {
    Duration::from_millis(10)
}

#[cfg(feature = "serde")]
fn default_threshold() -> Duration {
    Duration::from_millis(150)
}
