//! The reports of a reception.

use polypath_core::time::Time;
use polypath_core::units::{Bytes, Rate};

use super::{Reception, ReceptionReport};

impl<F: FnMut(&ReceptionReport)> Reception<F> {
    /// The report since the one before.
    pub(super) fn report(&mut self) {
        let now = self.clock.now();
        let (bytes, since) = std::mem::replace(&mut self.last_report, (self.totals.bytes, now));
        let delivered = Bytes(self.totals.bytes - bytes);
        self.totals.rate = Rate::average(delivered, now.since(since)).unwrap_or_default();
        self.update_totals(now);
        (self.observe)(&self.totals);
    }

    /// The report of the whole stream up to now.
    pub(super) fn final_report(&mut self) -> ReceptionReport {
        let now = self.clock.now();
        self.update_totals(now);
        let bytes = Bytes(self.totals.bytes);
        self.totals.rate = Rate::average(bytes, self.totals.elapsed).unwrap_or_default();
        self.totals.clone()
    }

    fn update_totals(&mut self, now: Time) {
        self.totals.connections = u32::try_from(self.carrying().count()).unwrap_or(u32::MAX);
        self.totals.control = self.credits.control();
        self.totals.elapsed = now.since(Time::ZERO);
        if !self.is_complete() && self.totals.packets > 0 {
            let gap = now.since(self.last_delivery);
            self.totals.longest_gap = self.totals.longest_gap.max(gap);
        }
        self.totals.stops = self.machine.stops();
        self.totals.duplicates = self.machine.packets().duplicates;
    }
}

/// The last report is also that of a stream that fails or is cancelled.
impl<F: FnMut(&ReceptionReport)> Drop for Reception<F> {
    fn drop(&mut self) {
        let report = self.final_report();
        (self.observe)(&report);
    }
}
