//! The runs of the figures: seeds, sample sizes, and idle times for their loads.

use polypath_batch::replica_seeds;
use polypath_claims::{Pending, SEED, Sample, Study};
use polypath_core::rng::Seed;
use polypath_scenario::Scheme;

use crate::figures::estimates::mean;
use crate::jobs::ppd::calibration::{Calibrate, Calibrated};
use crate::jobs::ppd::setting::{Setting, Traffic};
use crate::jobs::ppd::transfers::{SchemeResult, Transfers};

/// A file of Figs. 3, 4, 8 and 9: "100Kbyte" in packets of 1000 B (5.1).
pub(super) const FILE: u64 = 100_000;

/// The names of the schemes in the ledger's rules, in the order of [`Scheme::ALL`].
const NAMES: [&str; 4] = ["tcp", "ppd1", "ppd2", "ppd3"];

/// The names of the schemes in the paper, likewise.
const TITLES: [&str; 4] = ["TCP", "PPD-TCP1", "PPD-TCP2", "PPD-TCP3"];

/// The maximum load at which all schemes run in lock-step, as the measurement of harm requires.
const LOCK_STEP: f64 = 0.951;

/// The sample size at one load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) replicas: u32,
    /// The transfers of each replica.
    pub(super) count: u32,
    /// The approximate duration of a transfer by the slowest scheme, in seconds.
    pub(super) about: u32,
}

/// A sample size of this number of replicas and transfers.
pub(super) const fn size(replicas: u32, count: u32, about: u32) -> Size {
    Size {
        replicas,
        count,
        about,
    }
}

/// The seeds of the replicas of one experiment: different experiments share none, so that their
/// runs are independent.
pub(super) fn seeds(experiment: &str, replicas: u32) -> Vec<u64> {
    // A single replica has the seed that it would have among several, so that more replicas add to
    // those of fewer.
    replica_seeds(Seed(SEED).child(experiment).0, replicas.max(2))
        .into_iter()
        .take(replicas as usize)
        .collect()
}

/// The idle times for each of these loads of both paths, the same in both directions.
pub(super) fn calibrate(
    study: &mut Study<'_>,
    setting: &Setting,
    targets: &[f64],
) -> Result<Vec<Calibrated>, Pending> {
    let targets: Vec<[f64; 2]> = targets.iter().map(|target| [*target; 2]).collect();
    calibrate_ways(study, setting, &targets)
}

/// The idle times for each of these loads of both paths, to the client and to the server.
pub(super) fn calibrate_ways(
    study: &mut Study<'_>,
    setting: &Setting,
    targets: &[[f64; 2]],
) -> Result<Vec<Calibrated>, Pending> {
    let (span, replicas) = study.pick((150, 3), (500, 4));
    let jobs = targets.iter().map(|&targets| Calibrate {
        setting: setting.clone(),
        targets,
        span,
        seeds: seeds("calibration", replicas),
    });
    study.request_all(jobs)
}

/// The transfers at one load, by scheme.
#[derive(Clone, Debug)]
pub(super) struct LoadPoint {
    /// The load of the first path.
    pub(super) load: f64,
    /// The seeds of the replicas.
    pub(super) seeds: Vec<u64>,
    /// Each scheme that was run, with its result in each replica.
    pub(super) schemes: Vec<(Scheme, Vec<SchemeResult>)>,
    /// Whether all of them ran in lock-step.
    pub(super) in_lock_step: bool,
}

/// The parameters of the transfers at one load.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    /// The experiment, from which the seeds are derived.
    pub(super) experiment: &'a str,
    pub(super) setting: &'a Setting,
    pub(super) traffic: Traffic,
    pub(super) load: f64,
    pub(super) bytes: u64,
    pub(super) size: Size,
}

impl Plan<'_> {
    fn seeds(&self) -> Vec<u64> {
        let experiment = format!("{}/{}", self.experiment, self.load);
        seeds(&experiment, self.size.replicas)
    }

    /// The transfers by schemes in lock-step.
    pub(super) fn run(
        &self,
        study: &mut Study<'_>,
        schemes: &[Scheme],
    ) -> Result<LoadPoint, Pending> {
        let jobs = self.seeds().into_iter().map(|seed| Transfers {
            setting: self.setting.clone(),
            traffic: self.traffic,
            schemes: schemes.to_vec(),
            bytes: self.bytes,
            count: self.size.count,
            seed,
            about: self.size.about,
        });
        let runs = study.request_all(jobs)?;
        let of = |n: usize| runs.iter().filter_map(|run| run.get(n).cloned()).collect();
        let by_scheme = schemes
            .iter()
            .enumerate()
            .map(|(n, scheme)| (*scheme, of(n)));
        Ok(LoadPoint {
            load: self.load,
            seeds: self.seeds(),
            schemes: by_scheme.collect(),
            in_lock_step: true,
        })
    }

    /// The transfers by all schemes; above [`LOCK_STEP`] plain TCP runs separately, since all
    /// others would wait for it.
    pub(super) fn run_all(&self, study: &mut Study<'_>) -> Result<LoadPoint, Pending> {
        if self.load <= LOCK_STEP {
            return self.run(study, &Scheme::ALL);
        }
        let tcp = self.run(study, &Scheme::ALL[..1]);
        let others = self.run(study, &Scheme::ALL[1..]);
        let (mut row, others) = (tcp?, others?);
        row.schemes.extend(others.schemes);
        row.in_lock_step = false;
        Ok(row)
    }
}

impl LoadPoint {
    /// The result of a scheme in each replica.
    pub(super) fn of(&self, scheme: Scheme) -> &[SchemeResult] {
        let found = self.schemes.iter().find(|(known, _)| *known == scheme);
        found.map_or(&[], |(_, runs)| runs)
    }

    /// The mean transfer time of each replica, in seconds.
    pub(super) fn times(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| Some(mean(&run.times)))
    }

    /// A quantity of each replica with a value.
    pub(super) fn each(
        &self,
        scheme: Scheme,
        of: impl Fn(&SchemeResult) -> Option<f64>,
    ) -> Vec<Sample> {
        let samples = self.seeds.iter().zip(self.of(scheme));
        samples
            .filter_map(|(seed, run)| {
                Some(Sample {
                    seed: *seed,
                    value: of(run)?,
                })
            })
            .collect()
    }
}

/// The name of a scheme in the ledger's rules.
pub(super) fn name(scheme: Scheme) -> &'static str {
    NAMES[position(scheme)]
}

/// The name of a scheme in the paper.
pub(super) fn title(scheme: Scheme) -> &'static str {
    TITLES[position(scheme)]
}

/// The position of a scheme of the paper in [`Scheme::ALL`].
fn position(scheme: Scheme) -> usize {
    let position = Scheme::ALL.iter().position(|other| *other == scheme);
    position.expect("the paper compares four schemes")
}
