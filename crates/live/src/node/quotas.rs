//! The quotas of a node's paths: exact counts, renewals, and the counts that the next run needs.
//!
//! The endpoint counts its frames ([`polypath_core::metering`]). The sockets also carry handshakes,
//! datagrams of relays and datagrams that are rejected; so the endpoint is corrected every
//! [`INTERVAL`].
//!
//! A node that is killed must not forget what it has used. So the state file always has more than was
//! used: it is written ahead of the traffic ([`quota`]). After a crash the rest of that counts as
//! used; a node that ends in order writes the exact count.

use std::collections::{BTreeMap, BTreeSet};

use polypath_core::frame::PathId;
use polypath_core::metering::PathUsage;
use polypath_core::tariff::{Renewal, Tariff, Tariffs};
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::Input;
use serde::{Deserialize, Serialize};
use time::Date;

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

/// The uses of quotas, by the name of the path.
pub(super) type SavedQuotas = BTreeMap<String, SavedQuota>;

/// The uses that the state file has, which cannot be written now: a path carries no more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit<'a> {
    pub(super) saved: &'a SavedQuotas,
    /// Whether it also applies to a path that has used less: else the write may be done in time.
    pub(super) applies_below: bool,
}

/// The quotas of the paths.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    paths: BTreeMap<PathId, Quota>,
    /// The counts of names that no path with a quota has now.
    unused: SavedQuotas,
    /// The time of the next correction.
    next: Time,
    /// The names of `unused` that are logged.
    logged_unused: BTreeSet<String>,
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
    /// The quotas of `tariffs`, for paths with these names. An earlier run `saved` counts; the sockets
    /// have carried nothing yet.
    pub(super) fn new<'a>(
        tariffs: &Tariffs,
        name: impl Fn(PathId) -> &'a str,
        saved: SavedQuotas,
        wall_clock: u64,
    ) -> Self {
        let mut quotas = Self {
            unused: saved,
            ..Self::default()
        };
        for (path, tariff) in quotas_of(tariffs) {
            let saved = quotas.unused.remove(name(path));
            let quota = Quota::new(name(path), tariff, saved, wall_clock);
            quotas.paths.insert(path, quota);
        }
        quotas
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
    /// the endpoint, which has counted its frames as `usage`. With a `limit` the paths carry no
    /// more than it has.
    pub(super) fn update(
        &mut self,
        moment: Moment,
        traffic: impl Iterator<Item = Traffic>,
        usage: impl Fn(PathId) -> Option<PathUsage>,
        limit: Option<Limit<'_>>,
    ) -> Vec<Input> {
        self.next = moment.now + INTERVAL;
        let mut inputs = Vec::new();
        for (path, traffic) in (0..).map(PathId).zip(traffic) {
            if let Some(quota) = self.paths.get_mut(&path) {
                let bytes = bytes_of(traffic);
                let (usage, is_running) = (usage(path), self.is_running);
                inputs.extend(quota.update(path, moment, bytes, usage, is_running, limit));
            }
        }
        inputs
    }

    /// Applies other tariffs and names, right after [`Self::update`] has counted the same `traffic`: a
    /// name keeps its count, also on another path and while it has no quota.
    pub(super) fn adjust<'a>(
        &mut self,
        tariffs: &Tariffs,
        name: impl Fn(PathId) -> &'a str,
        wall_clock: u64,
        traffic: impl Iterator<Item = Traffic>,
    ) {
        let traffic: Vec<u64> = traffic.map(bytes_of).collect();
        let former = std::mem::take(&mut self.paths);
        let mut others = BTreeMap::new();
        for (path, quota) in former {
            if quota.name() == name(path) && tariffs.of(path).quota.is_some() {
                self.paths.insert(path, quota);
            } else {
                others.insert(quota.name().to_owned(), quota.saved(true));
            }
        }
        self.unused.append(&mut others);
        for (path, tariff) in quotas_of(tariffs) {
            if let Some(quota) = self.paths.get_mut(&path) {
                quota.set_tariff(tariff);
                continue;
            }
            let saved = self.unused.remove(name(path));
            let quota = Quota::new(name(path), tariff, saved, wall_clock);
            let counted = traffic.get(path.index()).copied().unwrap_or(0);
            self.paths.insert(path, quota.replacing_another(counted));
        }
        self.next = Time::ZERO;
    }

    /// The counts for the next run; `is_last` states that this one carries nothing more.
    pub(super) fn saved(&self, is_last: bool) -> SavedQuotas {
        let paths = self.paths.values();
        let used = paths.map(|quota| (quota.name().to_owned(), quota.saved(is_last)));
        used.chain(self.unused.clone()).collect()
    }

    /// The bytes that the endpoint counts on `path` in addition to its use, while the path carries no
    /// more than the state file has, since that cannot be written.
    pub(super) fn shift(&self, path: PathId) -> Option<u64> {
        self.paths.get(&path)?.shift()
    }

    /// The renewal of the quota of `path`, if it has one, and the next day on which it is renewed.
    pub(super) fn renewal(&self, path: PathId) -> (Option<Renewal>, Option<Date>) {
        let quota = self.paths.get(&path);
        quota.map_or((None, None), |quota| {
            (Some(quota.renews()), quota.renews_on())
        })
    }

    /// Logs the counts with which a run starts.
    pub(super) fn log_start(&self) {
        self.paths.values().for_each(Quota::log_start);
    }

    /// Logs the names whose counts no path uses, if they are others than those that are logged.
    pub(super) fn log_unused(&mut self) {
        if let Some(names) = self.changed_unused() {
            tracing::warn!(
                names,
                "the state file has counts of quotas under these names, and no path with a quota \
                 has them: the counts are kept, and continue when a path of that name has a quota"
            );
        }
    }

    /// The names whose counts no path uses, if there are any, and others than at the last call.
    fn changed_unused(&mut self) -> Option<String> {
        let names: BTreeSet<String> = self.unused.keys().cloned().collect();
        if names == self.logged_unused {
            return None;
        }
        self.logged_unused = names;
        let names: Vec<&str> = self.logged_unused.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// The bytes of a path in both directions.
fn bytes_of(traffic: Traffic) -> u64 {
    traffic.sent.bytes.saturating_add(traffic.received.bytes)
}

/// The paths with a quota.
fn quotas_of(tariffs: &Tariffs) -> impl Iterator<Item = (PathId, Tariff)> {
    let paths = (0..polypath_core::policy::PathSet::CAPACITY).map(PathId);
    let tariffs = paths.map(|path| (path, tariffs.of(path)));
    tariffs.filter(|(_, tariff)| tariff.quota.is_some())
}

/// The first path with a quota.
pub(super) fn first(tariffs: &Tariffs) -> Option<PathId> {
    quotas_of(tariffs).next().map(|(path, _)| path)
}

#[cfg(test)]
mod tests;
