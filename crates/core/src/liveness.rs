//! The liveness of paths: a silent path is no longer used, and a path that answers again is used
//! again without flapping.
//!
//! Each endpoint sends numbered heartbeats on every path, and the peer answers each immediately on
//! the path that it arrived on, so an answer proves both directions. No other frame counts as a
//! sign of life, because a path may work in one direction only.
//!
//! **States.** A path is *unproven* until its first answer, then *live*. It is *silent* when more
//! consecutive heartbeats are overdue than its losses make plausible, at least
//! [`LivenessConfig::misses`]. An answer on a silent path makes it *returning*: it is not used
//! until it has answered several consecutive heartbeats and its hold is over. The hold doubles with
//! each return that does not last, so that an unstable path is used less and less often, and a
//! return that lasts resets it. A return lasts if it is at least [`LASTING`] times as long as its
//! hold, or as the silence that ends it. So a path that fades for a moment every few seconds is
//! used most of the time, and one that is gone for long every few seconds is not.
//!
//! **Overdue** is an answer after SRTT + 4 RTTVAR (RFC 6298), the second term at least
//! [`LivenessConfig::margin`]. Two bounds follow, where `k` is the required number of misses:
//!
//! * A path that answers every heartbeat stays live while its round-trip times are less than
//!   `margin + (k - 1) interval` above the minimum: the oldest answer arrives before the k-th is
//!   overdue.
//! * A path that carries packets and stops answering is silent within `k interval + SRTT +
//!   max(margin, 4 RTTVAR)`. An idle path is silent within `standby + (k - 1) interval + 2 (SRTT +
//!   max(margin, 4 RTTVAR))`, because the first overdue heartbeat starts the faster schedule.
//!
//! **Use.** Live paths carry packets. If no path is live, or no live path is wide enough for a
//! packet ([`crate::pmtu`]), the returning paths do; if no path returns, every path does, since an
//! attempt on an unknown path is better than a drop. Copies that go on all paths also go on
//! returning paths: otherwise no copy would arrive if the live paths fall silent during the hold.

use alloc::vec;
use alloc::vec::Vec;

pub use config::{LivenessConfig, LivenessError};
use outstanding::CAPACITY;
use path::{Change, Path};
pub use setting::{LivenessSetting, Off};

use crate::event::Event;
use crate::frame::{PathId, Purpose};
use crate::machine::Deadline;
use crate::policy::{PathSet, Paths};
use crate::time::{Duration, Time};

mod config;
mod losses;
mod outstanding;
mod path;
mod setting;

/// The number of consecutive misses that make a path silent, whatever its losses.
pub const MAX_MISSES: u32 = 20;
/// The number of consecutive answers after which a returning path may be used.
pub const ANSWERS: u32 = 3;
/// A return lasts if it is at least this many times as long as its hold or the silence after it.
pub const LASTING: u64 = 8;
/// The timeout of an answer until a round trip is measured (RFC 6298, section 2.1).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// The liveness monitor of the paths of an endpoint.
#[derive(Clone, Debug)]
pub struct Liveness {
    config: LivenessConfig,
    paths: Vec<Path>,
    /// The time of the last call; earlier deadlines are reported as due then.
    now: Time,
    /// The earliest time at which a heartbeat may be sent.
    present: Time,
}

/// The liveness of a path.
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
    /// It answers heartbeats.
    Live,
    /// It no longer answers.
    Silent,
    /// It answers again, but is not yet used.
    Returning,
}

/// The measured state of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathHealth {
    /// Its liveness.
    pub state: PathState,
    /// Its smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// The mean deviation of its round-trip time: RTTVAR of RFC 6298.
    pub rttvar: Option<Duration>,
    /// The fraction of heartbeats lost while it was live, 0 to 1; `None` before the first was
    /// counted.
    pub loss: Option<f64>,
    /// The number of times that it became silent.
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
    /// The time at which the newest answered plain heartbeat was sent.
    pub(crate) answered: Option<Time>,
}

/// The result of an answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// The smoothed round-trip time of the path.
    pub rtt: Duration,
    /// The round-trip time of this heartbeat.
    pub latest: Duration,
    /// The number of heartbeats that were lost since the one answered before; 0 while the path is
    /// not live.
    pub lost: u32,
    /// The event to report, if any.
    pub event: Option<Event>,
}

/// The outputs of the liveness monitor and of path MTU discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivenessOutput {
    /// Send the heartbeat of this number on this path.
    Heartbeat {
        /// The path.
        path: PathId,
        /// Its number on the path for this purpose, which the answer repeats.
        id: u64,
        /// Its purpose.
        purpose: Purpose,
    },
    /// Report this event.
    Event(Event),
}

impl Liveness {
    /// A monitor of `paths` paths with a checked configuration; the first heartbeats are due at
    /// once.
    pub(crate) fn new(config: &LivenessConfig, paths: u8) -> Self {
        Self {
            config: *config,
            paths: vec![Path::new(config); usize::from(paths)],
            now: Time::ZERO,
            present: Time::ZERO,
        }
    }

    /// Applies another checked configuration and keeps the state of the paths.
    pub(crate) fn adjust(&mut self, now: Time, config: &LivenessConfig) {
        self.now = now;
        self.config = *config;
        for path in &mut self.paths {
            path.adjust(config);
        }
    }

    /// The paths to use, at least one.
    #[must_use]
    pub fn paths(&self) -> Paths {
        let live = self.in_state(PathState::Live);
        let returning = self.in_state(PathState::Returning);
        match (live.is_empty(), returning.is_empty()) {
            (false, _) => Paths {
                usable: live,
                copies: live.or(returning),
                alive: live,
                full: PathSet::EMPTY,
            },
            (true, false) => Paths::trusted(returning),
            (true, true) => {
                let paths = u8::try_from(self.paths.len()).unwrap_or(PathSet::CAPACITY);
                Paths::trusted(PathSet::first(paths))
            }
        }
    }

    /// The health of `path`; `None` if there is no such path.
    #[must_use]
    pub fn health(&self, path: PathId) -> Option<PathHealth> {
        self.paths.get(path.index()).map(Path::health)
    }

    /// The number of stored heartbeats.
    pub(crate) fn buffered(&self) -> usize {
        self.paths.iter().map(Path::buffered).sum()
    }

    /// The maximum number of stored heartbeats.
    pub(crate) fn capacity(&self) -> usize {
        self.paths.len() * CAPACITY
    }

    /// The liveness of `path` for path MTU discovery.
    pub(crate) fn snapshot(&self, path: PathId, now: Time) -> Option<LivenessSnapshot> {
        let path = self.paths.get(path.index())?;
        Some(path.snapshot(now, &self.config))
    }

    /// Notes that `paths` carry a packet, and returns whether one of them was idle.
    pub fn on_carried(&mut self, now: Time, paths: PathSet) -> bool {
        self.now = now;
        let mut was_idle = false;
        for path in paths {
            if let Some(path) = self.paths.get_mut(path.index()) {
                was_idle |= path.carry(now, &self.config);
            }
        }
        was_idle
    }

    /// Notes that frames on `paths` can reach the peer from now on, as after a handshake: those
    /// that are not live are probed immediately.
    pub fn on_reachable(&mut self, now: Time, paths: PathSet) {
        self.now = now;
        for path in paths {
            if let Some(path) = self.paths.get_mut(path.index()) {
                path.restart();
            }
        }
    }

    /// Notes that the driver is behind and catches up to `present`. A heartbeat that is due before
    /// is sent at `present` at the earliest, and must not count as sent earlier.
    pub fn on_driver_behind(&mut self, present: Time) {
        self.present = present;
    }

    /// Handles the answer to heartbeat `id` of `path`; returns nothing if it is not expected.
    pub fn on_reply(&mut self, now: Time, path: PathId, id: u64) -> Option<HeartbeatAnswer> {
        self.now = now;
        let monitored = self.paths.get_mut(path.index())?;
        let answer = monitored.answer(now, id, &self.config)?;
        Some(HeartbeatAnswer {
            rtt: monitored.rtt().unwrap_or_default(),
            latest: answer.rtt,
            lost: u32::try_from(answer.lost).unwrap_or(u32::MAX),
            event: answer.change.map(|change| event(path, monitored, change)),
        })
    }

    /// Performs the work that is due.
    pub fn handle_timeout(&mut self, now: Time, mut out: impl FnMut(LivenessOutput)) {
        self.now = now;
        for (path, monitored) in (0..).map(PathId).zip(&mut self.paths) {
            if let Some(change) = monitored.expire(now, &self.config) {
                out(LivenessOutput::Event(event(path, monitored, change)));
            }
            let beat = || monitored.send_heartbeat(now, &self.config);
            if let Some(id) = (now >= self.present).then(beat).flatten() {
                let purpose = Purpose::Liveness;
                out(LivenessOutput::Heartbeat { path, id, purpose });
            }
        }
    }

    /// The time at which the next heartbeat is due or the next path becomes silent.
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

    fn in_state(&self, state: PathState) -> PathSet {
        let paths = (0..).map(PathId).zip(&self.paths);
        paths
            .filter(|(_, path)| path.state() == state)
            .fold(PathSet::EMPTY, |set, (id, _)| set.with(id))
    }
}

fn event(path: PathId, monitored: &Path, change: Change) -> Event {
    let rtt = monitored.rtt().unwrap_or_default();
    match change {
        Change::Silent(silence) => Event::PathSilent { path, silence, rtt },
        Change::SilentAgain(silence) => Event::PathSilentAgain { path, silence, rtt },
        Change::Back(outage) => Event::PathBack { path, outage, rtt },
    }
}

#[cfg(test)]
mod tests;
