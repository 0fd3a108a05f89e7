//! Paths that fall silent while others bring the peer's datagrams.
//!
//! Only where no heartbeats tell it better ([`polypath_core::liveness`]), and each packet leaves something on every path,
//! as the policy of this end says, and that of the peer if it is the same. A path that may be idle is not called silent;
//! nor is one while the peer sends nothing at all, which the session notices where an answer is due.

use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};

use crate::config::Watch;

/// Silence after which the log is to say so.
const SILENCE: Duration = Duration::from_secs(5);
/// How much later than its counterpart a datagram may come on the slowest path.
const STRAGGLING: Duration = Duration::from_secs(2);
/// Datagrams that must have come on other paths meanwhile: as many in a row are hardly ever lost.
const MISSED: u32 = 4;

/// When the peer was heard on each path.
#[derive(Debug)]
pub(super) struct SilenceDetector {
    paths: Vec<Heard>,
    /// Whether silence is to be told: all paths carry something of each packet, and nothing else tells it.
    expects_all_paths: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    last: Option<Time>,
    /// Datagrams of other paths since then, but for those that a straggler could still follow.
    missed: u32,
    silent: bool,
}

/// What has changed about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing has come on it since `last`, while other paths were heard.
    Silent { path: PathId, last: Time },
    /// It is heard again, having been silent since `last`.
    Back { path: PathId, last: Time },
}

impl SilenceDetector {
    /// Of `paths` paths that `policy` uses and that are watched like this.
    pub(super) fn new(paths: usize, policy: PolicyConfig, watch: Watch) -> Self {
        let mut detector = Self {
            paths: vec![Heard::default(); paths],
            expects_all_paths: false,
        };
        detector.adjust(policy, watch);
        detector
    }

    /// The paths are used and watched like this from now on.
    pub(super) fn adjust(&mut self, policy: PolicyConfig, watch: Watch) {
        let on_all = match policy {
            PolicyConfig::DuplicateAll {} | PolicyConfig::ProbeAndSwitch { .. } => true,
            PolicyConfig::SinglePath { .. } | PolicyConfig::DuplicateAcks { .. } => false,
        };
        self.expects_all_paths = on_all && watch.config().is_none();
        for heard in &mut self.paths {
            (heard.missed, heard.silent) = (0, false);
        }
    }

    /// When the peer was last heard on `path`, if ever.
    pub(super) fn last(&self, path: PathId) -> Option<Time> {
        self.paths.get(path.index())?.last
    }

    /// Notes an authentic datagram of the peer that came on `path` at `at`, and says what follows.
    pub(super) fn hear(&mut self, path: PathId, at: Time, mut tell: impl FnMut(Change)) {
        for (id, heard) in (0..).map(PathId).zip(&mut self.paths) {
            let change = if id == path {
                heard.hear(at).map(|last| Change::Back { path, last })
            } else if self.expects_all_paths {
                heard.miss(at).map(|last| Change::Silent { path: id, last })
            } else {
                None
            };
            change.into_iter().for_each(&mut tell);
        }
    }
}

impl Heard {
    /// The end of a silence that has been told.
    fn hear(&mut self, at: Time) -> Option<Time> {
        let last = self.last.filter(|_| self.silent);
        *self = Self {
            last: Some(at),
            ..Self::default()
        };
        last
    }

    /// The beginning of a silence that is to be told.
    fn miss(&mut self, at: Time) -> Option<Time> {
        let last = self.last.filter(|_| !self.silent)?;
        let silence = at.since(last);
        if silence > STRAGGLING {
            self.missed += 1;
        }
        self.silent = silence >= SILENCE && self.missed >= MISSED;
        self.silent.then_some(last)
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

    /// What is told when the paths are heard at these milliseconds.
    fn told(policy: PolicyConfig, heard: impl IntoIterator<Item = (PathId, u64)>) -> Vec<Change> {
        told_under(Watch::Off(Off::Off), policy, heard)
    }

    fn told_under(
        watch: Watch,
        policy: PolicyConfig,
        heard: impl IntoIterator<Item = (PathId, u64)>,
    ) -> Vec<Change> {
        let mut detector = SilenceDetector::new(2, policy, watch);
        let mut told = Vec::new();
        for (path, at) in heard {
            detector.hear(path, ms(at), |change| told.push(change));
            assert_eq!(detector.last(path), Some(ms(at)));
        }
        told
    }

    #[test]
    fn a_path_that_falls_silent_is_told_once_and_its_return_too() {
        let heard = || {
            let both = (0..10).flat_map(|n| [(KEPT, n * 100), (CUT, n * 100 + 50)]);
            let one = (10..200).map(|n| (KEPT, n * 100));
            both.chain(one).chain([(CUT, 20_000), (KEPT, 20_001)])
        };
        let (path, last) = (CUT, ms(950));
        let expected = [Change::Silent { path, last }, Change::Back { path, last }];
        for policy in [
            PolicyConfig::DuplicateAll {},
            PolicyConfig::ProbeAndSwitch { path: 0 },
        ] {
            assert_eq!(told(policy, heard()), expected);
            // Heartbeats tell it.
            assert_eq!(told_under(Watch::default(), policy, heard()), []);
        }
        // Under these a path may be idle.
        for policy in [
            PolicyConfig::SinglePath { path: 0 },
            PolicyConfig::DuplicateAcks { path: 0 },
        ] {
            assert_eq!(told(policy, heard()), []);
        }
    }

    #[test]
    fn neither_a_pause_nor_a_loss_nor_a_straggler_is_a_silence() {
        let policy = PolicyConfig::DuplicateAll {};
        let seldom = (0..20).flat_map(|n| [(KEPT, n * 60_000), (CUT, n * 60_000 + 300)]);
        assert_eq!(told(policy, seldom), []);
        // On one path two in three are lost of a datagram in ten seconds.
        let lossy = (0..40)
            .flat_map(|n| [(KEPT, n * 10_000), (CUT, n * 10_000 + 30)])
            .filter(|(path, at)| *path == KEPT || (at / 10_000) % 3 == 0);
        assert_eq!(told(policy, lossy), []);
        // The last copies of a burst come 1.5 s late on one path; then nobody sends for a while.
        let burst = [(CUT, 0)].into_iter().chain((0..1500).map(|n| (KEPT, n)));
        assert_eq!(
            told(policy, burst.chain([(KEPT, 60_000), (CUT, 60_001)])),
            []
        );
        // A path that was never heard is told elsewhere.
        assert_eq!(told(policy, (0..100).map(|n| (KEPT, n * 200))), []);
    }
}
