//! The path of a packet that may wait for its turn.

use super::signals::Signal;
use super::{HYSTERESIS, InTime};
use crate::frame::PathId;
use crate::packet::PacketMeta;
use crate::policy::{PathSet, Plan};
use crate::time::{Duration, Time};

/// A path whose delay exceeds that of the fastest by more does not carry the same flow of TCP: less
/// than the hold by which the receiver puts segments in order ([`crate::order::TCP_HOLD`]).
const MAX_DIFFERENCE: Duration = Duration::from_millis(80);

/// A choice for bulk while no path has a limit: nothing waits, and it remains until the paths or
/// their estimates change.
#[derive(Clone, Copy, Debug)]
pub(super) struct BulkChoice {
    paths: PathSet,
    preferred: PathId,
    path: PathId,
}

impl BulkChoice {
    /// Whether it is the choice among `paths` if data is on `preferred`.
    fn applies_to(&self, preferred: PathId, paths: PathSet) -> bool {
        self.preferred == preferred && self.paths == paths
    }
}

impl InTime {
    /// Lets a packet of bulk leave at the rate of the path on which it arrives first.
    pub(super) fn queue(
        &mut self,
        now: Time,
        meta: &PacketMeta,
        preferred: PathId,
        paths: PathSet,
    ) -> Plan {
        let known = self.bulk_choice.as_ref();
        if let Some(known) = known.filter(|known| known.applies_to(preferred, paths)) {
            let path = known.path;
            return Plan {
                may_wait: true,
                ..Plan::copies(PathSet::only(path))
            };
        }
        let cheap = self.tariffs.up_to(self.tariffs.cost(preferred), paths);
        let max_rank = self.max_rank(cheap);
        let is_spread = self.is_spread(now, preferred, cheap, max_rank);
        let (mut path, mut earliest, mut least) = (preferred, Duration::MAX, Duration::MAX);
        for other in cheap {
            let view = self.view(other);
            if view.rank() > max_rank {
                continue;
            }
            let wait = view.load.wait(now);
            let arrival = if is_spread {
                view.loss_cost + wait
            } else {
                let is_other = u64::from(other != preferred);
                view.arrival_after(wait) + HYSTERESIS * is_other
            };
            least = least.min(wait);
            if arrival < earliest || (arrival == earliest && other == preferred) {
                (path, earliest) = (other, arrival);
            }
        }
        let signal = self.signals.decide(now, least, meta.ecn.is_capable());
        if signal == Some(Signal::Drop) {
            return Plan {
                is_congested: true,
                ..Plan::default()
            };
        }
        self.load(path, now, meta.size, true);
        if !cheap
            .into_iter()
            .any(|path| self.view(path).load.is_limited())
        {
            self.bulk_choice = Some(BulkChoice {
                paths,
                preferred,
                path,
            });
        }
        Plan {
            may_wait: true,
            is_congested: signal.is_some(),
            ..Plan::copies(PathSet::only(path))
        }
    }

    /// Whether delays do not count among `paths` ([`spread`]).
    fn is_spread(
        &mut self,
        now: Time,
        preferred: PathId,
        paths: PathSet,
        max_rank: (bool, Duration),
    ) -> bool {
        let load = self.view(preferred).load;
        let Some(capacity) = load.capacity() else {
            return false;
        };
        self.spread.add_wait(load.wait(now));
        if let Some(elapsed) = self.spread.elapsed(now) {
            let difference = self.difference(preferred, paths, max_rank);
            self.spread.judge(now, elapsed, capacity, difference);
        }
        self.spread.is_applied()
    }

    /// The time by which the next slower one of `paths` is later than `preferred`; `None` if all
    /// are as fast.
    fn difference(
        &self,
        preferred: PathId,
        paths: PathSet,
        max_rank: (bool, Duration),
    ) -> Option<Duration> {
        let (_, fastest) = self.view(preferred).rank();
        let ranks = paths.into_iter().map(|path| self.view(path).rank());
        ranks
            .filter(|rank| *rank <= max_rank)
            .map(|(_, delay)| Duration(delay.0.saturating_sub(fastest.0)))
            .filter(|difference| *difference > HYSTERESIS)
            .min()
    }

    /// The [rank](View::rank) up to which those of `paths` deliver, and not much later than the
    /// fastest.
    fn max_rank(&self, paths: PathSet) -> (bool, Duration) {
        let ranks = paths.into_iter().map(|path| self.view(path).rank());
        let (is_silent, least) = ranks.min().unwrap_or_default();
        (is_silent, least + MAX_DIFFERENCE)
    }
}
