//! Which idle times give a load: a search over the curve of [`Idle`].
//!
//! Both paths have the same sources, and the measured transfers are absent. Every try runs the same seeds (common random
//! numbers), so that two tries differ by their idle times alone. Load is the share of the time in which a link
//! transmits, as a mean over the links between inner nodes that the paths do not share.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Scenario;
use polypath_sim::network::{Nothing, build};
use polypath_sim::world::path_load;
use polypath_sim::{RunError, Side, World};
use serde::{Deserialize, Serialize};

use super::idle::{Idle, first_guess};
use super::setting::Setting;
use crate::{Job, JobError};

/// The search ends where the mean load is this near to the target, in proportion.
const NEAR: f64 = 0.003;

/// Tries after which the best one stands.
const TRIES: u32 = 8;

/// What a try is taken to change: load by the logarithm of the idle times, before two tries say it.
const FIRST_SLOPE: f64 = -0.25;

/// The longest step of the search, in the logarithm of the TCP idle time.
const LONGEST_STEP: f64 = 1.5;

/// How long the sources run before anything is measured.
pub(super) const WARM_UP: Duration = Duration::from_secs(100);

/// Searches the idle times that give a load.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Calibrate {
    pub(super) setting: Setting,
    /// The load that both paths are to have in both directions.
    pub(super) target: f64,
    /// How long each run is measured, in seconds.
    pub(super) span: u32,
    pub(super) seeds: Vec<u64>,
}

/// Load by path and direction: to the client, and to the server.
pub(super) type Loads = [[f64; 2]; 2];

/// The idle times that were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Calibrated {
    pub(super) idle: Idle,
    /// What they gave, in each run.
    pub(super) loads: Vec<Loads>,
    /// How many idle times were tried.
    pub(super) tries: u32,
}

/// A point of the search.
#[derive(Clone, Debug)]
struct Try {
    at: f64,
    loads: Vec<Loads>,
}

impl Job for Calibrate {
    type Output = Calibrated;
    const KIND: &'static str = "ppd.calibration.1";

    fn cost(&self) -> f64 {
        f64::from(self.span) * self.seeds.len() as f64 / 130.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Calibrated, JobError> {
        let mut tries = vec![self.attempt(first_guess(self.target))?];
        while tries.len() < TRIES as usize && tries[tries.len() - 1].error(self.target) > NEAR {
            parts.fetch_add(polypath_batch::PARTS / u64::from(TRIES), Ordering::Relaxed);
            let next = self.next(&tries);
            tries.push(self.attempt(next)?);
        }
        let count = u32::try_from(tries.len()).unwrap_or(TRIES);
        let error = |t: &Try| t.error(self.target);
        let best = tries
            .into_iter()
            .min_by(|a, b| error(a).total_cmp(&error(b)));
        let best = best.ok_or_else(|| JobError::Other("nothing was tried".to_owned()))?;
        Ok(Calibrated {
            idle: Idle::at(best.at),
            loads: best.loads,
            tries: count,
        })
    }
}

impl Calibrate {
    /// Where to look next: on the line through the two best tries.
    fn next(&self, tries: &[Try]) -> f64 {
        let mut by_error: Vec<&Try> = tries.iter().collect();
        by_error.sort_by(|a, b| a.error(self.target).total_cmp(&b.error(self.target)));
        let best = by_error[0];
        let slope = by_error
            .get(1)
            .map(|other| (other.load() - best.load()) / (other.at - best.at));
        let slope = slope
            .filter(|s| *s < -1e-3)
            .unwrap_or(FIRST_SLOPE * best.load().min(1.0));
        let step = (self.target - best.load()) / slope;
        best.at + step.clamp(-LONGEST_STEP, LONGEST_STEP)
    }

    fn attempt(&self, at: f64) -> Result<Try, JobError> {
        let idle = Idle::at(at);
        let traffic = Some([[idle; 2]; 2]);
        let scenario = self
            .setting
            .scenario(&traffic, &polypath_scenario::Scheme::ALL)?;
        let span = Duration::from_secs(self.span.into());
        let runs = self
            .seeds
            .iter()
            .map(|seed| measure(&scenario, Seed(*seed), span));
        let loads = runs.collect::<Result<_, _>>()?;
        Ok(Try { at, loads })
    }
}

impl Try {
    fn load(&self) -> f64 {
        mean(&self.loads)
    }

    /// How far it is from the target, in proportion.
    fn error(&self, target: f64) -> f64 {
        (self.load() / target - 1.0).abs()
    }
}

/// The mean over runs, paths and directions.
pub(super) fn mean(loads: &[Loads]) -> f64 {
    let all = loads.iter().flatten().flatten();
    all.sum::<f64>() / (4 * loads.len()) as f64
}

/// The loads of a scenario's background alone, over `span` after the warm-up.
pub(super) fn measure(scenario: &Scenario, seed: Seed, span: Duration) -> Result<Loads, JobError> {
    let mut world = build::<Nothing>(scenario, seed).map_err(RunError::from)?;
    let (start, end) = (Time::ZERO + WARM_UP, Time::ZERO + WARM_UP + span);
    world.run_until(start, &mut |_| {});
    let before: Vec<_> = world.links_at(start).map(|link| link.counters).collect();
    world.run_until(end, &mut |_| {});
    world
        .overflow()
        .cloned()
        .map_or(Ok(()), Err)
        .map_err(RunError::from)?;
    loads(&world, end, |number, link| {
        link.counters
            .since(&before[number])
            .load(link.rate, span.as_secs_f64())
    })
}

fn loads(
    world: &World<Nothing>,
    now: Time,
    load: impl Fn(usize, &polypath_sim::world::LinkReport<'_>) -> f64,
) -> Result<Loads, JobError> {
    let links: Vec<_> = world.links_at(now).collect();
    let of = |path, towards| {
        let loaded = links
            .iter()
            .enumerate()
            .map(|(n, link)| (link.name, load(n, link)));
        path_load(loaded, PathId(path), towards)
            .ok_or_else(|| JobError::Other("a path has no links of its own".to_owned()))
    };
    let both = |path| Ok::<_, JobError>([of(path, Side::Client)?, of(path, Side::Server)?]);
    Ok([both(0)?, both(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ppd::setting::Topology;

    #[test]
    fn what_was_found_gives_the_load_with_other_seeds_too() {
        let setting = Setting::new(Topology::Apart);
        let target = 0.9;
        let job = Calibrate {
            setting: setting.clone(),
            target,
            span: 250,
            seeds: vec![1, 2],
        };
        let found = job.run(&AtomicU64::new(0)).unwrap();
        assert!(
            (mean(&found.loads) / target - 1.0).abs() < 0.01,
            "{found:?}"
        );
        let scenario =
            setting.scenario(&Some([[found.idle; 2]; 2]), &polypath_scenario::Scheme::ALL);
        let scenario = scenario.unwrap();
        let others = [7, 8].map(|seed| measure(&scenario, Seed(seed), Duration::from_secs(250)));
        let others = others.map(Result::unwrap);
        assert!((mean(&others) / target - 1.0).abs() < 0.03, "{others:?}");
    }

    #[test]
    fn a_load_of_slower_links_is_found_too() {
        let setting = Setting::of_links(5, 1);
        let job = Calibrate {
            setting,
            target: 0.68,
            span: 600,
            seeds: vec![1],
        };
        let found = job.run(&AtomicU64::new(0)).unwrap();
        assert!((mean(&found.loads) / 0.68 - 1.0).abs() < 0.01, "{found:?}");
    }
}
