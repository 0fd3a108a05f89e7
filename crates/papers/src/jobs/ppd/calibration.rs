//! The search for the idle times that produce a load, over the curve of [`Idle`].
//!
//! Both paths have the same sources, and the measured transfers are absent. Every try runs the same
//! seeds (common random numbers), so that two tries differ by their idle times alone. Load is the
//! share of the time in which a link transmits, as a mean over the links between inner nodes that
//! the paths do not share.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_claims::{Job, JobError};
use polypath_core::frame::PathId;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Scenario;
use polypath_sim::network::{NoPayload, build};
use polypath_sim::world::path_load;
use polypath_sim::{RunError, Side, World};
use serde::{Deserialize, Serialize};

use super::idle::Idle;
use super::search::Search;
use super::setting::{PathIdle, Setting};

/// The relative deviation of the mean loads at which the search ends.
const NEAR: f64 = 0.003;

/// The maximum allowed relative deviation of the best try.
pub(crate) const FAR: f64 = 0.01;

/// The maximum number of tries.
const TRIES: u32 = 24;

/// The time that the sources run before the measurement.
pub(crate) const WARM_UP: Duration = Duration::from_secs(100);

/// Searches the idle times that give a load.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Calibrate {
    pub(crate) setting: Setting,
    /// The target loads of both paths, to the client and to the server.
    pub(crate) targets: [f64; 2],
    /// The duration of the measurement in each run, in seconds.
    pub(crate) span: u32,
    pub(crate) seeds: Vec<u64>,
}

/// Load by path and direction: to the client, and to the server.
pub(crate) type Loads = [[f64; 2]; 2];

/// The idle times that were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibrated {
    /// Those of the sources that send to the client, and to the server.
    pub(crate) idle: PathIdle,
    /// The loads in each run.
    pub(crate) loads: Vec<Loads>,
    /// The number of tries.
    pub(crate) tries: u32,
}

/// A point of the search: the logarithms of the TCP idle times by direction.
#[derive(Clone, Debug)]
struct SearchPoint {
    at: [f64; 2],
    loads: Vec<Loads>,
}

impl Job for Calibrate {
    type Output = Calibrated;
    const KIND: &'static str = "ppd.calibration.2";

    fn cost(&self) -> f64 {
        f64::from(self.span) * self.seeds.len() as f64 / 130.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Calibrated, JobError> {
        let mut searches = self.targets.map(Search::new);
        let mut best = self.attempt([searches[0].first(), searches[1].first()])?;
        let mut last = best.clone();
        let mut tries = 1;
        while tries < TRIES && self.error(&last) > NEAR {
            parts.fetch_add(polypath_batch::PARTS / u64::from(TRIES), Ordering::Relaxed);
            last = self.attempt(self.next(&mut searches, &last))?;
            tries += 1;
            if self.error(&last) < self.error(&best) {
                best = last.clone();
            }
        }
        if self.error(&best) > FAR {
            return Err(self.missed(&best));
        }
        Ok(Calibrated {
            idle: best.at.map(Idle::at),
            loads: best.loads,
            tries,
        })
    }
}

impl Calibrate {
    /// The next try. Equal directions have one idle time, by the mean of both; others one each.
    fn next(&self, searches: &mut [Search; 2], last: &SearchPoint) -> [f64; 2] {
        if self.is_even() {
            return [searches[0].next(last.at[0], mean(&last.loads)); 2];
        }
        let there = searches[0].next(last.at[0], mean_of(&last.loads, 0));
        let back = searches[1].next(last.at[1], mean_of(&last.loads, 1));
        [there, back]
    }

    fn is_even(&self) -> bool {
        self.targets[0].total_cmp(&self.targets[1]).is_eq()
    }

    /// The relative deviation from the targets; for unequal directions the greater one.
    fn error(&self, found: &SearchPoint) -> f64 {
        let miss = |load: f64, direction: usize| (load / self.targets[direction] - 1.0).abs();
        if self.is_even() {
            return miss(mean(&found.loads), 0);
        }
        let directions = [0, 1].map(|direction| miss(mean_of(&found.loads, direction), direction));
        directions[0].max(directions[1])
    }

    fn missed(&self, best: &SearchPoint) -> JobError {
        JobError::Other(format!(
            "no idle times give loads of {} to the client and {} to the server within {} %: the best of {TRIES} tries, TCP \
             idle times of {:.4} s and {:.4} s, gives {:.4} and {:.4}; take other loads or sources",
            self.targets[0],
            self.targets[1],
            100.0 * FAR,
            best.at[0].exp(),
            best.at[1].exp(),
            mean_of(&best.loads, 0),
            mean_of(&best.loads, 1)
        ))
    }

    fn attempt(&self, at: [f64; 2]) -> Result<SearchPoint, JobError> {
        let traffic = Some([at.map(Idle::at); 2]);
        let scenario = self
            .setting
            .scenario(&traffic, &polypath_scenario::Scheme::ALL)?;
        let span = Duration::from_secs(self.span.into());
        let runs = self
            .seeds
            .iter()
            .map(|seed| measure(&scenario, Seed(*seed), span));
        let loads = runs.collect::<Result<_, _>>()?;
        Ok(SearchPoint { at, loads })
    }
}

/// The mean over runs, paths and directions.
pub(crate) fn mean(loads: &[Loads]) -> f64 {
    f64::midpoint(mean_of(loads, 0), mean_of(loads, 1))
}

/// The mean over runs and paths of a direction: to the client (0), or to the server (1).
fn mean_of(loads: &[Loads], direction: usize) -> f64 {
    let all = loads.iter().flatten().map(|path| path[direction]);
    all.sum::<f64>() / (2 * loads.len()) as f64
}

/// The loads of a scenario's background alone, over `span` after the warm-up.
pub(crate) fn measure(scenario: &Scenario, seed: Seed, span: Duration) -> Result<Loads, JobError> {
    let mut world = build::<NoPayload>(scenario, seed).map_err(RunError::from)?;
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
    world: &World<NoPayload>,
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
    use crate::jobs::ppd::setting::Topology;

    fn found(setting: Setting, targets: [f64; 2], span: u32, seeds: &[u64]) -> Calibrated {
        let job = Calibrate {
            setting,
            targets,
            span,
            seeds: seeds.to_vec(),
        };
        job.run(&AtomicU64::new(0)).unwrap()
    }

    #[test]
    fn the_idle_times_produce_the_load_with_other_seeds() {
        let setting = Setting::new(Topology::Apart);
        let target = 0.9;
        let found = found(setting.clone(), [target; 2], 250, &[1, 2, 3]);
        assert!((mean(&found.loads) / target - 1.0).abs() < FAR, "{found:?}");
        let scenario = setting.scenario(&Some([found.idle; 2]), &polypath_scenario::Scheme::ALL);
        let scenario = scenario.unwrap();
        let others = [7, 8, 9].map(|seed| measure(&scenario, Seed(seed), Duration::from_secs(250)));
        let others = others.map(Result::unwrap);
        assert!((mean(&others) / target - 1.0).abs() < 0.02, "{others:?}");
    }

    #[test]
    fn loads_of_slower_links_are_found() {
        for target in [0.68, 0.94] {
            let found = found(Setting::of_links(5, 1), [target; 2], 300, &[1]);
            assert!((mean(&found.loads) / target - 1.0).abs() < FAR, "{found:?}");
        }
    }

    #[test]
    fn directions_may_have_different_loads() {
        let targets = [0.6, 0.9];
        let found = found(Setting::new(Topology::Apart), targets, 100, &[1]);
        for (direction, target) in targets.into_iter().enumerate() {
            let load = mean_of(&found.loads, direction);
            assert!((load / target - 1.0).abs() < FAR, "{found:?}");
        }
    }

    #[test]
    fn an_unreachable_load_is_an_error() {
        let job = Calibrate {
            setting: Setting::new(Topology::Apart),
            targets: [1.05; 2],
            span: 5,
            seeds: vec![1],
        };
        let error = job.run(&AtomicU64::new(0)).unwrap_err().to_string();
        assert!(error.contains("loads of 1.05 to the client"), "{error}");
    }
}
