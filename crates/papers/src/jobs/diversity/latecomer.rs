//! A flow that begins long after all others.

use std::sync::atomic::AtomicU64;

use polypath_batch::replica_seeds;
use polypath_claims::{Job, JobError, Pending, SEED, Sample, Study};
use polypath_core::rng::Seed;
use polypath_sim::round_model::{Flow, RoundModel, RoundModelConfig};
use serde::{Deserialize, Serialize};

use super::run::cost_of_round;

/// Runs until some rounds after the last flow began, one for each seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LatecomerRuns {
    /// The configuration, with the round in which the last flow begins.
    pub(crate) config: RoundModelConfig,
    /// The number of observed rounds.
    pub(crate) span: u32,
    /// Whether the windows of the runs are recorded.
    pub(crate) shows: bool,
    pub(crate) seeds: Vec<u64>,
}

/// The result of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Latecomer {
    pub(crate) seed: u64,
    /// The packets that it sent, over the mean of the others in the same time.
    pub(crate) share: f64,
    /// Whether its window reached the mean of the others' before its first loss.
    pub(crate) reached: bool,
    /// Its window and the mean of the others' in each round, if recorded.
    pub(crate) windows: Vec<[f64; 2]>,
}

impl LatecomerRuns {
    pub(crate) fn new(config: RoundModelConfig, span: u32, seeds: u32) -> Self {
        Self {
            config,
            span,
            shows: false,
            seeds: replica_seeds(SEED, seeds),
        }
    }

    /// The runs, in jobs of ten.
    ///
    /// # Errors
    /// If results are missing.
    pub(crate) fn request(&self, study: &mut Study<'_>) -> Result<Vec<Latecomer>, Pending> {
        let jobs = self.seeds.chunks(10).map(|seeds| Self {
            seeds: seeds.to_vec(),
            ..self.clone()
        });
        let done = study.request_all(jobs)?;
        Ok(done.into_iter().flatten().collect())
    }

    fn run_one(&self, seed: u64) -> Result<Latecomer, JobError> {
        let rounds = RoundModel::new(&self.config, Seed(seed));
        let mut rounds = rounds.map_err(|error| JobError::Other(error.to_string()))?;
        for _ in 0..self.config.late {
            rounds.step();
        }
        let before: Vec<u64> = rounds.flows().iter().map(Flow::sent).collect();
        let mut windows = Vec::new();
        for _ in 0..self.span {
            rounds.step();
            windows.push(compared(&rounds));
        }
        let sent = rounds.flows().iter().zip(before);
        let sent: Vec<f64> = sent
            .map(|(flow, before)| (flow.sent() - before) as f64)
            .collect();
        let (late, others) = sent.split_last().unwrap_or((&0.0, &[]));
        let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
        let falls = windows.windows(2).position(|pair| pair[1][0] < pair[0][0]);
        let first = &windows[..=falls.unwrap_or(windows.len() - 1)];
        Ok(Latecomer {
            seed,
            share: late / mean.max(f64::MIN_POSITIVE),
            reached: first.iter().any(|[late, others]| late >= others),
            windows,
        })
    }
}

/// The window of the last flow and the mean of the others'.
fn compared(rounds: &RoundModel) -> [f64; 2] {
    let windows = rounds.flows().iter().map(|flow| f64::from(flow.window()));
    let windows: Vec<f64> = windows.collect();
    let (late, others) = windows.split_last().unwrap_or((&0.0, &[]));
    [
        *late,
        others.iter().sum::<f64>() / others.len().max(1) as f64,
    ]
}

impl Job for LatecomerRuns {
    type Output = Vec<Latecomer>;

    const KIND: &'static str = "rounds-late";

    fn cost(&self) -> f64 {
        let rounds = f64::from(self.config.late + self.span);
        rounds * cost_of_round(&self.config) * self.seeds.len() as f64
    }

    fn run(&self, _: &AtomicU64) -> Result<Vec<Latecomer>, JobError> {
        let mut all = Vec::new();
        for &seed in &self.seeds {
            let mut late = self.run_one(seed)?;
            if !self.shows {
                late.windows.clear();
            }
            all.push(late);
        }
        Ok(all)
    }
}

/// A sample of each run.
pub(crate) fn samples(runs: &[Latecomer], of: impl Fn(&Latecomer) -> f64) -> Vec<Sample> {
    let sample = |late: &Latecomer| Sample {
        seed: late.seed,
        value: of(late),
    };
    runs.iter().map(sample).collect()
}
