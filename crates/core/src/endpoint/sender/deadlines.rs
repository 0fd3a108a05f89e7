//! The deadlines of a sender.

use super::Sender;
use crate::frame::Payload;
use crate::machine::{Deadline, EarliestDeadline};

impl<P: Payload> Sender<P> {
    /// Whether only the policy has deadlines.
    #[inline]
    pub(in super::super) fn only_policy_has_deadlines(&self) -> bool {
        self.repair.is_none() && self.liveness.is_none()
    }

    /// The next deadline of the policy.
    #[inline]
    pub(in super::super) fn policy_deadline(&self) -> Option<Deadline> {
        self.policy.current.deadline()
    }

    /// Adds the deadlines of the policy, repairs and the liveness monitor.
    #[inline]
    pub(in super::super) fn add_deadlines(&self, next: &mut EarliestDeadline) {
        next.add_deadline(self.policy_deadline());
        if let Some(repair) = &self.repair {
            next.add(repair.deadline(), "repair");
            next.add(self.pacing.deadline(), "paced packet");
        }
        next.add_deadline(self.monitor_deadline());
    }

    /// The next deadline of the liveness monitor or of path MTU discovery.
    pub(super) fn monitor_deadline(&self) -> Option<Deadline> {
        let liveness = self.liveness.as_ref()?;
        debug_assert!(self.sizes.is_fresh(liveness));
        Deadline::earlier(liveness.deadline(), self.sizes.deadline())
    }
}
