//! Which paths live: a path that goes silent is left, one that returns is tried and used again, without
//! flapping.
//!
//! Each end sends numbered heartbeats on every path and the other end answers each at once, on the path
//! where it came; so an answer proves both directions. Nothing else counts as a sign of life, since a path may
//! carry in one direction only.
//!
//! **States.** A path is *unproven* until its first answer, and then *live*. It is *silent* when so many
//! heartbeats in a row are overdue that its own losses hardly explain them, and never fewer than
//! [`LivenessConfig::misses`]. An answer on a silent path makes it *returning*: not used until it has
//! answered some in a row and its hold is over. The hold doubles with each return that does not last,
//! so that a path that comes and goes is used ever less often.
//!
//! **Overdue** is an answer after SRTT + 4 RTTVAR (RFC 6298), the second term at least
//! [`LivenessConfig::margin`]. Two bounds follow, with `k` the misses that are needed:
//!
//! * A path that answers everything is never left while round-trip times stay within less than
//!   `margin + (k - 1) interval` above the least: the oldest answer is there before the k-th is overdue.
//! * A path that carries packets and answers nothing from some time on is left within
//!   `k interval + SRTT + max(margin, 4 RTTVAR)`. One that carries none, within
//!   `standby + (k - 1) interval + 2 (SRTT + max(margin, 4 RTTVAR))`, since a first heartbeat that is overdue
//!   brings the others forward.
//!
//! **Use.** Live paths are used. Where none lives, or none that lives carries a packet whole ([`crate::pmtu`]), those that return; where none returns, every path: a packet
//! is rather tried on a path of which nothing is known than dropped. Copies of what goes on all paths go on those that
//! return, too: where a hold keeps one path back, the others must not be the only ones when they fall silent.

use alloc::vec;
use alloc::vec::Vec;

pub use config::{LivenessConfig, LivenessError};
use outstanding::REMEMBERED;
use path::{Change, Path};

use crate::event::Event;
use crate::frame::{PathId, Purpose};
use crate::machine::Deadline;
use crate::policy::{PathSet, Paths};
use crate::time::{Duration, Time};

mod config;
mod losses;
mod outstanding;
mod path;

/// So many misses in a row are a silence, whatever a path's losses.
pub const MAX_MISSES: u32 = 20;
/// So many answers in a row a returning path must give.
pub const ANSWERS: u32 = 3;
/// An answer is overdue after this as long as no round trip was measured (RFC 6298, 2.1).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// The paths of an endpoint under watch.
#[derive(Clone, Debug)]
pub struct Liveness {
    config: LivenessConfig,
    paths: Vec<Path>,
    /// The latest time that was told; what is due earlier is due then.
    now: Time,
    /// No heartbeat leaves before.
    present: Time,
}

/// What is known of a path's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum PathState {
    /// It has never answered.
    #[default]
    Unproven,
    /// It answers.
    Live,
    /// It does not answer any more.
    Silent,
    /// It answers again, and is not yet trusted.
    Returning,
}

/// What was observed of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathHealth {
    /// Whether it lives.
    pub state: PathState,
    /// Its smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// The mean deviation of its round-trip time: RTTVAR of RFC 6298.
    pub rttvar: Option<Duration>,
    /// The share of heartbeats that got lost while it lived, 0 to 1; none before one was counted.
    pub loss: Option<f64>,
    /// How often it fell silent.
    pub silences: u64,
    /// Heartbeats sent.
    pub sent: u64,
    /// Heartbeats answered.
    pub answered: u64,
}

/// The liveness of a path, as path MTU discovery needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LivenessSnapshot {
    /// Whether it answers plain heartbeats.
    pub(crate) is_live: bool,
    /// Whether it carries packets.
    pub(crate) is_busy: bool,
    /// A plain heartbeat that is not answered within this time is overdue.
    pub(crate) timeout: Duration,
    /// The number of consecutive misses that the losses of the path do not explain.
    pub(crate) needed: u32,
    /// When the newest answered plain heartbeat was sent.
    pub(crate) answered: Option<Time>,
}

/// What the watch wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivenessOutput {
    /// Send the heartbeat of this number on this path.
    Heartbeat {
        /// The path.
        path: PathId,
        /// Its number among those of its path and purpose, which the answer repeats.
        id: u64,
        /// What it is for.
        purpose: Purpose,
    },
    /// Tell this.
    Event(Event),
}

impl Liveness {
    /// A watch over `paths` paths, for a checked configuration; the first heartbeats are due at once.
    pub(crate) fn new(config: &LivenessConfig, paths: u8) -> Self {
        Self {
            config: *config,
            paths: vec![Path::new(config); usize::from(paths)],
            now: Time::ZERO,
            present: Time::ZERO,
        }
    }

    /// Watches by the checked `config` from now on; what was learnt of the paths stays.
    pub(crate) fn adjust(&mut self, now: Time, config: &LivenessConfig) {
        self.now = now;
        self.config = *config;
        for path in &mut self.paths {
            path.adjust(config);
        }
    }

    /// The paths to be used; there is always one.
    #[must_use]
    pub fn paths(&self) -> Paths {
        let live = self.those(PathState::Live);
        let returning = self.those(PathState::Returning);
        match (live.is_empty(), returning.is_empty()) {
            (false, _) => Paths {
                usable: live,
                copies: live.or(returning),
                alive: live,
            },
            (true, false) => Paths::trusted(returning),
            (true, true) => {
                let paths = u8::try_from(self.paths.len()).unwrap_or(PathSet::CAPACITY);
                Paths::trusted(PathSet::first(paths))
            }
        }
    }

    /// What was observed of `path`; nothing of one that there is not.
    #[must_use]
    pub fn health(&self, path: PathId) -> Option<PathHealth> {
        self.paths.get(path.index()).map(Path::health)
    }

    /// How many heartbeats are remembered.
    pub(crate) fn buffered(&self) -> usize {
        self.paths.iter().map(Path::remembered).sum()
    }

    /// The most that can be.
    pub(crate) fn capacity(&self) -> usize {
        self.paths.len() * REMEMBERED
    }

    /// What a discovery of the size of `path` rests on.
    pub(crate) fn snapshot(&self, path: PathId, now: Time) -> Option<LivenessSnapshot> {
        let path = self.paths.get(path.index())?;
        Some(path.snapshot(now, &self.config))
    }

    /// Notes that `paths` carry a packet, and says whether one of them had been at rest.
    pub fn on_carried(&mut self, now: Time, paths: PathSet) -> bool {
        self.now = now;
        let mut rested = false;
        for path in paths {
            if let Some(path) = self.paths.get_mut(path.index()) {
                rested |= path.carry(now, &self.config);
            }
        }
        rested
    }

    /// Notes that what is sent on `paths` from now on can reach the other end, as after a handshake: those that do
    /// not live are tried at once.
    pub fn on_reachable(&mut self, now: Time, paths: PathSet) {
        self.now = now;
        for path in paths {
            if let Some(path) = self.paths.get_mut(path.index()) {
                path.restart();
            }
        }
    }

    /// Notes that whoever drives this is behind and does by and by what was due until `present`. A heartbeat that
    /// is due meanwhile leaves at `present` at the earliest, and must not count as sent before.
    pub fn on_driver_behind(&mut self, present: Time) {
        self.present = present;
    }

    /// Takes the answer to the heartbeat `id` of `path`, and gives what is to be told.
    pub fn on_reply(&mut self, now: Time, path: PathId, id: u64) -> Option<Event> {
        self.now = now;
        let watched = self.paths.get_mut(path.index())?;
        let change = watched.answer(now, id, &self.config)?;
        Some(event(path, watched, change))
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time, mut want: impl FnMut(LivenessOutput)) {
        self.now = now;
        for (path, watched) in (0..).map(PathId).zip(&mut self.paths) {
            if let Some(change) = watched.expire(now, &self.config) {
                want(LivenessOutput::Event(event(path, watched, change)));
            }
            let beat = || watched.beat(now, &self.config);
            if let Some(id) = (now >= self.present).then(beat).flatten() {
                let purpose = Purpose::Liveness;
                want(LivenessOutput::Heartbeat { path, id, purpose });
            }
        }
    }

    /// When the next heartbeat leaves or the next path falls silent.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let due = self
            .paths
            .iter()
            .map(|path| path.deadline(self.present, &self.config));
        let next = due.min_by_key(|due| due.at)?;
        let at = next.at.max(self.now);
        Some(Deadline { at, ..next })
    }

    fn those(&self, state: PathState) -> PathSet {
        let paths = (0..).map(PathId).zip(&self.paths);
        paths
            .filter(|(_, path)| path.state() == state)
            .fold(PathSet::EMPTY, |set, (id, _)| set.with(id))
    }
}

fn event(path: PathId, watched: &Path, change: Change) -> Event {
    let rtt = watched.rtt().unwrap_or_default();
    match change {
        Change::Silent(silence) => Event::PathSilent { path, silence, rtt },
        Change::Back(outage) => Event::PathBack { path, outage, rtt },
    }
}

#[cfg(test)]
mod tests;
