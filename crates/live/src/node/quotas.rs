//! The quotas of a node's paths: exact counts, renewals, and the counts that the next run needs.
//!
//! The endpoint counts its frames ([`polypath_core::metering`]). The sockets also carry handshakes,
//! datagrams of relays and datagrams that are rejected; so the endpoint is corrected every
//! [`INTERVAL`].
//!
//! A node that is killed must not forget what it has used. So the state file always has more than was
//! used: it is written ahead, by what the path carries in two seconds and at least [`MIN_CHUNK`].
//! After a crash the rest of that counts as used; a node that ends in order writes the exact count.

use std::collections::BTreeMap;

use polypath_core::frame::PathId;
use polypath_core::tariff::{Tariff, Tariffs};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_session::tunnel::Input;
use serde::{Deserialize, Serialize};

use crate::stats::Traffic;

mod period;

/// The interval of corrections.
const INTERVAL: Duration = Duration::from_millis(100);
/// The least that is written ahead, in bytes: a thousandth of a quota of 1 GB.
const MIN_CHUNK: u64 = 1_000_000;
/// The intervals whose traffic is written ahead.
const INTERVALS_AHEAD: u64 = 20;

/// The use of a quota, as the state file has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedQuota {
    /// The day on which the count began, in days since 1970-01-01 UTC.
    since_day: i32,
    /// The bytes that were used since then, or may have been.
    used: u64,
}

/// The quotas of the paths.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    paths: BTreeMap<PathId, Quota>,
    /// The time of the next correction.
    next: Time,
}

#[derive(Debug)]
struct Quota {
    tariff: Tariff,
    since_day: i32,
    /// The bytes used before this count of the sockets.
    base: u64,
    counted_from: u64,
    used: u64,
    /// The bytes that are saved as used.
    granted: u64,
    /// Whether the count began again, or was set, since the endpoint was told.
    is_renewed: bool,
    is_new: bool,
}

impl Quota {
    fn new(tariff: Tariff, saved: Option<SavedQuota>, today: i32, counted_from: u64) -> Self {
        let used = saved.map_or(0, |saved| saved.used);
        Self {
            tariff,
            since_day: saved.map_or(today, |saved| saved.since_day),
            base: used,
            counted_from,
            used,
            granted: used,
            is_renewed: false,
            is_new: true,
        }
    }

    /// Begins a new count if the period has changed. A clock that was set back begins none.
    fn renew(&mut self, wall_clock: u64, traffic: u64) {
        let today = period::day(wall_clock);
        self.since_day = self.since_day.min(today);
        let Some(start) = period::start(&self.tariff, today) else {
            return;
        };
        if start > self.since_day {
            self.since_day = start;
            self.base = 0;
            self.counted_from = traffic;
            self.granted = 0;
            self.is_renewed = true;
        }
    }

    /// Counts `traffic`, all bytes of the path since the start; returns the input for the endpoint if
    /// something is new.
    fn count(&mut self, path: PathId, traffic: u64) -> Option<Input> {
        let used = self.base + traffic.saturating_sub(self.counted_from);
        let growth = used.saturating_sub(self.used);
        let chunk = MIN_CHUNK.max(growth.saturating_mul(INTERVALS_AHEAD));
        if used + chunk / 2 > self.granted {
            self.granted = used + chunk;
        }
        let is_changed = used != self.used || self.is_renewed || self.is_new;
        self.used = used;
        self.is_new = false;
        is_changed.then(|| Input::PathUsed {
            path,
            used: Bytes(used),
            is_renewed: std::mem::take(&mut self.is_renewed),
        })
    }
}

impl Quotas {
    /// The quotas of `tariffs`, which an earlier run used as `saved` states; the sockets have carried
    /// nothing yet.
    pub(super) fn new(
        tariffs: &Tariffs,
        saved: impl Fn(PathId) -> Option<SavedQuota>,
        wall_clock: u64,
    ) -> Self {
        let today = period::day(wall_clock);
        let limited = quotas_of(tariffs);
        let quota = |(path, tariff)| (path, Quota::new(tariff, saved(path), today, 0));
        Self {
            paths: limited.map(quota).collect(),
            next: Time::ZERO,
        }
    }

    /// Whether the counts are due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        !self.paths.is_empty() && now >= self.next
    }

    /// Counts the `traffic` of all paths since the start, with outer headers; returns the inputs of
    /// the endpoint.
    pub(super) fn update(
        &mut self,
        now: Time,
        wall_clock: u64,
        traffic: impl Iterator<Item = Traffic>,
    ) -> Vec<Input> {
        self.next = now + INTERVAL;
        let mut inputs = Vec::new();
        for (path, traffic) in (0..).map(PathId).zip(traffic) {
            if let Some(quota) = self.paths.get_mut(&path) {
                let bytes = traffic.sent.bytes + traffic.received.bytes;
                quota.renew(wall_clock, bytes);
                inputs.extend(quota.count(path, bytes));
            }
        }
        inputs
    }

    /// Applies other tariffs: a path keeps its count.
    pub(super) fn adjust(
        &mut self,
        tariffs: &Tariffs,
        wall_clock: u64,
        traffic: impl Iterator<Item = Traffic>,
    ) {
        let today = period::day(wall_clock);
        let counted: Vec<u64> = traffic
            .map(|path| path.sent.bytes + path.received.bytes)
            .collect();
        let former = std::mem::take(&mut self.paths);
        let mut former = former;
        for (path, tariff) in quotas_of(tariffs) {
            let counted = counted.get(path.index()).copied().unwrap_or(0);
            let quota = match former.remove(&path) {
                Some(quota) => Quota { tariff, ..quota },
                None => Quota::new(tariff, None, today, counted),
            };
            self.paths.insert(path, quota);
        }
        self.next = Time::ZERO;
    }

    /// The counts for the next run; `is_last` states that this one carries nothing more.
    pub(super) fn saved(&self, is_last: bool) -> impl Iterator<Item = (PathId, SavedQuota)> {
        self.paths.iter().map(move |(path, quota)| {
            let used = if is_last { quota.used } else { quota.granted };
            let since_day = quota.since_day;
            (*path, SavedQuota { since_day, used })
        })
    }
}

/// The paths with a quota.
fn quotas_of(tariffs: &Tariffs) -> impl Iterator<Item = (PathId, Tariff)> {
    let paths = (0..polypath_core::policy::PathSet::CAPACITY).map(PathId);
    let tariffs = paths.map(|path| (path, tariffs.of(path)));
    tariffs.filter(|(_, tariff)| tariff.quota.is_some())
}

/// Whether a path has a quota.
pub(super) fn has_quota(tariffs: &Tariffs) -> bool {
    quotas_of(tariffs).next().is_some()
}

#[cfg(test)]
mod tests;
