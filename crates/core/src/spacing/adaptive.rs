//! The parameters and rules that the ad hoc and damped protocols share (paper, Fig. 4).

use super::controller::{FeedbackReport, PacketCounts};
use crate::time::Duration;

/// The parameters of the ad hoc and damped protocols (paper, Fig. 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct AdaptiveConfig {
    /// The initial spacing; 0 in the paper.
    pub initial: Duration,
    /// The spacing after a loss at spacing 0; 50 us in the paper.
    pub first: Duration,
    /// The decrease of the spacing without a loss; 2 in the paper, read as microseconds.
    pub step: Duration,
    /// The spacing to which a loss is attributed.
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

/// The spacing to which a loss is attributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Attribution {
    /// The spacing in force when the lost packet was sent. A report on packets sent before the last
    /// raise changes nothing, because that raise was the reaction to it.
    #[default]
    WhenSent,
    /// The latest spacing, the literal reading of Fig. 4: each report changes the spacing.
    Latest,
}

/// The result of a report for the spacings since the last raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossVerdict {
    /// The report concerns no packet sent since the raise, or none that the spacing delayed.
    Irrelevant,
    /// No packet was lost.
    Clear,
    /// Packets were lost; the newest of them has this sequence number.
    Lost(u64),
}

impl AdaptiveConfig {
    /// Evaluates `report`, where packet `raised_at` is the first one sent since the last raise.
    pub(super) fn verdict(&self, report: &FeedbackReport, raised_at: u64) -> LossVerdict {
        let predates = |packet| self.attribution == Attribution::WhenSent && packet < raised_at;
        match report.newest_lost {
            Some(lost) if predates(lost) => LossVerdict::Irrelevant,
            Some(lost) => LossVerdict::Lost(lost),
            None if report.reading == PacketCounts::default() => LossVerdict::Irrelevant,
            None if predates(report.end.saturating_sub(1)) => LossVerdict::Irrelevant,
            None if report.is_application_limited => LossVerdict::Irrelevant,
            None => LossVerdict::Clear,
        }
    }

    /// The spacing after a loss (Fig. 4).
    pub(super) fn raise(&self, spacing: Duration, rtt: Duration) -> Duration {
        let raised = if spacing == Duration::ZERO {
            self.first
        } else {
            spacing * 2
        };
        raised.min(rtt)
    }

    /// The spacing after a round-trip time without loss (Fig. 4), never below zero.
    pub(super) fn lower(&self, spacing: Duration, rtt: Duration) -> Duration {
        (spacing - self.step).min(rtt)
    }
}
