//! Paths that fall silent while the peer's datagrams arrive on others.
//!
//! Reports silences only without heartbeats ([`polypath_core::liveness`]) and under a policy that
//! sends something of each packet on every path; the peer is assumed to use the same policy. A path
//! that may be idle is not silent, nor is any while the peer sends nothing at all, which the
//! session notices when an answer is due.

use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};

use crate::config::LivenessSetting;

/// The silence after which a path is reported.
const SILENCE: Duration = Duration::from_secs(5);
/// The maximum delay of a datagram behind its copy on another path.
const MAX_SKEW: Duration = Duration::from_secs(2);
/// Datagrams that must have arrived on other paths since: losses of as many in a row are rare.
const MIN_MISSED: u32 = 4;

/// Detects paths on which the peer is silent, from the arrival times of its datagrams.
#[derive(Debug)]
pub(in crate::node) struct SilenceDetector {
    paths: Vec<PathArrivals>,
    /// Whether silence is reported: every path carries something of each packet, and there are no
    /// heartbeats.
    is_enabled: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct PathArrivals {
    last: Option<Time>,
    /// Datagrams on other paths since then whose copies can no longer be late.
    missed: u32,
    is_silent: bool,
    /// Whether the path carries nothing: then silence is expected.
    is_closed: bool,
    /// The time at which it was opened, before which silence was expected.
    opened: Time,
}

/// A change of a path's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::node) enum SilenceChange {
    /// No datagram has arrived on it since `last`, while others arrived on other paths.
    Silent { path: PathId, last: Time },
    /// A datagram arrived after a silence since `last`.
    Back { path: PathId, last: Time },
}

impl SilenceChange {
    /// The path.
    pub(in crate::node) const fn path(self) -> PathId {
        match self {
            Self::Silent { path, .. } | Self::Back { path, .. } => path,
        }
    }
}

impl SilenceDetector {
    /// A detector for `paths` paths under this policy and these liveness settings.
    pub(in crate::node) fn new(
        paths: usize,
        policy: PolicyConfig,
        liveness: LivenessSetting,
    ) -> Self {
        let mut detector = Self {
            paths: vec![PathArrivals::default(); paths],
            is_enabled: false,
        };
        detector.adjust(policy, liveness);
        detector
    }

    /// Changes the policy and the liveness settings.
    pub(super) fn adjust(&mut self, policy: PolicyConfig, liveness: LivenessSetting) {
        self.is_enabled = policy.uses_all_paths() && liveness.config().is_none();
        for path in &mut self.paths {
            (path.missed, path.is_silent) = (0, false);
        }
    }

    /// Notes at `at` that `path` carries nothing, or again.
    pub(super) fn set_closed(&mut self, path: PathId, is_closed: bool, at: Time) {
        if let Some(path) = self.paths.get_mut(path.index()) {
            *path = PathArrivals {
                last: path.last,
                is_closed,
                opened: at,
                ..PathArrivals::default()
            };
        }
    }

    /// Whether `path` carries nothing.
    pub(super) fn is_closed(&self, path: PathId) -> bool {
        let path = self.paths.get(path.index());
        path.is_some_and(|path| path.is_closed)
    }

    /// The arrival time of the peer's last datagram on `path`.
    pub(super) fn last(&self, path: PathId) -> Option<Time> {
        self.paths.get(path.index())?.last
    }

    /// Handles an authentic datagram that arrived on `path` at `at`, and reports changes.
    pub(super) fn arrived(
        &mut self,
        path: PathId,
        at: Time,
        mut report: impl FnMut(SilenceChange),
    ) {
        for (id, arrivals) in (0..).map(PathId).zip(&mut self.paths) {
            let change = if id == path {
                let last = arrivals.arrived(at);
                last.map(|last| SilenceChange::Back { path, last })
            } else if self.is_enabled {
                let last = arrivals.missed(at);
                last.map(|last| SilenceChange::Silent { path: id, last })
            } else {
                None
            };
            change.into_iter().for_each(&mut report);
        }
    }
}

impl PathArrivals {
    /// Returns the start of a silence that was reported and ends now.
    fn arrived(&mut self, at: Time) -> Option<Time> {
        let last = self.last.filter(|_| self.is_silent);
        *self = Self {
            last: Some(at),
            missed: 0,
            is_silent: false,
            ..*self
        };
        last
    }

    /// Returns the start of a silence that is to be reported now.
    fn missed(&mut self, at: Time) -> Option<Time> {
        let last = self.last.filter(|_| !self.is_silent && !self.is_closed)?;
        let last = last.max(self.opened);
        let silence = at.since(last);
        if silence > MAX_SKEW {
            self.missed += 1;
        }
        self.is_silent = silence >= SILENCE && self.missed >= MIN_MISSED;
        self.is_silent.then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Off;

    const KEPT: PathId = PathId(0);
    const CUT: PathId = PathId(1);

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn a_closed_path_is_not_silent() {
        let off = LivenessSetting::Off(Off::Off);
        let mut detector = SilenceDetector::new(2, PolicyConfig::DuplicateAll {}, off);
        let mut reported = 0;
        detector.arrived(CUT, ms(0), |_| reported += 1);
        detector.set_closed(CUT, true, ms(100));
        for n in 1..20 {
            detector.arrived(KEPT, ms(n * 1000), |_| reported += 1);
        }
        detector.set_closed(CUT, false, ms(20_000));
        for n in 20..25 {
            detector.arrived(KEPT, ms(n * 1000), |_| reported += 1);
        }
        assert_eq!(reported, 0, "not before it is silent while it is open");
        for n in 25..30 {
            detector.arrived(KEPT, ms(n * 1000), |_| reported += 1);
        }
        assert_eq!(reported, 1);
    }

    /// The changes that are reported when datagrams arrive on paths at these milliseconds.
    fn changes(
        policy: PolicyConfig,
        arrivals: impl IntoIterator<Item = (PathId, u64)>,
    ) -> Vec<SilenceChange> {
        changes_under(LivenessSetting::Off(Off::Off), policy, arrivals)
    }

    fn changes_under(
        liveness: LivenessSetting,
        policy: PolicyConfig,
        arrivals: impl IntoIterator<Item = (PathId, u64)>,
    ) -> Vec<SilenceChange> {
        let mut detector = SilenceDetector::new(2, policy, liveness);
        let mut changes = Vec::new();
        for (path, at) in arrivals {
            detector.arrived(path, ms(at), |change| changes.push(change));
            assert_eq!(detector.last(path), Some(ms(at)));
        }
        changes
    }

    #[test]
    fn a_silent_path_and_its_return_are_reported_once() {
        let arrivals = || {
            let both = (0..10).flat_map(|n| [(KEPT, n * 100), (CUT, n * 100 + 50)]);
            let one = (10..200).map(|n| (KEPT, n * 100));
            both.chain(one).chain([(CUT, 20_000), (KEPT, 20_001)])
        };
        let (path, last) = (CUT, ms(950));
        let expected = [
            SilenceChange::Silent { path, last },
            SilenceChange::Back { path, last },
        ];
        for policy in [
            PolicyConfig::DuplicateAll {},
            PolicyConfig::probe_and_switch(0),
        ] {
            assert_eq!(changes(policy, arrivals()), expected);
            // Heartbeats report it.
            assert_eq!(
                changes_under(LivenessSetting::default(), policy, arrivals()),
                []
            );
        }
        // Under these a path may be idle.
        for policy in [
            PolicyConfig::single_path(0),
            PolicyConfig::DuplicateAcks { path: 0 },
        ] {
            assert_eq!(changes(policy, arrivals()), []);
        }
    }

    #[test]
    fn neither_a_pause_nor_a_loss_nor_a_late_copy_is_a_silence() {
        let policy = PolicyConfig::DuplicateAll {};
        let seldom = (0..20).flat_map(|n| [(KEPT, n * 60_000), (CUT, n * 60_000 + 300)]);
        assert_eq!(changes(policy, seldom), []);
        // One path loses two in three of its datagrams, one each ten seconds.
        let lossy = (0..40)
            .flat_map(|n| [(KEPT, n * 10_000), (CUT, n * 10_000 + 30)])
            .filter(|(path, at)| *path == KEPT || (at / 10_000) % 3 == 0);
        assert_eq!(changes(policy, lossy), []);
        // The last copies of a burst arrive 1.5 s late on one path; then nothing is sent for a
        // while.
        let burst = [(CUT, 0)].into_iter().chain((0..1500).map(|n| (KEPT, n)));
        assert_eq!(
            changes(policy, burst.chain([(KEPT, 60_000), (CUT, 60_001)])),
            []
        );
        // A path without any datagram is logged elsewhere.
        assert_eq!(changes(policy, (0..100).map(|n| (KEPT, n * 200))), []);
    }
}
