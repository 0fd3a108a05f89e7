//! What sets the spacing, and what it is told.

use alloc::boxed::Box;
use core::cmp::Ordering;
use core::fmt::Debug;

use super::account::PacketCounts;
use super::config::AdaptiveConfig;
use crate::time::{Duration, Time};

/// Sets the spacing between packets.
pub trait RateController: CloneBoxed + Debug + Send {
    /// The spacing `t_s` for a packet that begins after `now`.
    fn spacing(&self, now: Time) -> Duration;

    /// Takes what the receiver reports, and says what became of the spacing.
    fn handle_feedback(&mut self, now: Time, report: &FeedbackReport) -> SpacingChange;
}

/// Copies a controller whose kind is not known: a simulated network is copied with its senders.
pub trait CloneBoxed {
    /// A copy in the same state.
    fn clone_boxed(&self) -> Box<dyn RateController>;
}

impl<C: RateController + Clone + 'static> CloneBoxed for C {
    fn clone_boxed(&self) -> Box<dyn RateController> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn RateController> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

/// A receiver's feedback as a controller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackReport {
    /// Packets sent and received, counted as the sender is configured to.
    pub reading: PacketCounts,
    /// One past the newest sequence number that the report is about.
    pub end: u64,
    /// The newest sequence number that was lost; `None` without a loss.
    pub newest_lost: Option<u64>,
    /// The sequence number of the first packet that a change of the spacing will concern.
    pub next_sequence: u64,
    /// The round-trip time: the upper bound of the spacing.
    pub rtt: Duration,
}

/// What a controller made of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SpacingChange {
    /// The spacing stays.
    Held,
    /// Nothing was lost: the spacing is smaller.
    Lowered,
    /// Packets were lost: the spacing is larger.
    Raised,
    /// Packets were lost since the spacing was lowered: it is what it was before.
    Reverted,
}

/// To which spacing a loss belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Attribution {
    /// To the one in force when the lost packet was sent: a report on packets from before the last raise
    /// changes nothing, since the reaction to it was that raise.
    #[default]
    WhenSent,
    /// To the latest one, as Fig. 4 says literally: each report changes the spacing.
    Latest,
}

impl SpacingChange {
    /// The change from one spacing to the next.
    pub(super) fn between(before: Duration, after: Duration) -> Self {
        match after.cmp(&before) {
            Ordering::Less => Self::Lowered,
            Ordering::Equal => Self::Held,
            Ordering::Greater => Self::Raised,
        }
    }
}

/// What a report says of the spacings since the last raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossVerdict {
    /// Nothing.
    Silent,
    /// No packet was lost.
    Clear,
    /// Packets were lost, and this one last.
    Lost(u64),
}

impl AdaptiveConfig {
    /// What `report` says when the spacing was last raised before packet `raised_at`.
    pub(super) fn verdict(&self, report: &FeedbackReport, raised_at: u64) -> LossVerdict {
        let predates = |packet| self.attribution == Attribution::WhenSent && packet < raised_at;
        match report.newest_lost {
            Some(lost) if predates(lost) => LossVerdict::Silent,
            Some(lost) => LossVerdict::Lost(lost),
            None if report.reading == PacketCounts::default() => LossVerdict::Silent,
            None if predates(report.end.saturating_sub(1)) => LossVerdict::Silent,
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
