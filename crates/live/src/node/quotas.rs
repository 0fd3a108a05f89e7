//! The quotas of a node's paths: exact counts, renewals, and the counts that the next run needs.
//!
//! The endpoint counts its frames ([`polypath_core::metering`]). The sockets also carry handshakes,
//! datagrams of relays and datagrams that are rejected; so the endpoint is corrected every
//! [`INTERVAL`].
//!
//! A node that is killed must not forget what it has used. So the state file always has more than was
//! used: it is written ahead of the traffic ([`quota`]). After a crash the rest of that counts as
//! used; a node that ends in order writes the exact count.

use std::collections::BTreeMap;

use polypath_core::frame::PathId;
use polypath_core::tariff::{Tariff, Tariffs};
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::Input;
use serde::{Deserialize, Serialize};

use crate::stats::Traffic;

mod period;
mod quota;

use quota::Quota;

/// The interval of corrections.
const INTERVAL: Duration = Duration::from_millis(100);
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
    /// Whether the node carries packets: then more than the use is saved.
    is_running: bool,
}

/// A time by the clock of the run, and by the wall clock in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Time,
    pub(super) wall_clock: u64,
}

impl Quotas {
    /// The quotas of `tariffs`, which an earlier run used as `saved` states; the sockets have carried
    /// nothing yet.
    pub(super) fn new(
        tariffs: &Tariffs,
        saved: impl Fn(PathId) -> Option<SavedQuota>,
        wall_clock: u64,
    ) -> Self {
        let quota = |(path, tariff)| (path, Quota::new(tariff, saved(path), wall_clock, 0));
        Self {
            paths: quotas_of(tariffs).map(quota).collect(),
            next: Time::ZERO,
            is_running: false,
        }
    }

    /// Saves more than the use from now on; a start that fails costs nothing.
    pub(super) fn start(&mut self) {
        self.is_running = true;
    }

    /// Whether the counts are due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        !self.paths.is_empty() && now >= self.next
    }

    /// Counts the `traffic` of all paths since the start, with outer headers; returns the inputs of
    /// the endpoint.
    pub(super) fn update(
        &mut self,
        moment: Moment,
        traffic: impl Iterator<Item = Traffic>,
    ) -> Vec<Input> {
        self.next = moment.now + INTERVAL;
        let mut inputs = Vec::new();
        for (path, traffic) in (0..).map(PathId).zip(traffic) {
            if let Some(quota) = self.paths.get_mut(&path) {
                let bytes = traffic.sent.bytes.saturating_add(traffic.received.bytes);
                inputs.extend(quota.update(path, moment, bytes, self.is_running));
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
        let counted: Vec<u64> = traffic
            .map(|path| path.sent.bytes.saturating_add(path.received.bytes))
            .collect();
        let former = std::mem::take(&mut self.paths);
        let mut former = former;
        for (path, tariff) in quotas_of(tariffs) {
            let counted = counted.get(path.index()).copied().unwrap_or(0);
            let quota = match former.remove(&path) {
                Some(mut quota) => {
                    quota.tariff = tariff;
                    quota
                }
                None => Quota::new(tariff, None, wall_clock, counted),
            };
            self.paths.insert(path, quota);
        }
        self.next = Time::ZERO;
    }

    /// The counts for the next run; `is_last` states that this one carries nothing more.
    pub(super) fn saved(&self, is_last: bool) -> impl Iterator<Item = (PathId, SavedQuota)> {
        let paths = self.paths.iter();
        paths.map(move |(path, quota)| (*path, quota.saved(is_last)))
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
