//! The detection of missing packets ([`crate::repair`]).

use super::{AFTER_BURST, BURST, MARGIN, Repair, RepairOutput};
use crate::frame::{PathId, Payload};
use crate::repair::outstanding::{Entry, State, Transmission};
use crate::repair::report::Report;
use crate::repair::reporter::{LIFETIME, MAX_AWAITED};
use crate::time::{Duration, Time};

/// The time within which the receiver reports a gap, if it may report.
const REPORTED: Duration = Duration::from_millis(2);

impl<P: Payload> Repair<P> {
    /// Ends what has arrived by the report, and finds what is missing.
    pub(super) fn find_missing(
        &mut self,
        now: Time,
        report: Option<(Time, &Report)>,
        out: &mut impl FnMut(RepairOutput<P>),
    ) {
        self.check = None;
        let mut outstanding = core::mem::take(&mut self.outstanding);
        let end = outstanding.end();
        for (sequence, entry) in outstanding.iter_mut() {
            // Those that wait for their first transmission cannot have arrived.
            if matches!(entry.state, State::Done | State::Queued) {
                continue;
            }
            if report.is_some_and(|(_, report)| report.has(sequence)) {
                let is_before = report.is_some_and(|(_, report)| sequence < report.base);
                if entry.state == State::Missing
                    && is_before
                    && is_forgotten(now, entry, end - sequence)
                {
                    self.give_up(entry, out);
                    continue;
                }
                self.waiting -= u32::from(entry.state == State::Missing);
                self.count_arrival(entry);
                entry.end();
                continue;
            }
            if entry.state == State::InFlight {
                self.find_missing_transmissions(now, entry, report.map(|(made, _)| made));
            }
        }
        self.outstanding = outstanding;
        for misses in &mut self.misses {
            if core::mem::take(&mut misses.burst) >= BURST {
                misses.burst_end = now + AFTER_BURST;
            }
        }
    }

    /// Counts a packet that has arrived: on all paths that carried it, unless it is missing there.
    fn count_arrival(&mut self, entry: &Entry<P>) {
        let size = entry.packet.as_ref().map_or(0, |packet| packet.meta.size);
        // One that counts as missing may be the one that has arrived.
        let is_certain = entry.count() == 1;
        let arrived = (0..entry.count()).find(|&index| {
            is_certain || (!entry.transmission(index).is_missing && self.is_judged(entry, index))
        });
        if let Some(index) = arrived {
            let Transmission { path, sent, .. } = entry.transmission(index);
            self.estimates.on_outcome(path, sent, false);
        }
        for sent in entry.transmissions().filter(|sent| !sent.is_missing) {
            if let Some(rate) = self.rates.get_mut(sent.path.index()) {
                rate.add(size, is_certain);
            }
        }
    }

    /// Whether the packet arrives, or is missing, by transmission `index` alone: reports lacked those
    /// before it, and those after it cannot arrive before this one counts as missing.
    ///
    /// Of a packet with copies, reports show that it has arrived, and not on which path. Only where
    /// one outcome can be distinguished from the other do both count for the path: otherwise one
    /// whose packets all have copies would have losses and no arrivals.
    fn is_judged(&self, entry: &Entry<P>, index: u8) -> bool {
        let this = entry.transmission(index);
        let estimates = &self.estimates;
        let is_before = |first: Transmission, second: Transmission| {
            let [first, second] = [first, second].map(|of| (of.path, of.sent));
            estimates.is_missing_before(first, second, MARGIN + REPORTED)
        };
        (0..entry.count())
            .filter(|other| *other != index)
            .all(|other| {
                let other = entry.transmission(other);
                is_before(this, other) || (other.is_lacked && is_before(other, this))
            })
    }

    /// Finds the transmissions of a packet that are missing.
    fn find_missing_transmissions(&mut self, now: Time, entry: &mut Entry<P>, made: Option<Time>) {
        let mut in_flight = false;
        let mut lacked = 0_u8;
        for index in 0..entry.count() {
            let Transmission {
                path,
                sent,
                is_missing,
                ..
            } = entry.transmission(index);
            if is_missing {
                continue;
            }
            let estimates = &self.estimates;
            let timeout = sent + self.timeout(path);
            let is_lost = now >= timeout
                || made.is_some_and(|made| {
                    estimates.is_overtaken(path, sent)
                        || estimates.was_due(path, sent, MARGIN, made)
                });
            if !is_lost {
                in_flight = true;
                self.schedule(timeout);
                continue;
            }
            // A report that is late or lost is no sign against the path.
            let is_lacked = self.estimates.was_reported(path, sent);
            entry.set_missing(index, is_lacked);
            lacked |= u8::from(is_lacked) << index;
        }
        self.count_losses(entry, lacked);
        if in_flight {
            return;
        }
        if entry.is_repaired() {
            entry.state = State::Missing;
            self.waiting += 1;
        } else {
            entry.end();
        }
    }

    /// Counts those transmissions of a packet that a report lacked now, as bits of `lacked`.
    fn count_losses(&mut self, entry: &Entry<P>, lacked: u8) {
        for index in (0..entry.count()).filter(|index| lacked & 1 << index != 0) {
            let Transmission { path, sent, .. } = entry.transmission(index);
            if self.is_judged(entry, index) {
                self.estimates.on_outcome(path, sent, true);
            }
            self.count_miss(path, sent);
        }
    }

    fn count_miss(&mut self, path: PathId, sent: Time) {
        let is_silent = self.estimates.is_silent_since(path, sent);
        let Some(misses) = self.misses.get_mut(path.index()) else {
            return;
        };
        misses.burst += 1;
        if is_silent {
            if misses.count == 0 {
                misses.since = sent;
            }
            misses.count += 1;
        }
    }
}

/// Whether a receiver that reports nothing of a packet, since it is before the base of the report,
/// may have stopped to wait for it; `behind` is its distance from the newest. Otherwise the packet
/// has arrived.
fn is_forgotten<P>(now: Time, entry: &Entry<P>, behind: u64) -> bool {
    let sent = entry.transmissions().next().map(|first| first.sent);
    sent.is_none_or(|sent| now >= sent + LIFETIME) || behind >= MAX_AWAITED
}
