//! Runs of the round model.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::{PARTS, replica_seeds};
use polypath_claims::{Job, JobError, Pending, SEED, Sample, Study};
use polypath_core::rng::Seed;
use polypath_sim::round_model::{Flow, RoundModel, RoundModelConfig};
use serde::{Deserialize, Serialize};

/// The approximate run time of a job in seconds.
const JOB: f64 = 4.0;
/// Rounds between two points of the totals of each flow.
pub(crate) const STEP: u32 = 20;

/// Runs with one configuration, one for each seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Runs {
    pub(crate) config: RoundModelConfig,
    pub(crate) rounds: u32,
    /// The rounds, besides the last, after which the totals of flows are recorded.
    pub(crate) notes: Vec<u32>,
    /// Whether the rounds of the first run are recorded.
    pub(crate) shows: bool,
    pub(crate) seeds: Vec<u64>,
}

/// The result of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunResult {
    pub(crate) seed: u64,
    /// The packets that all flows sent.
    pub(crate) sent: u64,
    /// The capacity of a link over the run, in packets.
    pub(crate) capacity: u64,
    /// The maximum excess of a round over the capacity, as a share of it.
    pub(crate) most: f64,
    /// The mean excess over all rounds, 0 for rounds below the capacity.
    pub(crate) excess: f64,
    /// The maximum number of successive rounds above the capacity.
    pub(crate) longest: u32,
    /// The delivered packets of each flow after the recorded rounds and the last.
    pub(crate) delivered: Vec<Vec<u64>>,
    /// The packets that all flows sent in each round, if recorded.
    pub(crate) totals: Vec<u64>,
    /// The delivered packets of each flow after every [`STEP`] rounds, if recorded.
    pub(crate) delivered_over_time: Vec<Vec<u64>>,
}

impl Runs {
    /// Runs of the paper's 2000 round trips that record the rounds of the first.
    pub(crate) fn new(config: RoundModelConfig, seeds: u32) -> Self {
        Self {
            config,
            rounds: super::setting::ROUNDS,
            notes: Vec::new(),
            shows: true,
            seeds: replica_seeds(SEED, seeds),
        }
    }

    /// The runs, in jobs of a few of them.
    ///
    /// # Errors
    /// If results are missing.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of runs is small and positive"
    )]
    pub(crate) fn request(&self, study: &mut Study<'_>) -> Result<Vec<RunResult>, Pending> {
        let few = (JOB / self.cost_of_one()).max(1.0) as usize;
        let jobs = self
            .seeds
            .chunks(few)
            .enumerate()
            .map(|(number, seeds)| Self {
                seeds: seeds.to_vec(),
                shows: self.shows && number == 0,
                ..self.clone()
            });
        let done = study.request_all(jobs)?;
        Ok(done.into_iter().flatten().collect())
    }

    /// The approximate run time of one run in seconds.
    fn cost_of_one(&self) -> f64 {
        f64::from(self.rounds) * cost_of_round(&self.config)
    }
}

/// The approximate run time of a round in seconds.
pub(crate) fn cost_of_round(config: &RoundModelConfig) -> f64 {
    let RoundModelConfig {
        flows,
        capacity,
        links,
        ..
    } = *config;
    let steps = if config.detection.is_some() || config.sets.is_some() {
        // Every packet, and what each flow's signature makes of each link.
        f64::from(capacity) + 60.0 * f64::from(flows * links)
    } else {
        f64::from(flows) + 0.1 * f64::from(capacity)
    };
    steps * 3e-9
}

impl Job for Runs {
    type Output = Vec<RunResult>;

    const KIND: &'static str = "rounds";

    fn cost(&self) -> f64 {
        self.cost_of_one() * self.seeds.len() as f64
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<RunResult>, JobError> {
        let mut all = Vec::new();
        for (number, &seed) in (0..).zip(&self.seeds) {
            all.push(self.run_one(seed, self.shows && number == 0)?);
            parts.fetch_add(PARTS / self.seeds.len() as u64, Ordering::Relaxed);
        }
        Ok(all)
    }
}

impl Runs {
    fn run_one(&self, seed: u64, shows: bool) -> Result<RunResult, JobError> {
        let rounds = RoundModel::new(&self.config, Seed(seed));
        let mut rounds = rounds.map_err(|error| JobError::Other(error.to_string()))?;
        let mut ran = RunResult::new(&self.config, self.rounds, seed);
        let mut above = 0;
        for round in 1..=self.rounds {
            let sent = rounds.step().sent;
            above = ran.add(sent, self.config.packets(), above);
            if self.notes.contains(&round) || round == self.rounds {
                ran.delivered.push(delivered(&rounds));
            }
            if shows {
                ran.totals.push(sent);
                if round.is_multiple_of(STEP) {
                    ran.delivered_over_time.push(delivered(&rounds));
                }
            }
        }
        ran.excess /= f64::from(self.rounds);
        Ok(ran)
    }
}

fn delivered(rounds: &RoundModel) -> Vec<u64> {
    rounds.flows().iter().map(Flow::delivered).collect()
}

impl RunResult {
    fn new(config: &RoundModelConfig, rounds: u32, seed: u64) -> Self {
        Self {
            seed,
            sent: 0,
            capacity: config.packets() * u64::from(rounds),
            most: 0.0,
            excess: 0.0,
            longest: 0,
            delivered: Vec::new(),
            totals: Vec::new(),
            delivered_over_time: Vec::new(),
        }
    }

    /// Adds a round after `above` successive rounds above the capacity, and returns their new
    /// number.
    fn add(&mut self, sent: u64, capacity: u64, above: u32) -> u32 {
        self.sent += sent;
        if sent <= capacity {
            return 0;
        }
        let share = (sent - capacity) as f64 / capacity as f64;
        self.most = self.most.max(share);
        self.excess += share;
        self.longest = self.longest.max(above + 1);
        above + 1
    }

    /// The sent packets over the capacity.
    pub(crate) fn load(&self) -> f64 {
        self.sent as f64 / self.capacity as f64
    }

    /// The delivered packets over the capacity.
    pub(crate) fn goodput(&self) -> f64 {
        let last = self.delivered.last().into_iter().flatten();
        last.sum::<u64>() as f64 / self.capacity as f64
    }

    /// The delivered packets of each flow at recorded round `note`, from 0; the last is the end.
    pub(crate) fn shares(&self, note: usize) -> Vec<f64> {
        self.delivered[note]
            .iter()
            .map(|&packets| packets as f64)
            .collect()
    }

    /// The distance between the flow with the most and that with the least, over the mean.
    pub(crate) fn spread(&self, note: usize) -> f64 {
        let shares = self.shares(note);
        let most = shares.iter().copied().fold(0.0, f64::max);
        let least = shares.iter().copied().fold(f64::MAX, f64::min);
        (most - least) * shares.len() as f64 / shares.iter().sum::<f64>().max(1.0)
    }
}

/// A sample of each run.
pub(crate) fn samples(runs: &[RunResult], of: impl Fn(&RunResult) -> f64) -> Vec<Sample> {
    let sample = |ran: &RunResult| Sample {
        seed: ran.seed,
        value: of(ran),
    };
    runs.iter().map(sample).collect()
}
