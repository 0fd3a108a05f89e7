//! Media streams over the paths of a file, by one policy with several seeds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::{PARTS, replica_seeds};
use polypath_claims::{Job, JobError, SEED};
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::{HEAD_START, RepairConfig, Share};
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_scenario::MediaScenario;
use polypath_sim::{MediaOutcome, WireCount, WireKind, run_media_observed};
use serde::{Deserialize, Serialize};

use super::files::MediaFile;

/// A policy in the terms of the claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Carrier {
    SinglePath,
    DuplicateAll,
    /// `in-time` with the second deadline of the file and a redundancy of a tenth.
    Relaxed,
    /// `in-time` with the first deadline of the file and a redundancy of a fifth.
    Tight,
}

/// Streams of one file and policy, one for each seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Streams {
    pub(crate) file: MediaFile,
    /// Settings that differ from the file, as `--set` has them.
    pub(crate) sets: Vec<String>,
    pub(crate) carrier: Carrier,
    /// The number of runs; the seeds are those of `polypath sim`.
    pub(crate) runs: u32,
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StreamResult {
    pub(crate) seed: u64,
    /// Packets that were late or lost, in percent, for each deadline of the file.
    pub(crate) late: Vec<f64>,
    /// The 99.9th percentile of the one-way delay in milliseconds, if anything arrived.
    pub(crate) delay: Option<f64>,
    /// The longest time without a delivery in milliseconds.
    pub(crate) gap: f64,
    /// Bytes on the wire, both directions and all headers, per byte of payload.
    pub(crate) wire: f64,
    /// Bytes of repairs and copies over those that the budget allows; `None` without a budget.
    pub(crate) spent: Option<f64>,
    /// Bytes on the wire of each path, both directions.
    pub(crate) path_bytes: Vec<u64>,
    /// Bytes of reports on each path, both directions, per byte of payload.
    pub(crate) reports: Vec<f64>,
    /// Bytes on the wire of a packet of data beyond those of the packet that it carries.
    pub(crate) header: f64,
}

impl Carrier {
    /// The name of its quantities.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::SinglePath => "single_path",
            Self::DuplicateAll => "duplicate_all",
            Self::Relaxed => "in_time",
            Self::Tight => "in_time_tight",
        }
    }

    /// The position among a file's deadlines of the one that the policy has, or is judged by.
    pub(crate) const fn deadline(self) -> usize {
        match self {
            Self::Tight => 0,
            _ => 1,
        }
    }

    fn policy(self, scenario: &MediaScenario) -> PolicyConfig {
        let in_time = |percent: u32| {
            let deadlines = &scenario.media.deadlines;
            PolicyConfig::InTime(RepairConfig {
                deadline: deadlines.get(self.deadline()).copied().unwrap_or_default(),
                redundancy: Share::from_millionths(percent * 10_000),
                ..RepairConfig::default()
            })
        };
        match self {
            Self::SinglePath => PolicyConfig::SinglePath {
                path: 0,
                leave: None,
            },
            Self::DuplicateAll => PolicyConfig::DuplicateAll {},
            Self::Relaxed => in_time(10),
            Self::Tight => in_time(20),
        }
    }
}

impl Job for Streams {
    type Output = Vec<StreamResult>;

    const KIND: &'static str = "own.streams";

    fn cost(&self) -> f64 {
        0.012 * f64::from(self.runs)
    }

    fn run(&self, parts: &AtomicU64) -> Result<Self::Output, JobError> {
        let scenario = self.file.scenario(&self.sets)?;
        let policy = self.carrier.policy(&scenario);
        let share = PARTS / u64::from(self.runs.max(1));
        let one = |seed| {
            let mut reports = vec![0; scenario.paths.len()];
            let mut count = |path: PathId, kind, len: u32| {
                if kind == FrameKind::Report {
                    reports[path.index()] += u64::from(len);
                }
            };
            let outcome = run_media_observed(&scenario, policy, Seed(seed), &mut count)?;
            parts.fetch_add(share, Ordering::Relaxed);
            let packet = scenario.media.packet_len().0;
            Ok(StreamResult::new(seed, &outcome, policy, packet, &reports))
        };
        replica_seeds(SEED, self.runs)
            .into_iter()
            .map(one)
            .collect()
    }
}

impl StreamResult {
    /// The result of a stream of IP packets of `packet` bytes, with the bytes of reports on each
    /// path.
    fn new(
        seed: u64,
        outcome: &MediaOutcome,
        policy: PolicyConfig,
        packet: u64,
        reports: &[u64],
    ) -> Self {
        let wire = &outcome.wire;
        let data = sent(&wire.forward, FrameKind::Data);
        let of_payload = |bytes: &u64| *bytes as f64 / outcome.payload as f64;
        let percent = |late: &u64| *late as f64 / outcome.sent as f64 * 100.0;
        Self {
            seed,
            late: outcome.late.iter().map(percent).collect(),
            delay: outcome.delay.map(|delay| milliseconds(delay.p999)),
            gap: milliseconds(outcome.longest_gap),
            wire: wire.bytes() as f64 / outcome.payload as f64,
            spent: match policy {
                PolicyConfig::InTime(config) => Some(spent(outcome, config.redundancy)),
                _ => None,
            },
            path_bytes: wire.paths.iter().map(|path| path.both()).collect(),
            reports: reports.iter().map(of_payload).collect(),
            header: data.bytes as f64 / data.frames as f64 - packet as f64,
        }
    }

    /// The share of the path at this position in the bytes on the wire, in percent.
    pub(crate) fn share_of_path(&self, path: usize) -> f64 {
        let all: u64 = self.path_bytes.iter().sum();
        self.path_bytes[path] as f64 / all as f64 * 100.0
    }
}

/// The frames of a kind among those that a side sent.
fn sent(frames: &BTreeMap<WireKind, WireCount>, kind: FrameKind) -> WireCount {
    frames
        .get(&WireKind::Frame(kind))
        .copied()
        .unwrap_or_default()
}

/// The bytes that the sender's repairs and copies took, over those that its budget allows.
fn spent(outcome: &MediaOutcome, redundancy: Share) -> f64 {
    let bytes = |kind| sent(&outcome.wire.forward, kind).bytes;
    let share = f64::from(redundancy.millionths()) / 1e6;
    let allowed = share * (bytes(FrameKind::Data) + HEAD_START) as f64;
    (bytes(FrameKind::Repair) + bytes(FrameKind::Copy)) as f64 / allowed
}

pub(super) fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(file: MediaFile, carrier: Carrier, sets: &[&str]) -> Vec<StreamResult> {
        let streams = Streams {
            file,
            sets: sets.iter().map(ToString::to_string).collect(),
            carrier,
            runs: 2,
        };
        streams.run(&AtomicU64::new(0)).unwrap()
    }

    const SHORT: &str = "media.duration=4 s";

    #[test]
    fn every_file_is_run_by_every_policy_that_its_claims_need() {
        for file in MediaFile::BOUNDED.into_iter().chain(MediaFile::OTHERS) {
            let scenario = file.scenario(&[SHORT]).unwrap();
            assert_eq!(scenario.name, format!("media-{}", file.word()));
            // The setting of the claims is the one with which the file itself runs in-time.
            let policies = &scenario.media.policies;
            let own = policies.iter().find(|policy| policy.name() == "in-time");
            assert_eq!(
                own.map(polypath_scenario::MediaPolicy::config),
                Some(Carrier::Relaxed.policy(&scenario))
            );
        }
    }

    #[test]
    fn lateness_bytes_and_the_budget_are_measured() {
        let single = streams(MediaFile::Random, Carrier::SinglePath, &[SHORT]);
        let double = streams(MediaFile::Random, Carrier::DuplicateAll, &[SHORT]);
        let in_time = streams(MediaFile::Random, Carrier::Relaxed, &[SHORT]);
        assert!(single.iter().all(|run| (0.5..4.0).contains(&run.late[1])));
        assert!(double.iter().all(|run| (2.1..2.2).contains(&run.wire)));
        assert!(single.iter().all(|run| run.spent.is_none()));
        for run in &in_time {
            assert!(run.late[1] < 0.1 && run.wire < 1.2, "{run:?}");
            assert!(run.spent.is_some_and(|of| of > 0.05 && of < 1.0), "{run:?}");
        }
        assert_ne!(in_time[0], in_time[1]);
    }

    #[test]
    fn paths_reports_and_headers_are_measured() {
        let sets = [SHORT, "path.path2.tariff={ cost = 1 }"];
        for run in streams(MediaFile::Random, Carrier::Relaxed, &sets) {
            let shares = [0, 1].map(|path| run.share_of_path(path));
            assert!((shares[0] + shares[1] - 100.0).abs() < 1e-9, "{run:?}");
            assert!(shares[1] > 0.0 && shares[1] < 50.0, "{run:?}");
            let reports = run.reports.iter().sum::<f64>();
            assert!(reports > 0.001 && reports < 0.1, "{run:?}");
            assert_eq!(run.reports.len(), 2);
            assert!((20.0..100.0).contains(&run.header), "{run:?}");
        }
        let double = streams(MediaFile::Random, Carrier::DuplicateAll, &[SHORT]);
        assert!(
            double.iter().all(|run| run.reports == [0.0; 2]),
            "{double:?}"
        );
        assert!((double[0].share_of_path(0) - 50.0).abs() < 1.0);
    }

    #[test]
    fn a_setting_changes_the_file() {
        let sets = [SHORT, "path.path1.link.uplink.loss=0"];
        let clean = streams(MediaFile::Random, Carrier::SinglePath, &sets);
        assert!(clean.iter().all(|run| run.late[1] == 0.0), "{clean:?}");
    }
}
