//! The quota of one path: its count, its renewals and what is saved ahead of the traffic.

use polypath_core::frame::PathId;
use polypath_core::metering::PathUsage;
use polypath_core::tariff::{Renewal, Tariff};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_session::tunnel::Input;
use time::Date;

use super::{Limit, Moment, SavedQuota, period};

/// The intervals whose traffic is saved ahead: the file is written while half of it is left.
const INTERVALS_AHEAD: u64 = 20;
/// The least lead of what is saved over what is used, in bytes.
const LEAD: u64 = 1_000_000;
/// The part of a smaller quota that is enough: a kill while little is carried costs no more.
const LEAD_DIVISOR: u64 = 100;
/// The least lead for any quota: a smaller one would cost a write for every few packets.
const MIN_LEAD: u64 = 4_000;
/// The time for which a clock has to be behind a count until the clock before it was wrong.
const CLOCK_PATIENCE: Duration = Duration::from_secs(3600);
/// 2026-01-01: an earlier clock is not set yet.
const FIRST_DAY: i32 = 20_454;

/// The quota of a path.
#[derive(Debug)]
pub(super) struct Quota {
    name: String,
    tariff: Tariff,
    count: Count,
    /// The bytes that are saved as used.
    granted: u64,
    /// The bytes that the endpoint counts in addition, so that it closes the path at what is saved.
    /// `None` while the state file can be written.
    shift: Option<u64>,
    /// Whether the count began again, or was set, since the endpoint was informed.
    is_renewed: bool,
    is_new: bool,
    /// Whether it is logged that most of the quota is used.
    is_logged: bool,
}

/// The bytes of a path since a day.
#[derive(Debug)]
struct Count {
    since_day: i32,
    /// The day of the last update.
    today: i32,
    /// The bytes used before this count of the sockets.
    base: u64,
    counted_from: u64,
    used: u64,
    /// The time since which the clock shows a day long before `since_day`.
    behind_since: Option<Time>,
}

impl Count {
    /// Begins again if the period of `tariff` has changed, and returns whether it did.
    ///
    /// A clock that is set back begins no count, nor does setting it right. One that was far ahead
    /// would begin none until that day: if the clock is behind for an hour, it counts as correct.
    fn renew(&mut self, tariff: &Tariff, moment: Moment, traffic: u64) -> bool {
        let today = period::day(moment.wall_clock);
        self.today = today;
        let is_behind = today >= FIRST_DAY && today < self.since_day.saturating_sub(1);
        if is_behind {
            let since = *self.behind_since.get_or_insert(moment.now);
            if moment.now.since(since) >= CLOCK_PATIENCE {
                self.since_day = today;
            }
        } else {
            self.behind_since = None;
        }
        if self.since_day < FIRST_DAY {
            // The clock was not set when the count began, which was in this period at the earliest.
            self.since_day = today;
        }
        let start = period::start(tariff, today);
        let Some(start) = start.filter(|start| *start > self.since_day) else {
            return false;
        };
        *self = Self {
            since_day: start,
            base: 0,
            counted_from: traffic,
            ..*self
        };
        true
    }

    /// Counts `traffic`, all bytes of the path since the start; returns the growth.
    fn update(&mut self, traffic: u64) -> u64 {
        let counted = traffic.saturating_sub(self.counted_from);
        let before = std::mem::replace(&mut self.used, self.base.saturating_add(counted));
        self.used.saturating_sub(before)
    }
}

impl Quota {
    /// A quota of which `saved` is used, on a path with this name that has carried nothing.
    pub(super) fn new(
        name: &str,
        tariff: Tariff,
        saved: Option<SavedQuota>,
        wall_clock: u64,
    ) -> Self {
        let today = period::day(wall_clock);
        let SavedQuota { since_day, used } = saved.unwrap_or(SavedQuota {
            since_day: today,
            used: 0,
        });
        let mut quota = Self {
            name: name.to_owned(),
            tariff,
            count: Count {
                since_day,
                today,
                base: used,
                counted_from: 0,
                used,
                behind_since: None,
            },
            granted: used,
            shift: None,
            is_renewed: false,
            is_new: true,
            is_logged: false,
        };
        // The first line of a run has the count.
        quota.is_logged = quota.is_mostly_used();
        quota
    }

    /// The same quota on a path that has carried `traffic` bytes under another name or without a
    /// quota: the endpoint forgets what it knows of that.
    pub(super) fn replacing_another(mut self, traffic: u64) -> Self {
        self.count.counted_from = traffic;
        self.is_renewed = true;
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn renews(&self) -> Renewal {
        self.tariff.renews
    }

    /// The first day of the next period.
    pub(super) fn renews_on(&self) -> Option<Date> {
        period::next(&self.tariff, self.count.since_day.max(self.count.today))
    }

    /// Applies another tariff to the same count.
    pub(super) fn set_tariff(&mut self, tariff: Tariff) {
        self.tariff = tariff;
        self.is_logged &= self.is_mostly_used();
    }

    /// Whether 80 % of the quota are used.
    fn is_mostly_used(&self) -> bool {
        self.count.used >= self.bytes() / 5 * 4
    }

    #[cfg(test)]
    pub(super) fn is_logged(&self) -> bool {
        self.is_logged
    }

    /// Logs the count with which a run starts.
    pub(super) fn log_start(&self) {
        tracing::info!(
            path = self.name,
            used = %Bytes(self.count.used),
            quota = %Bytes(self.bytes()),
            since = period::date(self.count.since_day).map(tracing::field::display),
            "the use of the path's quota"
        );
    }

    /// Logs once in each period that most of the quota is used; not of a path that is closed, of
    /// which it is logged that all is used.
    fn log_use(&mut self, is_closed: bool) {
        if self.is_mostly_used() && !self.is_logged && !is_closed {
            self.is_logged = true;
            tracing::warn!(
                path = self.name,
                used = %Bytes(self.count.used),
                quota = %Bytes(self.bytes()),
                renews_on = self.renews_on().map(tracing::field::display),
                "80 % of the path's quota are used"
            );
        }
    }

    /// Counts `traffic`, all bytes of the path since the start; returns the input for the endpoint,
    /// which has counted `usage`, if something is new. With `is_running` more than the use is saved
    /// from now on; with a `limit` the path carries no more than it has.
    pub(super) fn update(
        &mut self,
        path: PathId,
        moment: Moment,
        traffic: u64,
        usage: Option<PathUsage>,
        is_running: bool,
        limit: Option<Limit<'_>>,
    ) -> Option<Input> {
        let (reported_before, before) = (self.reported(), self.count.used);
        if self.count.renew(&self.tariff, moment, traffic) {
            self.granted = 0;
            self.is_renewed = true;
            self.is_logged = false;
            tracing::info!(
                path = self.name,
                used = %Bytes(before),
                "the path's quota is renewed, of which this was used"
            );
        }
        let growth = self.count.update(traffic);
        self.granted = self.granted.max(self.count.used);
        if is_running {
            self.grant(growth);
        }
        self.log_use(usage.is_some_and(|usage| usage.is_closed));
        self.limit(limit);
        let reported = self.reported();
        // The endpoint also counts frames that no socket has sent.
        let counted = usage.map_or(reported_before, |usage| usage.used.0);
        let is_corrected = counted != reported;
        let is_changed = is_corrected || self.is_renewed || self.is_new;
        self.is_new = false;
        is_changed.then(|| Input::PathUsed {
            path,
            used: Bytes(reported),
            is_renewed: std::mem::take(&mut self.is_renewed),
        })
    }

    /// Saves ahead of the use, which has grown by `growth` bytes in an interval; never more than the
    /// quota while some of it is left. Beyond it, where only the peer sends, steps of the least lead
    /// keep the file from being written for each datagram.
    fn grant(&mut self, growth: u64) {
        let (used, quota) = (self.count.used, self.bytes());
        let least = LEAD.min(quota / LEAD_DIVISOR).max(MIN_LEAD);
        if used >= quota {
            let excess = (used - quota).checked_next_multiple_of(least);
            self.granted = quota.saturating_add(excess.unwrap_or(u64::MAX));
            return;
        }
        let lead = growth.saturating_mul(INTERVALS_AHEAD).max(least);
        if used.saturating_add(lead / 2) > self.granted {
            self.granted = used.saturating_add(lead).min(quota);
        }
    }

    /// Applies a limit, or its end, after which the path opens.
    fn limit(&mut self, limit: Option<Limit<'_>>) {
        let Count {
            since_day, used, ..
        } = self.count;
        let shift = limit.and_then(|limit| {
            let saved = limit.saved.get(&self.name);
            // An earlier count in the file is renewed by a restart, and covers nothing of this one.
            let saved = saved.filter(|saved| saved.since_day >= since_day);
            let covered = saved.map_or(0, |saved| saved.used);
            let applies = limit.applies_below || used > covered;
            applies.then(|| self.bytes().saturating_sub(covered))
        });
        self.is_renewed |= self.shift.is_some() && shift.is_none();
        self.shift = shift;
    }

    /// The use that the endpoint has: that of the path, and the shift of a limit.
    fn reported(&self) -> u64 {
        self.count.used.saturating_add(self.shift.unwrap_or(0))
    }

    /// The shift of a limit, in bytes.
    pub(super) fn shift(&self) -> Option<u64> {
        self.shift
    }

    fn bytes(&self) -> u64 {
        self.tariff.quota.map_or(u64::MAX, |quota| quota.0)
    }

    /// The count for the next run; `is_last` states that this one carries nothing more.
    pub(super) fn saved(&self, is_last: bool) -> SavedQuota {
        SavedQuota {
            since_day: self.count.since_day,
            used: if is_last {
                self.count.used
            } else {
                self.granted
            },
        }
    }
}
