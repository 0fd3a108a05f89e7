//! Outages of a slow flow when the path that carries it goes silent.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::{PARTS, replica_seeds};
use polypath_claims::{Job, JobError};
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::RepairConfig;
use polypath_core::rng::Seed;
use polypath_core::time::Duration;
use polypath_scenario::MediaScenario;
use polypath_sim::run_media;
use serde::Serialize;

use super::files::MediaFile;
use super::streams::milliseconds;

/// The time between two packets in milliseconds.
pub(crate) const INTERVAL: f64 = 20.0;

/// Silences of the first path, each in a run of its own, by `in-time`. The result is the outage of each in milliseconds: the longest time between two arrivals beyond
/// [`INTERVAL`], as the lab defines it (`polypath_lab::failover`).
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Silences {
    /// The round-trip time of both paths in milliseconds.
    pub(crate) rtt: u32,
    /// The deadline of the policy in milliseconds.
    pub(crate) deadline: u32,
    /// The cost of the other path.
    pub(crate) cost: u8,
    pub(crate) count: u32,
    pub(crate) seed: u64,
}

impl Silences {
    /// The flow and the links of the lab's measurement. As there, a silent path loses packets where
    /// they enter and where they would leave, so that those under way are lost, too. The flow has
    /// been there for 10 s; the silence begins at a random phase of packets and heartbeats, since
    /// the flow does, and lasts for 2 s.
    fn scenario(&self) -> Result<MediaScenario, JobError> {
        let path = |name: &str, outage: &str| {
            let end = |place: &str| {
                format!(
                    "{{ name = \"{place}\", rate = \"10 Gbit/s\", delay = \"0 ms\", \
                     queue = \"1000 packets\", outage = [{outage}] }}"
                )
            };
            let (entry, exit) = (end("entry"), end("exit"));
            let delay = self.rtt * 500;
            format!(
                "path.{name}.link=[{entry}, {{ name = \"line\", rate = \"100 Mbit/s\", \
                 delay = \"{delay} us\", queue = \"1000 packets\" }}, {exit}]"
            )
        };
        MediaFile::Outages.scenario(&[
            "media.rate=400 kbit/s",
            "media.packet=1000 B",
            "media.duration=14 s",
            "media.start_spread=500 ms",
            &path("path1", "{ from = \"11 s\", until = \"13 s\" }"),
            &path("path2", ""),
            &format!("path.path2.tariff={{ cost = {} }}", self.cost),
        ])
    }
}

impl Job for Silences {
    type Output = Vec<f64>;

    const KIND: &'static str = "own.silences";

    fn cost(&self) -> f64 {
        0.003 * f64::from(self.count)
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<f64>, JobError> {
        let scenario = self.scenario()?;
        let policy = PolicyConfig::InTime(RepairConfig {
            deadline: Duration::from_millis(self.deadline.into()),
            ..RepairConfig::default()
        });
        let share = PARTS / u64::from(self.count.max(1));
        let outage = |seed| {
            let gap = run_media(&scenario, policy, Seed(seed))?.longest_gap;
            parts.fetch_add(share, Ordering::Relaxed);
            Ok((milliseconds(gap) - INTERVAL).max(0.0))
        };
        let seeds = replica_seeds(self.seed, self.count);
        seeds.into_iter().map(outage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_is_on_the_path_that_goes_silent() {
        let silences = Silences {
            rtt: 40,
            deadline: 200,
            cost: 0,
            count: 10,
            seed: 1,
        };
        let media = silences.scenario().unwrap().media;
        assert!((milliseconds(media.offset(1)) - INTERVAL).abs() < 1e-9);
        let outages = silences.run(&AtomicU64::new(0)).unwrap();
        assert!(outages.iter().all(|outage| *outage > 10.0), "{outages:?}");
        let differs = |outage: &f64| (outage - outages[0]).abs() > 1e-3;
        assert!(outages.iter().any(differs), "{outages:?}");
    }
}
