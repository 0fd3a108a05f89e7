//! Runs of a mechanism over the utilisation.

use std::ops::RangeBounds;

use polypath_batch::replica_seeds;
use polypath_claims::{Measurement, Pending, SEED, Sample, Study};
use polypath_report::plot::Series;

use crate::figures::estimates::point;
use crate::jobs::delay_centric::mechanism::Mechanism;
use crate::jobs::delay_centric::runs::{LabRuns, Run, Runs};
use crate::jobs::delay_centric::testbed::{Choices, Testbed};

/// Utilisations in percent (III: .66 to .99).
const UTILISATIONS: &[u32] = &[66, 70, 74, 78, 82, 86, 90, 93, 95, 97, 99];
const FEW_UTILISATIONS: &[u32] = &[66, 82, 90, 95, 99];
/// The critical utilisation in percent, above which one path cannot carry four of six sources
/// (IV.A).
pub(super) const CRITICAL: u32 = 75;
/// The datagrams of each source, and of each if 3000 are those of all six.
pub(super) const EACH: u32 = 3000;
pub(super) const IN_ALL: u32 = 500;
/// The number of runs of a job.
const CHUNK: usize = 50;
/// The utilisations in percent of the lab, and its numbers of runs in a quick and a full study.
pub(super) const LAB_UTILISATIONS: &[u32] = &[66, 82, 90, 95, 99];
const LAB_RUNS: [u32; 2] = [8, 32];
const MS: f64 = 1e3;

/// The common parameters of all runs of a sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) background: u32,
    pub(super) packets: u32,
    pub(super) choices: Choices,
}

impl Load {
    /// The test bed of a mechanism at a utilisation in percent.
    fn bed(self, mechanism: Mechanism, utilisation: u32) -> Testbed {
        Testbed {
            mechanism,
            utilisation,
            background: self.background,
            packets: self.packets,
            choices: self.choices,
        }
    }
}

/// The sources without background, as in the figures.
pub(super) const ALONE: Load = Load {
    background: 0,
    packets: EACH,
    choices: Choices::OURS,
};
/// With 40 % of background (III).
pub(super) const LOADED: Load = Load {
    background: 40,
    ..ALONE
};

/// The runs of a mechanism at each utilisation, with the same seeds.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    pub(super) mechanism: Mechanism,
    pub(super) utilisations: Vec<u32>,
    pub(super) runs: Vec<Vec<Run>>,
}

/// A quantity of a claim, with its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity<'a> {
    pub(super) claim: &'a str,
    pub(super) name: &'a str,
    pub(super) unit: &'a str,
}

impl<'a> Quantity<'a> {
    /// A delay in ms.
    pub(super) fn delay(claim: &'a str, name: &'a str) -> Self {
        let unit = "ms";
        Self { claim, name, unit }
    }
}

impl Sweep {
    /// Requests the runs over all utilisations; a full study has the paper's 200 of each (III).
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn of(
        study: &mut Study<'_>,
        mechanism: Mechanism,
        load: Load,
    ) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, study.pick(40, 200));
        let utilisations = study.pick(FEW_UTILISATIONS, UTILISATIONS);
        Self::over(study, utilisations, &seeds, mechanism, load)
    }

    /// Requests runs in the lab, with the seeds of the first simulated ones; `None` without a lab.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn in_lab(
        study: &mut Study<'_>,
        mechanism: Mechanism,
        load: Load,
    ) -> Result<Option<Self>, Pending> {
        let [few, many] = LAB_RUNS;
        let seeds = replica_seeds(SEED, study.pick(few, many));
        let request = |&utilisation: &u32| {
            let bed = load.bed(mechanism, utilisation);
            let seeds = seeds.clone();
            study.request_in_lab(&LabRuns(Runs { bed, seeds }))
        };
        let runs: Vec<_> = LAB_UTILISATIONS.iter().map(request).collect();
        let runs = runs.into_iter().collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(runs.map(|runs| Self {
            mechanism,
            utilisations: LAB_UTILISATIONS.to_vec(),
            runs,
        }))
    }

    /// Requests runs over other utilisations and with other seeds.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn over(
        study: &mut Study<'_>,
        utilisations: &[u32],
        seeds: &[u64],
        mechanism: Mechanism,
        load: Load,
    ) -> Result<Self, Pending> {
        let jobs = utilisations.iter().flat_map(|&utilisation| {
            let bed = load.bed(mechanism, utilisation);
            seeds.chunks(CHUNK).map(move |seeds| Runs {
                bed,
                seeds: seeds.to_vec(),
            })
        });
        let done = study.request_all(jobs)?;
        let each = done.chunks(seeds.len().div_ceil(CHUNK));
        Ok(Self {
            mechanism,
            utilisations: utilisations.to_vec(),
            runs: each.map(<[Vec<Run>]>::concat).collect(),
        })
    }

    /// The runs at a utilisation, if any.
    pub(super) fn at(&self, utilisation: u32) -> &[Run] {
        let mut all = self.utilisations.iter().zip(&self.runs);
        let found = all.find(|(known, _)| **known == utilisation);
        found.map_or(&[], |(_, runs)| runs)
    }

    /// The curve of the quantity `of` over the utilisation, where it exists.
    pub(super) fn series(&self, name: &str, of: impl Fn(&[Run]) -> Vec<Sample>) -> Series {
        let points = self.utilisations.iter().zip(&self.runs);
        let points = points.filter_map(|(&at, runs)| point(ratio(at), &of(runs)));
        Series {
            name: name.to_owned(),
            points: points.collect(),
            ..Series::default()
        }
    }

    /// The curve of a quantity over the utilisations of a range, with all runs of a seed in one
    /// group.
    pub(super) fn curve(
        &self,
        quantity: Quantity<'_>,
        range: impl RangeBounds<u32>,
        of: impl Fn(&[Run]) -> Vec<Sample>,
    ) -> Vec<Measurement> {
        let points = self.utilisations.iter().zip(&self.runs);
        let points = points.filter(|(at, _)| range.contains(*at));
        let measured = points.map(|(&at, runs)| {
            let measured = Measurement::of(
                quantity.claim,
                quantity.name,
                quantity.unit,
                "runs",
                &of(runs),
            );
            measured.over("rho", "", ratio(at))
        });
        measured.collect()
    }

    /// A sample for each seed: the share of its runs above the critical utilisation for which `is`
    /// is true.
    pub(super) fn share_above(&self, is: impl Fn(&Run) -> bool) -> Vec<Sample> {
        let above = self.utilisations.iter().zip(&self.runs);
        let above: Vec<&Vec<Run>> = above
            .filter(|(at, _)| **at > CRITICAL)
            .map(|(_, runs)| runs)
            .collect();
        let first = above.first().map_or(&[][..], |runs| &runs[..]);
        let sample = |(position, run): (usize, &Run)| {
            let of_seed = above.iter().filter(|runs| is(&runs[position]));
            Sample {
                seed: run.seed,
                value: of_seed.count() as f64 / above.len() as f64,
            }
        };
        first.iter().enumerate().map(sample).collect()
    }
}

/// The sweep of a mechanism that was run.
pub(super) fn of(sweeps: &[Sweep], mechanism: Mechanism) -> &Sweep {
    let found = sweeps.iter().find(|sweep| sweep.mechanism == mechanism);
    found.expect("all mechanisms are run")
}

/// A sample of each run.
pub(super) fn samples(runs: &[Run], of: impl Fn(&Run) -> f64) -> Vec<Sample> {
    let sample = |run: &Run| Sample {
        seed: run.seed,
        value: of(run),
    };
    runs.iter().map(sample).collect()
}

/// The switches of all sources in each run.
pub(super) fn switches(runs: &[Run]) -> Vec<Sample> {
    samples(runs, |run| f64::from(run.switches))
}

/// The mean delays of runs in ms.
pub(super) fn delays(runs: &[Run]) -> Vec<Sample> {
    samples(runs, |run| run.delay * MS)
}

/// 1 for each run for which `is` is true, otherwise 0.
pub(super) fn share(runs: &[Run], is: impl Fn(&Run) -> bool) -> Vec<Sample> {
    samples(runs, |run| f64::from(u8::from(is(run))))
}

/// The runs for which `is` is true.
pub(super) fn only(runs: &[Run], is: impl Fn(&Run) -> bool) -> Vec<Run> {
    runs.iter().copied().filter(|run| is(run)).collect()
}

/// Percent as a share.
pub(super) fn ratio(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}
