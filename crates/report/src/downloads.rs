//! Concurrent downloads over some paths, in the simulator or by the kernel's TCP: what carries them,
//! their times, the bytes that they receive, and how they share them.

use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};
use polypath_link::Counters;
use polypath_scenario::{Scenario, Scheme};
use polypath_sim::ConcurrentDownloads;

use crate::network::jain_index;

/// The loss recovery of the kernel's TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelRecovery {
    /// That of the kernel, with loss probes (RFC 8985) and F-RTO (RFC 5682).
    #[default]
    Full,
    /// Without these two, which the simulator does not have either: if all packets of a window are
    /// lost, a timeout finds it.
    NoProbes,
}

/// A carrier of concurrent downloads.
#[derive(Clone, Debug, PartialEq)]
pub struct DownloadCarrier {
    /// Its name in messages.
    pub name: String,
    /// The file of its paths.
    pub scenario: Scenario,
    /// The policy of its nodes; without nodes the first path carries the downloads.
    pub policy: Option<PolicyConfig>,
    /// The loss recovery of its hosts in a lab.
    pub recovery: KernelRecovery,
}

/// The downloads and their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadSchedule {
    /// The number of downloads, without the one that begins after the measurement.
    pub flows: u32,
    /// The time before the measurement, in which the downloads begin and their windows settle.
    pub warm_up: Duration,
    /// The duration of the measurement.
    pub measured: Duration,
    /// The time for which the last download runs beside the others.
    pub last: Duration,
}

/// The result of the downloads of a carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DownloadOutcome {
    /// The shares, in bytes.
    pub shares: DownloadShares,
    /// The duration of the measurement.
    pub measured: Duration,
    /// The totals of the links towards the receivers, in the measurement.
    pub links: Counters,
    /// The packets that the receivers' host received with a mark (CE, RFC 3168), in the whole run.
    pub marked: u64,
    /// The share of the packets towards the receivers that no link delivered, 0 to 1: in the whole
    /// run, in a lab without nodes in the measurement.
    pub lost: f64,
}

impl DownloadSchedule {
    /// The times of the totals, from the start: when the measurement begins, when it ends and the
    /// last download begins, and the end.
    #[must_use]
    pub fn totals_at(self) -> [Duration; 3] {
        let end = self.warm_up + self.measured;
        [self.warm_up, end, end + self.last]
    }

    /// The same downloads in the simulator, by a carrier.
    #[must_use]
    pub fn simulated(self, carrier: &DownloadCarrier) -> ConcurrentDownloads {
        let [_, late, _] = self.totals_at();
        ConcurrentDownloads {
            flows: self.flows + 1,
            scheme: carrier.policy.map_or(Scheme::Tcp, Scheme::Policy),
            share_endpoints: carrier.policy.is_some(),
            detector: carrier.policy.and_then(PolicyConfig::detector),
            late: Some(Time::ZERO + late),
        }
    }
}

impl DownloadOutcome {
    /// The goodput in bits per second.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.shares.received * 8.0 / self.measured.as_secs_f64()
    }

    /// The mean time that a packet waited at a link before its first bit left, in seconds.
    #[must_use]
    pub fn queue_delay(&self) -> f64 {
        let transmitted = self.links.packets_in - self.links.drops.queue();
        self.links.waited.as_secs_f64() / transmitted.max(1) as f64
    }
}

/// The shares of concurrent downloads, of which the last begins when the measurement of the others
/// ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DownloadShares {
    /// The sum that all but the last received in the measurement, in the unit of the totals.
    pub received: f64,
    /// Jain's index of that; 0 if nothing was received.
    pub jain: f64,
    /// The amount that the last received after the measurement, over the mean of the others in the
    /// same time.
    pub late: f64,
}

impl DownloadShares {
    /// The shares from the total of each download at the start of the measurement, at its end, and
    /// at the end of the run.
    ///
    /// # Panics
    /// If there is no download, or a total is missing.
    #[must_use]
    pub fn of([start, end, last]: [&[f64]; 3]) -> Self {
        let (measured, after) = (since(start, end), since(end, last));
        let [shares @ .., _] = &measured[..] else {
            panic!("at least one download");
        };
        let others: f64 = after[..shares.len()].iter().sum();
        let mean = others / shares.len().max(1) as f64;
        Self {
            received: shares.iter().sum(),
            jain: jain_index(shares).unwrap_or(0.0),
            late: after[shares.len()] / mean.max(1.0),
        }
    }
}

fn since(before: &[f64], after: &[f64]) -> Vec<f64> {
    assert_eq!(before.len(), after.len(), "one total for each download");
    let both = before.iter().zip(after);
    both.map(|(before, after)| after - before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_download_counts_only_after_the_measurement() {
        let totals = [[10.0, 20.0, 0.0], [40.0, 50.0, 5.0], [50.0, 80.0, 15.0]];
        let shares = DownloadShares::of(totals.each_ref().map(|totals| &totals[..]));
        assert_eq!(
            shares,
            DownloadShares {
                received: 60.0,
                jain: 1.0,
                late: 0.5
            }
        );
    }
}
