//! All runs of a media stream: every policy with every seed.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_core::rng::Seed;
use polypath_scenario::MediaScenario;
use polypath_sim::{MediaOutcome, RunError, run_media};

use crate::parallel_map::parallel_map;
use crate::replicas::replica_seeds;

/// The runs of a media stream.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaRuns {
    /// The seed of each run.
    pub seeds: Vec<u64>,
    /// The outcomes of each policy, in the order of the scenario, in the order of the seeds.
    pub policies: Vec<Vec<MediaOutcome>>,
}

/// Runs every policy of a scenario with every seed on `threads` threads (default: one per core).
/// The results do not depend on the number of threads. `on_progress` gets the number of finished
/// runs, at least every 100 ms.
///
/// # Errors
/// The error of the first run that failed, in the order of policies and seeds.
pub fn run_media_runs(
    scenario: &MediaScenario,
    threads: Option<u16>,
    on_progress: &mut impl FnMut(u64),
) -> Result<MediaRuns, RunError> {
    let seeds = replica_seeds(scenario.seed, scenario.media.runs);
    let policies = &scenario.media.policies;
    let finished = AtomicU64::new(0);
    let work = |index: usize| {
        let treatment = policies[index / seeds.len()].treatment();
        let outcome = run_media(scenario, treatment, Seed(seeds[index % seeds.len()]));
        finished.fetch_add(1, Ordering::Relaxed);
        outcome
    };
    let count = policies.len() * seeds.len();
    let outcomes = parallel_map(count, threads, &work, &mut || {
        on_progress(finished.load(Ordering::Relaxed));
    })?;
    let policies = outcomes.chunks(seeds.len()).map(<[_]>::to_vec).collect();
    Ok(MediaRuns { seeds, policies })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_same_on_any_number_of_threads() {
        let text = include_str!("../../../scenarios/media-fades.toml");
        let sets = ["media.duration=2 s", "media.runs=3"];
        let overrides = sets.map(|set| set.parse().unwrap());
        let scenario = MediaScenario::parse(text, "media.toml", &overrides).unwrap();
        let run = |threads| run_media_runs(&scenario, Some(threads), &mut |_| {}).unwrap();
        let runs = run(1);
        assert_eq!(runs, run(3));
        assert_eq!(runs.seeds.len(), 3);
        assert_eq!(runs.policies.len(), scenario.media.policies.len());
        assert!(runs.policies.iter().all(|of| of.len() == 3));
        assert_ne!(runs.policies[0][0], runs.policies[0][1]);
    }
}
