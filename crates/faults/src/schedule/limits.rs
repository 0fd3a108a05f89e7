//! The limits of the paths.

use polypath_core::frame::PathId;
use polypath_core::rng::Stream;
use polypath_core::tariff::MIN_CEILING;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use super::{Incident, Schedule, pick};
use crate::datagram::End;

/// A path that one node limits: it closes the path when that has carried its quota, and holds
/// packets back that exceed its ceiling.
#[derive(Clone, Copy, Debug)]
pub struct LimitedPath {
    /// The node.
    pub end: End,
    /// The path.
    pub path: PathId,
    /// The bytes on the wire in both directions; a node that restarts begins a new count.
    pub quota: Option<Bytes>,
    /// The most that the node sends.
    pub ceiling: Option<Rate>,
}

impl Schedule {
    /// Whether a node limits `path`: it may carry nothing though it works.
    #[must_use]
    pub fn is_limited(&self, path: PathId) -> bool {
        self.limited.is_some_and(|limited| limited.path == path)
    }

    /// Whether a node may close `path`.
    #[must_use]
    pub fn may_close(&self, path: PathId) -> bool {
        let limited = self.limited.filter(|limited| limited.path == path);
        limited.is_some_and(|limited| limited.quota.is_some())
    }
}

/// Limits a path of a node in one of four schedules with several, if packets have to arrive all
/// the same.
pub(super) fn draw(schedule: &mut Schedule) {
    let seed = schedule.seed;
    let stream = &mut seed.stream("faults/quota");
    let has_quota = stream.chance(0.125);
    let path = stream.below(schedule.paths.len() as u64);
    let end = pick(stream, &End::ALL);
    let quota = Bytes(100_000 + stream.below(900_000));
    let limited = LimitedPath {
        end,
        path: PathId(u8::try_from(path).unwrap_or(0)),
        quota: has_quota.then_some(quota),
        ceiling: draw_ceiling(&mut seed.stream("faults/ceiling")),
    };
    let is_limited = limited.quota.is_some() || limited.ceiling.is_some();
    schedule.limited = (is_limited && schedule.paths.len() > 1).then_some(limited);
    if !schedule.calm_guarantees_delivery() {
        schedule.limited = None;
    }
    draw_renewals(schedule, &mut seed.stream("faults/renewal"));
}

/// About what the applications send, in one of eight cases.
fn draw_ceiling(stream: &mut Stream) -> Option<Rate> {
    let factor = pick(stream, &[1, 1, 2]);
    let ceiling = Rate(MIN_CEILING.0 * factor);
    stream.chance(0.125).then_some(ceiling)
}

/// Renews the quota up to twice, in the second half of the time before the calm.
fn draw_renewals(schedule: &mut Schedule, stream: &mut Stream) {
    let Some(LimitedPath { end, path, .. }) = schedule.limited.filter(|l| l.quota.is_some()) else {
        return;
    };
    for _ in 0..pick(stream, &[0, 1, 2]) {
        let half = schedule.calm_from.0 / 2;
        let at = Time::ZERO + Duration(half + stream.below(half));
        schedule.incidents.push((at, Incident::Renew(end, path)));
    }
    schedule.incidents.sort_by_key(|(at, _)| *at);
}
