//! The reports of a reception.

use polypath_core::connections::Windows;
use polypath_core::time::Time;
use polypath_core::units::{Bytes, Rate};

use super::{ReceptionReport, ReceptionTask};

/// The report of a reception, and its observer.
pub(super) struct Reports<F: FnMut(&ReceptionReport)> {
    observe: F,
    pub(super) totals: ReceptionReport,
    /// The bytes and the time of the report before.
    last: (u64, Time),
    last_delivery: Time,
}

impl<F: FnMut(&ReceptionReport)> Reports<F> {
    pub(super) fn new(observe: F) -> Self {
        Self {
            observe,
            totals: ReceptionReport::default(),
            last: (0, Time::ZERO),
            last_delivery: Time::ZERO,
        }
    }

    pub(super) fn on_delivery(&mut self, now: Time) {
        if self.totals.packets > 0 {
            self.note_gap(now);
        }
        self.last_delivery = now;
        self.totals.packets += 1;
    }

    fn note_gap(&mut self, now: Time) {
        let gap = now.since(self.last_delivery);
        self.totals.longest_gap = self.totals.longest_gap.max(gap);
    }
}

impl<F: FnMut(&ReceptionReport)> ReceptionTask<F> {
    /// Reports what has happened since the report before.
    pub(super) fn report(&mut self) {
        let now = self.clock.now();
        self.update_totals(now);
        let reports = &mut self.reports;
        let totals = &mut reports.totals;
        let (bytes, since) = std::mem::replace(&mut reports.last, (totals.bytes, now));
        let delivered = Bytes(totals.bytes - bytes);
        totals.rate = Rate::average(delivered, now.since(since)).unwrap_or_default();
        (reports.observe)(totals);
    }

    /// The report of the whole stream up to now.
    pub(super) fn final_report(&mut self) -> ReceptionReport {
        self.update_totals(self.clock.now());
        let totals = &mut self.reports.totals;
        let bytes = Bytes(totals.bytes);
        totals.rate = Rate::average(bytes, totals.elapsed).unwrap_or_default();
        totals.clone()
    }

    fn update_totals(&mut self, now: Time) {
        let reception = &self.reception;
        if !reception.is_complete() && self.reports.totals.packets > 0 {
            self.reports.note_gap(now);
        }
        let totals = &mut self.reports.totals;
        totals.elapsed = now.since(Time::ZERO);
        totals.connections =
            u32::try_from(reception.open_connections().count()).unwrap_or(u32::MAX);
        totals.control = reception.control();
        let receiver = reception.receiver();
        totals.window_sum = receiver.wanted().map_or(0, Windows::sum);
        totals.stops = receiver.stops();
        totals.duplicates = receiver.packets().duplicates;
        let counts = reception.counts();
        (totals.opened, totals.failed) = (counts.opened, counts.failed);
    }
}

/// The last report is also that of a stream that fails or is cancelled.
impl<F: FnMut(&ReceptionReport)> Drop for ReceptionTask<F> {
    fn drop(&mut self) {
        let report = self.final_report();
        (self.reports.observe)(&report);
    }
}
