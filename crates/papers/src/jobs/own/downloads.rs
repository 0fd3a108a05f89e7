//! Downloads by one TCP flow over two paths at once, and over the first of them alone.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_claims::{Job, JobError};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_scenario::Scenario;
use polypath_sim::SimEvent;
use serde::{Deserialize, Serialize};

use super::files::aggregate;

/// A download is what both paths together carry in this time, as in `make bulk-race`.
const SECONDS: u32 = 16;

/// Downloads one after another, over the first path alone and by `in-time` over both, in lock-step.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Downloads {
    /// The two paths; the first is the better one.
    pub(crate) paths: [DownloadPath; 2],
    /// The number of downloads.
    pub(crate) count: u32,
    pub(crate) seed: u64,
}

/// A path without losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DownloadPath {
    /// The rate in Mbit/s.
    pub(crate) rate: u32,
    /// The one-way delay in milliseconds.
    pub(crate) delay: u32,
    /// The limit of the queue in packets.
    pub(crate) queue: u32,
}

/// The goodput of each transfer in Mbit/s, in their order; 0 if it timed out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DownloadsResult {
    /// Over the first path alone.
    pub(crate) alone: Vec<f64>,
    /// By `in-time` over both paths.
    pub(crate) in_time: Vec<f64>,
}

impl Downloads {
    /// The size of a download.
    fn megabytes(&self) -> u32 {
        let [one, two] = self.paths;
        (one.rate + two.rate) * SECONDS / 8
    }

    fn scenario(&self) -> Result<Scenario, JobError> {
        let of_path = |name: &'static str, path: DownloadPath| {
            let DownloadPath { rate, delay, queue } = path;
            [
                format!("path.{name}.link.0.rate={rate} Mbit/s"),
                format!("path.{name}.link.0.delay={delay} ms"),
                format!("path.{name}.link.0.queue={queue} packets"),
            ]
        };
        let [one, two] = self.paths;
        let mut sets = [of_path("one", one), of_path("two", two)].concat();
        sets.push(format!("transfer.size={} MB", self.megabytes()));
        sets.push(format!("transfer.count={}", self.count));
        aggregate(&sets)
    }
}

impl Job for Downloads {
    type Output = DownloadsResult;

    const KIND: &'static str = "own.downloads";

    fn cost(&self) -> f64 {
        0.0018 * f64::from(self.megabytes() * self.count)
    }

    fn run(&self, parts: &AtomicU64) -> Result<DownloadsResult, JobError> {
        let scenario = self.scenario()?;
        let share = PARTS / u64::from(scenario.transfer.count.max(1));
        let mut observer = |scheme: usize, _: Time, event: &SimEvent| {
            if scheme == 0 && matches!(event, SimEvent::RoundOver { .. }) {
                parts.fetch_add(share, Ordering::Relaxed);
            }
        };
        let outcome = polypath_sim::run(&scenario, Seed(self.seed), &mut observer)?;
        let [alone, in_time] = &outcome.schemes[..] else {
            let error = "scenarios/aggregate.toml has to compare two schemes";
            return Err(JobError::Other(error.to_owned()));
        };
        let size = scenario.transfer.size;
        Ok(DownloadsResult {
            alone: goodputs(size, &alone.transfers),
            in_time: goodputs(size, &in_time.transfers),
        })
    }
}

fn goodputs(size: Bytes, transfers: &[Option<Duration>]) -> Vec<f64> {
    let goodput = |duration: &Option<Duration>| {
        duration.map_or(0.0, |duration| {
            size.0 as f64 * 8.0 / duration.as_secs_f64() / 1e6
        })
    };
    transfers.iter().map(goodput).collect()
}

#[cfg(test)]
mod tests {
    use polypath_core::policy::PolicyConfig;
    use polypath_scenario::Scheme;

    use super::*;

    #[test]
    fn the_file_compares_the_first_path_alone_with_both() {
        let path = |rate, delay| DownloadPath {
            rate,
            delay,
            queue: 300,
        };
        let downloads = Downloads {
            paths: [path(40, 20), path(10, 60)],
            count: 3,
            seed: 1,
        };
        let scenario = downloads.scenario().unwrap();
        let of_in_time =
            |scheme: &Scheme| matches!(scheme, Scheme::Policy(PolicyConfig::InTime(_)));
        assert_eq!(scenario.schemes[0], Scheme::Tcp);
        assert!(of_in_time(&scenario.schemes[1]) && scenario.schemes.len() == 2);
        assert_eq!(scenario.transfer.count, 3);
        assert_eq!(scenario.transfer.size, Bytes(100_000_000));
        let link = &scenario.paths[1].links[0];
        assert_eq!(link.delay, Duration::from_millis(60));
        assert_ne!(link.rate, scenario.paths[0].links[0].rate);
    }

    #[test]
    fn a_transfer_that_timed_out_has_no_goodput() {
        let found = goodputs(Bytes(1_000_000), &[Some(Duration::from_secs(2)), None]);
        assert_eq!(found, [4.0, 0.0]);
    }
}
