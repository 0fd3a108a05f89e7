//! The finished runs of a race in files, so that a race that is started again continues.

use std::fs;
use std::path::Path;

use polypath_batch::{FileError, Lookup, ResultCache, digest};
use polypath_lab::media::{MediaCarrier, MediaLabRun};
use polypath_scenario::MediaScenario;
use serde::{Deserialize, Serialize};

/// The length of the digest in the name of a file, in characters.
const DIGITS: usize = 16;

/// The files of finished runs.
#[derive(Debug)]
pub(crate) struct RunFiles {
    cache: ResultCache,
    programs: Vec<String>,
}

/// The properties that determine a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunLabel {
    scenario: String,
    /// The digest of all parameters, with the content of the files that the scenario names.
    parameters: String,
    carriers: Vec<String>,
    seed: u64,
    /// The kernel's release, and the digests of this program and of the transports' programs.
    programs: Vec<String>,
}

impl RunFiles {
    /// Opens the folder and creates it if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn open(folder: &Path) -> Result<Self, FileError> {
        let programs = Path::new("/proc/self/exe").to_owned();
        let programs = [programs].into_iter().chain(MediaCarrier::programs());
        // One that cannot be read has no digest.
        let digests = programs.map(|path| fs::read(path).map_or_else(|_| String::new(), digest));
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Self {
            cache: ResultCache::open(folder.to_owned())?,
            programs: [release.trim().to_owned()]
                .into_iter()
                .chain(digests)
                .collect(),
        })
    }

    /// The label of the run of a seed.
    pub(crate) fn label(
        &self,
        scenario: &MediaScenario,
        carriers: &[MediaCarrier],
        seed: u64,
    ) -> RunLabel {
        let mut scenario = scenario.clone();
        // A further run of the same stream has another seed alone.
        scenario.media.runs = 0;
        RunLabel {
            parameters: digest(format!("{scenario:?}")),
            scenario: scenario.name,
            carriers: carriers.iter().map(MediaCarrier::name).collect(),
            seed,
            programs: self.programs.clone(),
        }
    }

    /// The run with this label, if it is finished.
    ///
    /// # Errors
    /// If its file exists and cannot be read.
    pub(crate) fn find(&self, label: &RunLabel) -> Result<Option<MediaLabRun>, FileError> {
        let found = self.cache.lookup(&label.file_name(), label)?;
        Ok(match found {
            Lookup::Result(text) => serde_json::from_str(&text).ok(),
            Lookup::Missing | Lookup::Unusable => None,
        })
    }

    /// Stores a valid run.
    ///
    /// # Errors
    /// If its file cannot be written.
    pub(crate) fn store(&self, label: &RunLabel, run: &MediaLabRun) -> Result<(), FileError> {
        if !run.conditions.is_valid() {
            return Ok(());
        }
        let run = serde_json::json!(run);
        self.cache.store(&label.file_name(), label, &run).map(drop)
    }
}

impl RunLabel {
    fn file_name(&self) -> String {
        let mut digest = digest(format!("{self:?}"));
        digest.truncate(DIGITS);
        format!("{}-{digest}", self.scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use polypath_core::frame::FrameKind;
    use polypath_core::time::Duration;
    use polypath_lab::media::{CarrierRun, Transport};
    use polypath_report::media::{CarrierMeasurement, LabConditions};
    use polypath_sim::{DelayQuantiles, MediaOutcome, PathBytes, WireCount, WireKind, WireUse};

    const RANDOM: &str = include_str!("../../../../scenarios/media-random.toml");

    fn scenario(sets: &[&str]) -> MediaScenario {
        let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
        MediaScenario::parse(RANDOM, "media-random.toml", &sets).unwrap()
    }

    fn run(lateness: u64) -> MediaLabRun {
        let count = WireCount {
            frames: 3,
            bytes: 4223,
        };
        let kinds = [WireKind::Frame(FrameKind::HeartbeatReply), WireKind::Other];
        let outcome = MediaOutcome {
            sent: 3,
            delivered: 2,
            late: vec![2, 1],
            delay: Some(DelayQuantiles {
                p50: Duration(20_123_457),
                p99: Duration(1_000_000_001),
                p999: Duration(999_999_999),
            }),
            longest_gap: Duration(4_210_526),
            reordered: 1,
            payload: 3948,
            wire: WireUse {
                forward: kinds.map(|kind| (kind, count)).into(),
                backward: BTreeMap::new(),
                paths: vec![PathBytes {
                    forward: 4,
                    backward: 5,
                }],
            },
        };
        let measurement = CarrierMeasurement {
            processor: Some(Duration(12_345_678)),
            used_at_start: vec![Some(false)],
            ..CarrierMeasurement::default()
        };
        MediaLabRun {
            carriers: vec![CarrierRun {
                outcome,
                measurement,
            }],
            conditions: LabConditions {
                lateness: Duration(lateness),
                bound: Duration(1_000_000),
                groups: 1,
                ..LabConditions::default()
            },
        }
    }

    #[test]
    fn a_finished_run_is_found_again_unless_it_was_late() {
        let folder = tempfile::tempdir().unwrap();
        let files = RunFiles::open(folder.path()).unwrap();
        let carriers = [MediaCarrier::Transport(Transport::Udp)];
        let label = |seed| files.label(&scenario(&[]), &carriers, seed);
        assert_eq!(files.find(&label(1)).unwrap(), None);
        files.store(&label(1), &run(123_457)).unwrap();
        files.store(&label(2), &run(1_000_001)).unwrap();
        let files = RunFiles::open(folder.path()).unwrap();
        assert_eq!(files.find(&label(1)).unwrap(), Some(run(123_457)));
        assert_eq!(files.find(&label(2)).unwrap(), None);
    }

    #[test]
    fn another_parameter_carrier_or_program_is_another_run_but_not_a_further_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = RunFiles::open(folder.path()).unwrap();
        let udp = [MediaCarrier::Transport(Transport::Udp)];
        let tcp = [MediaCarrier::Transport(Transport::Tcp)];
        let label = files.label(&scenario(&[]), &udp, 1);
        files.store(&label, &run(1)).unwrap();
        let found = |label: &RunLabel, files: &RunFiles| files.find(label).unwrap().is_some();
        let longer = files.label(&scenario(&["media.duration=31 s"]), &udp, 1);
        let lossier = files.label(&scenario(&["path.1.link.0.loss=0.03"]), &udp, 1);
        for other in [longer, lossier, files.label(&scenario(&[]), &tcp, 1)] {
            assert!(!found(&other, &files), "{other:?}");
        }
        let further = files.label(&scenario(&["media.runs=5"]), &udp, 1);
        assert!(found(&further, &files));
        files.programs[1] = "another".to_owned();
        assert!(!found(&files.label(&scenario(&[]), &udp, 1), &files));
    }
}
