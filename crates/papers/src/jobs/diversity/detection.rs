//! Detection of congestion by signatures.

use std::sync::atomic::AtomicU64;

use polypath_batch::replica_seeds;
use polypath_claims::{Job, JobError, Pending, SEED, Study};
use polypath_core::combine::signature::Sign;
use polypath_core::rng::Seed;
use polypath_sim::round_model::{Observation, RoundModel, RoundModelConfig};
use serde::{Deserialize, Serialize};

use super::run::cost_of_round;
use super::setting::ROUNDS;

/// Points of a curve that are kept.
const POINTS: usize = 200;

/// A run whose windows signatures classify.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detection {
    config: RoundModelConfig,
    rounds: u32,
    seed: u64,
}

/// The detection rates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Detected {
    pub(crate) seed: u64,
    /// The area under the curve: the probability that a window in which a link was congested has a
    /// higher score than one in which none was.
    pub(crate) auc: Option<f64>,
    /// The same where a window counts as congested only if such a link lost something of the flow.
    pub(crate) auc_of_losses: Option<f64>,
    /// The share of congested windows that are classified as congested.
    pub(crate) found: Option<f64>,
    /// The share of the other windows that are classified as congested.
    pub(crate) false_alarms: Option<f64>,
    /// The rounds from the start of a congestion until a flow detects it; 0 in its first round.
    /// Those that end undetected do not count.
    pub(crate) delay: Option<f64>,
    /// The number of windows with losses that had a congested link, and of those that had none.
    pub(crate) windows: [u64; 2],
    /// True alarms over false ones, for thresholds from high to low.
    pub(crate) curve: Vec<[f64; 2]>,
    /// The goodput of a flow with copies, in packets a round.
    pub(crate) copied: Option<f64>,
    /// The goodput of a flow on one link, in packets a round.
    pub(crate) alone: Option<f64>,
}

impl Detection {
    /// Runs of this configuration.
    ///
    /// # Errors
    /// If results are missing.
    pub(crate) fn request(
        study: &mut Study<'_>,
        config: &RoundModelConfig,
        seeds: u32,
    ) -> Result<Vec<Detected>, Pending> {
        let jobs = replica_seeds(SEED, seeds).into_iter().map(|seed| Self {
            config: config.clone(),
            rounds: ROUNDS,
            seed,
        });
        study.request_all(jobs)
    }
}

impl Job for Detection {
    type Output = Detected;

    const KIND: &'static str = "rounds-detection";

    fn cost(&self) -> f64 {
        // The scores of all windows are kept and sorted, which takes as long again.
        2.0 * f64::from(self.rounds) * cost_of_round(&self.config)
    }

    fn run(&self, _: &AtomicU64) -> Result<Detected, JobError> {
        let rounds = RoundModel::new(&self.config, Seed(self.seed));
        let mut rounds = rounds.map_err(|error| JobError::Other(error.to_string()))?;
        let mut seen = DetectionScores::new(self.config.flows);
        for _ in 0..self.rounds {
            rounds.step_with(&mut |observation| seen.add(observation));
        }
        let mean = |is_alone: bool| {
            let sets = self.config.sets.as_ref();
            let of = |flow: usize| sets.map_or(u8::MAX, |sets| sets[flow]).is_power_of_two();
            let flows = rounds.flows().iter().enumerate();
            let flows = flows.filter(|(number, _)| of(*number) == is_alone);
            let sums = flows.fold((0, 0_u32), |(sum, n), (_, flow)| {
                (sum + flow.delivered(), n + 1)
            });
            share(sums.0, u64::from(sums.1) * u64::from(self.rounds))
        };
        let (copied, alone) = (mean(false), mean(true));
        Ok(Detected {
            copied,
            alone,
            ..seen.detected(self.seed)
        })
    }
}

/// The scores of windows by signatures.
struct DetectionScores {
    /// The scores of windows with losses, and whether a link was congested.
    scores: Vec<(f64, bool)>,
    /// The same scores, and whether congestion lost any packet.
    of_losses: Vec<(f64, bool)>,
    /// The number of windows without and with congestion that were classified as congested.
    called: [u64; 2],
    /// The rounds for which the links of each flow have been congested undetected; `None` if
    /// detected or not congested.
    waiting: Vec<Option<u32>>,
    found: (u64, u64),
    was_congested: Vec<bool>,
}

impl DetectionScores {
    fn new(flows: u32) -> Self {
        Self {
            scores: Vec::new(),
            of_losses: Vec::new(),
            called: [0; 2],
            waiting: vec![None; flows as usize],
            found: (0, 0),
            was_congested: vec![false; flows as usize],
        }
    }

    fn add(&mut self, observation: &Observation) {
        let Observation {
            congested,
            dropped,
            reading,
            ..
        } = *observation;
        let is_called = reading.sign == Sign::Congestion;
        if reading.sign != Sign::Nothing {
            self.scores.push((reading.score, congested));
            self.of_losses.push((reading.score, dropped));
            self.called[usize::from(congested)] += u64::from(is_called);
        }
        let flow = observation.flow as usize;
        let waiting = &mut self.waiting[flow];
        *waiting = match (congested, *waiting) {
            (true, Some(rounds)) => Some(rounds + 1),
            (true, None) if !self.was_congested[flow] => Some(0),
            _ => None,
        };
        if let (true, Some(rounds)) = (is_called, *waiting) {
            self.found = (self.found.0 + u64::from(rounds), self.found.1 + 1);
            *waiting = None;
        }
        self.was_congested[flow] = congested;
    }

    fn detected(self, seed: u64) -> Detected {
        let curve_of_losses = curve(self.of_losses).0;
        let (curve, [others, congested]) = curve(self.scores);
        Detected {
            seed,
            auc: curve.as_deref().map(area),
            auc_of_losses: curve_of_losses.as_deref().map(area),
            found: share(self.called[1], congested),
            false_alarms: share(self.called[0], others),
            delay: share(self.found.0, self.found.1),
            windows: [congested, others],
            curve: thinned(&curve.unwrap_or_default()),
            copied: None,
            alone: None,
        }
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// True alarms over false ones at each threshold, from high to low, nothing without both kinds of
/// windows; how many are not congested, and are.
fn curve(mut scores: Vec<(f64, bool)>) -> (Option<Vec<[f64; 2]>>, [u64; 2]) {
    let congested = scores.iter().filter(|(_, congested)| *congested);
    let congested = congested.count() as u64;
    let others = scores.len() as u64 - congested;
    if others == 0 || congested == 0 {
        return (None, [others, congested]);
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut points = vec![[0.0, 0.0]];
    let (mut false_ones, mut true_ones) = (0_u64, 0_u64);
    // Windows of one score are called alike.
    for equal in scores.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        for (_, congested) in equal {
            true_ones += u64::from(*congested);
            false_ones += u64::from(!congested);
        }
        points.push([
            false_ones as f64 / others as f64,
            true_ones as f64 / congested as f64,
        ]);
    }
    (Some(points), [others, congested])
}

/// The area under a curve (trapezia): the Mann-Whitney statistic of the scores.
fn area(points: &[[f64; 2]]) -> f64 {
    let trapezium = |pair: &[[f64; 2]]| (pair[1][0] - pair[0][0]) * (pair[0][1] + pair[1][1]) / 2.0;
    points.windows(2).map(trapezium).sum()
}

fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let step = points.len().div_ceil(POINTS).max(1);
    let kept = points.iter().step_by(step).copied();
    kept.chain(points.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area_of(scores: &[(f64, bool)]) -> Option<f64> {
        curve(scores.to_vec()).0.as_deref().map(area)
    }

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        let scores = [(3.0, true), (2.0, false), (1.0, true), (0.0, false)];
        assert_eq!(area_of(&scores), Some(0.75));
        assert_eq!(area_of(&[(1.0, true), (1.0, false)]), Some(0.5));
        assert_eq!(area_of(&[(1.0, true)]), None);
    }
}
