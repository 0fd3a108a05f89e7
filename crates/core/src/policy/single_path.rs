//! All packets on one path, or on another while it is unusable.
//!
//! With [`LeaveConfig`] the path is also left while it is live, for a better one. The heartbeats of
//! liveness detection measure the paths ([`quality`]), in both directions together.
//!
//! **Leaving.** A path is worse than another if it loses more than [`LeaveConfig::loss`], and the
//! other at most half as much, or if its round-trip time is more than [`LeaveConfig::delay`] above
//! that of the other. The other must not be worse in the other respect. Data moves to the path with
//! the fewest losses, and of those to the one with the shortest round-trip time.
//!
//! **Return.** Data is away from the named path for at least [`SHORTEST_STAY`]. Then it returns
//! when that path meets both limits by half, or is better than the path in use. If the return does
//! not last [`LASTING`] times as long as the stay before it, the next stay doubles, up to
//! [`LONGEST_STAY`]; otherwise it is reset. So a queue that the data itself fills does not make it
//! flap.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

pub use config::{LeaveConfig, LeaveError};
use quality::Quality;

use super::{
    Action, CopiedPackets, Feedback, PathPolicy, PathSet, Paths, Plan, PolicyContext,
    PolicyProperties,
};
use crate::frame::{Epoch, PathId};
use crate::hold::next_hold;
use crate::packet::PacketMeta;
use crate::time::{Duration, Time};

mod config;
mod quality;

/// The minimum time between leaving the named path and the return to it, or another path.
const SHORTEST_STAY: Duration = Duration::from_secs(5);
/// The maximum stay.
const LONGEST_STAY: Duration = Duration::from_secs(320);
/// A return that lasts this many times the stay before it resets the stay.
const LASTING: u64 = 8;

/// All packets on one path: the baseline of the other policies.
#[derive(Clone, Debug)]
pub struct SinglePath {
    path: PathId,
    epoch: Epoch,
    leaving: Option<Box<Leaving>>,
}

/// The choice of a path by its measured quality.
#[derive(Clone, Debug)]
struct Leaving {
    config: LeaveConfig,
    named: PathId,
    paths: Vec<Quality>,
    /// Whether a path was measured since the last choice.
    is_due: bool,
    /// The time of the last switch.
    switched: Option<Time>,
    stay: Duration,
}

impl SinglePath {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "single-path",
        copies: CopiedPackets::None,
        probes: false,
        switches: false,
        respects_costs: false,
        respects_classes: false,
    };

    /// The properties of the policy if it leaves a live path.
    pub(super) const LEAVING_PROPERTIES: PolicyProperties = PolicyProperties {
        switches: true,
        ..Self::PROPERTIES
    };

    /// A policy that sends all packets on path `path`, or on the lowest usable path while `path` is
    /// unusable, and leaves it as `leave` states.
    #[must_use]
    pub fn new(path: u8, leave: Option<LeaveConfig>, context: &PolicyContext) -> Self {
        let path = context.start_on(path);
        let leaving = |config| Leaving {
            config,
            named: path,
            paths: vec![Quality::default(); usize::from(context.paths)],
            is_due: false,
            switched: None,
            stay: SHORTEST_STAY,
        };
        Self {
            path,
            epoch: leave.map_or_else(Epoch::default, |_| context.epoch),
            leaving: leave.map(leaving).map(Box::new),
        }
    }

    /// Moves to a better path, if there is one.
    #[inline(never)]
    fn choose(&mut self, now: Time, alive: PathSet, act: &mut dyn FnMut(Action)) {
        let Some(leaving) = &mut self.leaving else {
            return;
        };
        // A path that is not live is not measured, and its replacement is not a choice.
        if !core::mem::take(&mut leaving.is_due) || !alive.contains(self.path) {
            return;
        }
        if let Some(to) = leaving.next(now, self.path, alive) {
            leaving.on_switch(now, self.path, to);
            let from = core::mem::replace(&mut self.path, to);
            self.epoch = self.epoch.next();
            act(Action::Switched { from, to });
        }
    }
}

impl Leaving {
    /// The path to switch to from `path`, if any.
    fn next(&self, now: Time, path: PathId, alive: PathSet) -> Option<PathId> {
        let away = |stay| {
            let since = self.switched.map(|switched| now.since(switched));
            since.is_none_or(|since| since >= stay)
        };
        if path == self.named {
            return self.better(path, alive);
        }
        if alive.contains(self.named) && away(self.stay) && self.may_return(path) {
            return Some(self.named);
        }
        let others = alive.without(PathSet::only(self.named));
        self.better(path, others).filter(|_| away(SHORTEST_STAY))
    }

    /// The best of the paths that are better than `path`.
    fn better(&self, path: PathId, alive: PathSet) -> Option<PathId> {
        let quality = &self.paths[path.index()];
        let others = alive.without(PathSet::only(path)).into_iter();
        let others = others.map(|other| (other, &self.paths[other.index()]));
        let better = others.filter(|(_, other)| quality.is_worse_than(other, &self.config));
        better
            .min_by_key(|(_, other)| (other.share(), other.rtt))
            .map(|(other, _)| other)
    }

    /// Whether data on `path` may return to the named path.
    fn may_return(&self, path: PathId) -> bool {
        let (named, used) = (&self.paths[self.named.index()], &self.paths[path.index()]);
        used.is_worse_than(named, &self.config) || named.has_recovered(used, &self.config)
    }

    fn on_switch(&mut self, now: Time, from: PathId, to: PathId) {
        if from == self.named {
            // The last switch is the return.
            let lasted = |returned: Time| now.since(returned) >= self.stay * LASTING;
            let has_lasted = self.switched.is_none_or(lasted);
            self.stay = next_hold(self.stay, has_lasted, [SHORTEST_STAY, LONGEST_STAY]);
        }
        self.switched = Some(now);
        if [from, to].contains(&self.named) {
            // Its losses depend on whether it carries data.
            self.paths[self.named.index()].forget_losses();
        }
    }
}

impl PathPolicy for SinglePath {
    fn route(
        &mut self,
        now: Time,
        _: &PacketMeta,
        paths: &Paths,
        act: &mut dyn FnMut(Action),
    ) -> Plan {
        if self.leaving.is_some() {
            self.choose(now, paths.alive, act);
        }
        Plan::copies(paths.usable.preferred_or_lowest(self.path))
    }

    fn handle_feedback(&mut self, _: Time, feedback: Feedback, _: &mut dyn FnMut(Action)) {
        let (
            Some(leaving),
            Feedback::Health {
                path, rtt, lost, ..
            },
        ) = (&mut self.leaving, feedback)
        else {
            return;
        };
        if let Some(quality) = leaving.paths.get_mut(path.index()) {
            quality.on_answer(rtt, lost);
            leaving.is_due = true;
        }
    }

    fn active(&self) -> Option<PathId> {
        Some(self.path)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }
}

#[cfg(test)]
mod tests;
