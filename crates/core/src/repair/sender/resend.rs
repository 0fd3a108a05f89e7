//! Missing packets are sent again: which, when, and on which paths.

use alloc::vec::Vec;

use super::super::outstanding::{Entry, Outstanding, State};
use super::{RETRY, Repair, RepairOutput};
use crate::frame::{PathId, Payload};
use crate::packet::PacketMeta;
use crate::policy::{PathSet, Paths};
use crate::time::{Duration, Time};

impl<P: Payload> Repair<P> {
    /// Sends missing packets again, that with the earliest deadline first, as far as the budget
    /// permits it. A packet that only paths ahead of their ceilings would deliver in time waits for
    /// these.
    pub(super) fn repair(
        &mut self,
        now: Time,
        carriers: impl Fn(&PacketMeta) -> Paths,
        out: &mut impl FnMut(RepairOutput<P>),
    ) {
        if self.waiting == 0 {
            return;
        }
        let mut outstanding = core::mem::take(&mut self.outstanding);
        let mut is_spent = false;
        let earliest = now + self.least_one_way();
        for (deadline, sequence) in missing(&mut outstanding) {
            let Some(entry) = outstanding.get_mut(sequence) else {
                continue;
            };
            // In an outage thousands may wait: each is examined again once there is a budget for it.
            if is_spent && earliest <= deadline && !entry.is_full() {
                entry.lacks_budget = true;
                continue;
            }
            let Some(packet) = &entry.packet else {
                continue;
            };
            let Paths { copies, full, .. } = carriers(&packet.meta);
            let paths = self.repair_paths(now, entry, copies);
            let size = packet.meta.size + self.encapsulation.data;
            if paths.is_empty() && !self.repair_paths(now, entry, full).is_empty() {
                continue;
            }
            if paths.is_empty() {
                self.give_up(entry, out);
                continue;
            }
            let Some(paths) = self.afford(paths, size) else {
                // What is earned is kept for it.
                (is_spent, entry.lacks_budget) = (true, true);
                continue;
            };
            let packet = packet.numbered(sequence);
            self.note_sent(now, paths, packet.meta.size);
            entry.transmit(now, paths);
            entry.repairs += 1;
            entry.lacks_budget = false;
            entry.state = State::InFlight;
            self.waiting -= 1;
            let timeouts = paths.into_iter().map(|path| self.timeout(path));
            self.schedule(now + timeouts.min().unwrap_or_default());
            out(RepairOutput::Resend { packet, paths });
        }
        self.outstanding = outstanding;
        if self.waiting > 0 {
            self.schedule(now + RETRY);
        }
    }

    /// The shortest one-way delay, 0 if that of a path is unknown.
    fn least_one_way(&self) -> Duration {
        let paths = (0..).map(PathId).take(self.misses.len());
        let delays = paths.map(|path| self.estimates.one_way(path).unwrap_or_default());
        delays.min().unwrap_or_default()
    }

    /// The paths of the next repair that would deliver it in time: one, or two if a repair was lost
    /// or if there is no time for another; first those that have not lost it. As long as there is
    /// time for another, it goes on one of the cheapest paths.
    fn repair_paths(&self, now: Time, entry: &Entry<P>, usable: PathSet) -> PathSet {
        if entry.is_full() || entry.deadline <= now {
            return PathSet::EMPTY;
        }
        let in_time = |path: &PathId| {
            let one_way = self.estimates.one_way(*path);
            one_way.is_none_or(|one_way| now + one_way <= entry.deadline)
        };
        let usable: PathSet = usable.into_iter().filter(in_time).collect();
        let failed = entry.missing_on();
        let again = self.fastest(usable).is_some_and(|path| {
            let repaired = self.repaired_after(path);
            repaired.is_some_and(|repaired| now + repaired <= entry.deadline)
        });
        let wanted = if entry.repairs == 0 && again { 1 } else { 2 };
        let mut chosen = PathSet::EMPTY;
        let first = if wanted == 1 {
            self.cheapest(usable)
        } else {
            usable
        };
        for candidates in [first.without(failed), first, usable] {
            while chosen.len() < wanted
                && let Some(path) = self.fastest(candidates.without(chosen))
            {
                chosen = chosen.with(path);
            }
        }
        chosen
    }

    /// Charges a repair of `size` bytes on the fastest of `paths`, and on each other as far as the
    /// budget allows. Another one that is silent delivers only if it returns in time, and so gets
    /// what the budget can spare: an outage must not use up what its later packets need.
    fn afford(&mut self, paths: PathSet, size: u32) -> Option<PathSet> {
        let mut affordable = PathSet::only(self.fastest(paths)?);
        if !self.budget.spend(size) {
            return None;
        }
        for path in paths.without(affordable) {
            let is_affordable = if self.is_silent(path) {
                self.budget.spend_spare(size)
            } else {
                self.budget.spend(size)
            };
            if is_affordable {
                affordable = affordable.with(path);
            }
        }
        self.statistics.repairs += u64::from(affordable.len());
        self.statistics.repair_bytes += u64::from(size * affordable.len());
        Some(affordable)
    }

    /// Gives up a missing packet.
    pub(super) fn give_up(&mut self, entry: &mut Entry<P>, out: &mut impl FnMut(RepairOutput<P>)) {
        self.waiting -= 1;
        if entry.lacks_budget {
            self.statistics.unaffordable += 1;
        } else {
            self.statistics.given_up += 1;
        }
        if let Some(packet) = entry.end() {
            out(RepairOutput::GivenUp {
                len: packet.meta.size,
            });
        }
    }
}

/// The missing packets, with their deadlines, the earliest first.
fn missing<P>(outstanding: &mut Outstanding<P>) -> Vec<(Time, u64)> {
    let entries = outstanding.iter_mut();
    let missing = entries.filter(|(_, entry)| entry.state == State::Missing);
    let mut missing: Vec<_> = missing
        .map(|(sequence, entry)| (entry.deadline, sequence))
        .collect();
    missing.sort_unstable();
    missing
}
