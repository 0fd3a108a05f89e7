//! The interface of a rate controller, and the reports that it receives.

use alloc::boxed::Box;
use core::cmp::Ordering;
use core::fmt::Debug;

use crate::time::{Duration, Time};

/// Determines the spacing between packets.
pub trait RateController: CloneBoxed + Debug + Send {
    /// The spacing `t_s` for a packet whose transmission starts after `now`.
    fn spacing(&self, now: Time) -> Duration;

    /// Applies the receiver's report and returns the change of the spacing.
    fn handle_feedback(&mut self, now: Time, report: &FeedbackReport) -> SpacingChange;

    /// Reacts to packets for which feedback is long overdue; called again after each such time. The
    /// paper's controllers keep their spacing.
    fn handle_silence(&mut self, now: Time) {
        let _ = now;
    }
}

/// Copies a boxed controller, because a simulated network is copied with its senders.
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

/// The numbers of packets sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// The paper's `p_sent`.
    pub sent: u64,
    /// The paper's `p_rcvd`.
    pub received: u64,
}

impl PacketCounts {
    /// The number of packets sent but not received.
    #[must_use]
    pub fn lost(self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

/// A receiver's feedback as a controller sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackReport {
    /// Packets sent and received, by the sender's configured counting.
    pub reading: PacketCounts,
    /// One past the newest sequence number that the report covers.
    pub end: u64,
    /// The newest lost sequence number; `None` without a loss.
    pub newest_lost: Option<u64>,
    /// The sequence number of the first packet to which a change of the spacing applies.
    pub next_sequence: u64,
    /// The round-trip time, which bounds the spacing.
    pub rtt: Duration,
    /// The round-trip time of the newest packet that the report covers, with its queueing delay;
    /// `None` if the report echoes no send time of this sender.
    pub sample: Option<Duration>,
    /// Whether no packet since the last report waited for its time, as the application had none ready:
    /// that none was lost does not show that the network carries more (RFC 7661, section 4.3).
    pub is_application_limited: bool,
}

/// The effect of a report on the spacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SpacingChange {
    /// The spacing stays.
    Held,
    /// The spacing is smaller.
    Lowered,
    /// The spacing is larger: packets were lost, or their queue is too long.
    Raised,
    /// Packets were lost after a decrease, which was reverted.
    Reverted,
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
