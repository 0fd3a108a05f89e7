//! Paths whose traffic is limited by their [tariff](crate::tariff): to a rate, or to a number of
//! bytes in a period.
//!
//! **Ceiling.** What this end sends on a path conforms to the generic cell rate algorithm (ITU-T
//! I.371): at most [`BURST`] ahead of the rate. While more would be, the path carries no packets,
//! and those that wait for it go on waiting; heartbeats and reports, which are few, go on and
//! count.
//!
//! **Quota.** All bytes on the wire in both directions count. What the peer has sent arrives even
//! if it stops now, so a path closes while [`RESERVE`] and as much as it received in the last
//! second are left. A closed path carries nothing: no data, heartbeats, reports or handshakes. A
//! notice to the peer says so on another path if one works, and again while frames arrive, since it
//! may have been lost, or the peer may have restarted. The peer sends nothing on the path until a
//! later frame arrives there. A path stays closed until its quota is renewed or raised.
//!
//! The endpoint counts its frames. The driver counts exactly, and corrects the endpoint
//! ([`Input::PathUsed`](crate::endpoint::Input)); it also knows the time of a renewal. A path that
//! the endpoint closed by its own count opens again if the exact one leaves enough: frames that
//! never left, for want of a session or of the peer's address, do not count.

use alloc::vec;
use alloc::vec::Vec;

use crate::frame::PathId;
use crate::policy::PathSet;
use crate::tariff::{Tariff, Tariffs};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The most that a path is ahead of its ceiling.
pub const BURST: Duration = Duration::from_millis(100);
/// The least that is left when a path closes: for notices to the peer, and a handshake.
pub const RESERVE: Bytes = Bytes(4_000);
/// The span over which received bytes are summed: the reserve is those of the last one to two
/// spans.
const SPAN: Duration = Duration::from_millis(500);
/// The minimum time between two frames that close a path.
const NOTICE_INTERVAL: Duration = Duration::from_millis(100);

/// The use of a path that is limited, or closed by the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PathUsage {
    /// The bytes on the wire in both directions since the last renewal; 0 without a quota.
    pub used: Bytes,
    /// The quota.
    pub quota: Option<Bytes>,
    /// The most that this end sends.
    pub ceiling: Option<Rate>,
    /// Whether the quota is used up: the path carries nothing.
    pub is_closed: bool,
    /// Whether the path carries nothing because the peer's quota is used up.
    pub is_closed_by_peer: bool,
}

/// The closed paths of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosedPaths {
    /// Those whose own quota is used up.
    pub own: PathSet,
    /// Those that the peer has closed.
    pub by_peer: PathSet,
}

impl ClosedPaths {
    /// Those of either end.
    #[must_use]
    pub const fn all(self) -> PathSet {
        self.own.or(self.by_peer)
    }

    /// The closed paths other than `path`.
    #[must_use]
    pub const fn without(self, path: PathId) -> Self {
        let path = PathSet::only(path);
        Self {
            own: self.own.without(path),
            by_peer: self.by_peer.without(path),
        }
    }
}

/// The lead of a path over its ceiling (generic cell rate algorithm, ITU-T I.371).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellRate {
    ceiling: Option<Rate>,
    /// The time at which what was sent has left at the ceiling.
    free: Time,
}

impl CellRate {
    /// Whether more than [`BURST`] of what was sent has not left at `now`; never without a ceiling.
    pub(crate) fn is_ahead(self, now: Time) -> bool {
        self.ceiling.is_some() && self.free > now + BURST
    }

    /// Counts `len` bytes on the wire that are sent at `now`.
    pub(crate) fn add(&mut self, now: Time, len: u32) {
        if let Some(ceiling) = self.ceiling {
            let time = ceiling.transmission_time(Bytes(len.into()));
            self.free = self.free.max(now) + time;
        }
    }
}

/// The meters of the paths.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    paths: Vec<Meter>,
    /// The paths whose quota is used up.
    closed: PathSet,
    /// Those of the peer.
    closed_by_peer: PathSet,
}

#[derive(Clone, Debug, Default)]
struct Meter {
    tariff: Tariff,
    used: u64,
    received: Recent,
    sent: CellRate,
    /// The send time, by the peer's clock, of the newest frame that arrived on the path, or that
    /// closed it.
    newest: Time,
    /// The bytes in reserve when the path closed.
    reserve: u64,
    notices: Notices,
}

/// The notices of a closed path.
#[derive(Clone, Debug, Default)]
struct Notices {
    is_due: bool,
    next: Time,
    /// Their number.
    sent: u64,
}

/// A notice to the peer that a path is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    pub(crate) path: PathId,
    /// The number of notices of this path before.
    pub(crate) number: u64,
}

/// The bytes received in the current span and in the one before it.
#[derive(Clone, Debug, Default)]
struct Recent {
    start: Time,
    current: u64,
    last: u64,
}

impl Recent {
    fn add(&mut self, now: Time, len: u64) {
        self.advance(now);
        self.current += len;
    }

    fn advance(&mut self, now: Time) {
        if now < self.start + SPAN {
            return;
        }
        let is_next = now < self.start + SPAN * 2;
        self.last = if is_next { self.current } else { 0 };
        self.current = 0;
        self.start = if is_next { self.start + SPAN } else { now };
    }

    fn sum(&self) -> u64 {
        self.current + self.last
    }
}

impl Meter {
    /// The bytes that may still be sent, so that what was received may arrive once more.
    fn left(&self) -> u64 {
        let used = self.used.saturating_add(self.received.sum());
        let quota = self.tariff.quota.map_or(u64::MAX, |quota| quota.0);
        quota.saturating_sub(used)
    }

    /// Whether so much of the quota is used that the path has to close.
    fn is_used_up(&self) -> bool {
        self.left() <= RESERVE.0
    }
}

impl Meters {
    /// The meters of `paths` paths that have carried nothing.
    pub(crate) fn new(paths: u8, tariffs: &Tariffs) -> Self {
        let mut meters = Self {
            paths: vec![Meter::default(); usize::from(paths)],
            closed: PathSet::EMPTY,
            closed_by_peer: PathSet::EMPTY,
        };
        meters.adjust(Time::ZERO, tariffs);
        meters
    }

    /// Whether nothing is metered and no path is closed.
    pub(crate) fn is_idle(&self) -> bool {
        self.closed_by_peer.is_empty() && !self.paths.iter().any(|path| path.tariff.is_limited())
    }

    /// The paths that carry nothing.
    pub(crate) fn closed(&self) -> PathSet {
        self.closed.or(self.closed_by_peer)
    }

    /// The closed paths by the end whose quota is used up.
    pub(crate) fn closed_paths(&self) -> ClosedPaths {
        ClosedPaths {
            own: self.closed,
            by_peer: self.closed_by_peer,
        }
    }

    /// The paths that closed since `before`, and whether the peer closed them.
    pub(crate) fn closed_since(&self, before: PathSet) -> impl Iterator<Item = (PathId, bool)> {
        let new = self.closed().without(before);
        let by_peer = self.closed_by_peer.without(self.closed);
        new.into_iter()
            .map(move |path| (path, by_peer.contains(path)))
    }

    /// The paths that are ahead of their ceilings.
    pub(crate) fn full(&self, now: Time) -> PathSet {
        let paths = (0..).map(PathId).zip(&self.paths);
        let full = paths.filter(|(_, meter)| meter.sent.is_ahead(now));
        full.map(|(path, _)| path).collect()
    }

    /// The lead of each path over its ceiling.
    pub(crate) fn cell_rates(&self) -> impl Iterator<Item = CellRate> {
        self.paths.iter().map(|meter| meter.sent)
    }

    /// The use of `path`; `None` if it is not limited and not closed.
    pub(crate) fn usage(&self, path: PathId) -> Option<PathUsage> {
        let meter = self.paths.get(path.index())?;
        let is_closed_by_peer = self.closed_by_peer.contains(path);
        if !meter.tariff.is_limited() && !is_closed_by_peer {
            return None;
        }
        Some(PathUsage {
            used: Bytes(meter.used),
            quota: meter.tariff.quota,
            ceiling: meter.tariff.ceiling,
            is_closed: self.closed.contains(path),
            is_closed_by_peer,
        })
    }

    /// Whether a frame of `len` bytes may be sent on `path`, in a wake before which the paths
    /// `closed` were closed. On one that closes in this wake, frames are sent as far as the reserve
    /// covers them, so that the last packet is not lost.
    pub(crate) fn admits(&self, path: PathId, closed: PathSet, len: u32) -> bool {
        if !self.closed().contains(path) {
            return true;
        }
        let meter = self.paths.get(path.index());
        !closed.contains(path) && meter.is_some_and(|meter| meter.left() >= len.into())
    }

    /// Counts `len` bytes that are sent on `path`.
    pub(crate) fn on_sent(&mut self, now: Time, path: PathId, len: u32) {
        let Some(meter) = self.paths.get_mut(path.index()) else {
            return;
        };
        meter.sent.add(now, len);
        self.count(now, path, len);
    }

    /// Counts `len` bytes that were received on `path`, in a frame that was sent at `sent`.
    pub(crate) fn on_received(&mut self, now: Time, path: PathId, len: u32, sent: Time) {
        let Some(meter) = self.paths.get_mut(path.index()) else {
            return;
        };
        if meter.tariff.quota.is_some() {
            meter.received.add(now, len.into());
        }
        meter.notices.is_due |= self.closed.contains(path);
        if sent > meter.newest {
            meter.newest = sent;
            self.closed_by_peer = self.closed_by_peer.without(PathSet::only(path));
        }
        self.count(now, path, len);
    }

    fn count(&mut self, now: Time, path: PathId, len: u32) {
        if let Some(meter) = self.paths.get_mut(path.index())
            && meter.tariff.quota.is_some()
        {
            meter.received.advance(now);
            meter.used = meter.used.saturating_add(len.into());
            self.close_if_used_up(path);
        }
    }

    fn close_if_used_up(&mut self, path: PathId) {
        if let Some(meter) = self.paths.get_mut(path.index())
            && !self.closed.contains(path)
            && meter.is_used_up()
        {
            self.closed = self.closed.with(path);
            meter.reserve = RESERVE.0 + meter.received.sum();
            meter.notices.is_due = true;
        }
    }

    /// Sets the bytes that `path` has carried; `is_renewed` begins a period.
    pub(crate) fn set_used(&mut self, now: Time, path: PathId, used: Bytes, is_renewed: bool) {
        let Some(meter) = self.paths.get_mut(path.index()) else {
            return;
        };
        meter.received.advance(now);
        let left = meter
            .tariff
            .quota
            .map_or(0, |quota| quota.0.saturating_sub(used.0));
        // Twice, since a path that opens costs heartbeats and notices.
        let was_overcounted = used.0 < meter.used && left > 2 * meter.reserve;
        meter.used = used.0;
        if is_renewed || was_overcounted {
            self.closed = self.closed.without(PathSet::only(path));
        }
        self.close_if_used_up(path);
    }

    /// Applies other tariffs: a path whose quota is raised or removed opens.
    pub(crate) fn adjust(&mut self, now: Time, tariffs: &Tariffs) {
        for (path, meter) in (0..).map(PathId).zip(&mut self.paths) {
            meter.received.advance(now);
            let tariff = tariffs.of(path);
            if tariff.quota != meter.tariff.quota {
                self.closed = self.closed.without(PathSet::only(path));
            }
            meter.tariff = tariff;
            meter.sent.ceiling = tariff.ceiling;
        }
        for path in (0..).map(PathId).take(self.paths.len()) {
            self.close_if_used_up(path);
        }
    }

    /// Notes that the peer closed `path`, at `sent` by its clock.
    pub(crate) fn on_closed_by_peer(&mut self, path: PathId, sent: Time) {
        // A notice that a later frame of the path has overtaken is out of date.
        if let Some(meter) = self.paths.get_mut(path.index())
            && sent >= meter.newest
        {
            meter.newest = sent;
            self.closed_by_peer = self.closed_by_peer.with(path);
        }
    }

    /// Opens what the peer closed, since it has restarted: if it has to, it closes them again.
    pub(crate) fn on_peer_restarted(&mut self) {
        self.closed_by_peer = PathSet::EMPTY;
        for meter in &mut self.paths {
            meter.newest = Time::ZERO;
        }
    }

    /// The notices that are due.
    pub(crate) fn take_notices(&mut self, now: Time) -> Vec<Notice> {
        let mut due = Vec::new();
        for path in self.closed {
            let notices = &mut self.paths[path.index()].notices;
            if core::mem::take(&mut notices.is_due) && now >= notices.next {
                let number = notices.sent;
                due.push(Notice { path, number });
                notices.sent += 1;
                notices.next = now + NOTICE_INTERVAL;
            }
        }
        due
    }
}

#[cfg(test)]
mod tests;
