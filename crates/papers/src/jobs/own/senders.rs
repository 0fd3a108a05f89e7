//! Many senders that choose between two links, by the mechanisms of the delay-centric paper and by
//! this project's own.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_claims::{Job, JobError};
use polypath_core::policy::{DelayCentricConfig, GrowthConfig};
use polypath_core::rng::Seed;
use polypath_scenario::Network;
use polypath_scenario::network::senders::Scale;
use polypath_sim::PathChoices;
use serde::{Deserialize, Serialize};

use crate::jobs::delay_centric::mechanism::{
    GUARD, Mechanism, ORIGINAL, ORIGINAL_GUARD, PREDICTIVE, PREDICTIVE_GUARD, PURE,
};

/// The file of the test bed.
const TEXT: &str = include_str!("../../../../../scenarios/delay-centric.toml");
const NAME: &str = "delay-centric.toml";
/// The run time of a simulated second of a sender, in seconds of one core.
const SECONDS: f64 = 3e-4;

/// Runs of senders by one policy, which differ in their seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SenderRuns {
    /// The number of senders.
    pub(crate) senders: u32,
    /// The utilisation in percent.
    pub(crate) utilisation: u32,
    pub(crate) chooser: Chooser,
    pub(crate) seeds: Vec<u64>,
}

/// The policy of the senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Chooser {
    /// A mechanism of the paper.
    Paper(Mechanism),
    /// `delay-growth`.
    Growth,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SenderRun {
    pub(crate) seed: u64,
    /// The mean delay of the datagrams in seconds.
    pub(crate) delay: f64,
    /// The share of lost datagrams of those due before the end.
    pub(crate) lost: f64,
    /// Path switches of a sender per second.
    pub(crate) switches: f64,
    /// Heartbeats of a sender per second.
    pub(crate) heartbeats: f64,
}

impl Chooser {
    pub(crate) const ALL: [Self; 7] = [
        Self::Paper(PURE),
        Self::Paper(GUARD),
        Self::Paper(PREDICTIVE),
        Self::Paper(PREDICTIVE_GUARD),
        Self::Paper(ORIGINAL),
        Self::Paper(ORIGINAL_GUARD),
        Self::Growth,
    ];

    /// The name in claims and tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Paper(mechanism) => mechanism.name(),
            Self::Growth => "growth",
        }
    }

    /// The policy, with the heartbeats of `of`.
    fn policy(self, of: DelayCentricConfig) -> Option<DelayCentricConfig> {
        match self {
            Self::Paper(mechanism) => mechanism.policy(of),
            Self::Growth => Some(DelayCentricConfig::DelayGrowth(GrowthConfig {
                heartbeats: of.heartbeats(),
                ..GrowthConfig::default()
            })),
        }
    }
}

impl SenderRuns {
    fn network(&self) -> Result<Network, JobError> {
        let parse = |sets: &[_]| {
            let read = &mut |_: &str| Err(String::new());
            Network::parse_senders(TEXT, NAME, sets, read)
        };
        let network = parse(&[])?;
        let none = || JobError::Other(format!("{NAME} has no senders"));
        let scale = Scale {
            senders: Some(self.senders),
            utilisation: Some(f64::from(self.utilisation) / 100.0),
        };
        let senders = network.senders().ok_or_else(none)?;
        let scaled = senders.scaled(scale, "");
        let mut network = parse(&scaled.map_err(|error| JobError::Other(error.to_string()))?)?;
        network.run.batches = 2;
        let senders = network.senders().ok_or_else(none)?;
        let policy = senders.traffic.policy().by_delay().ok_or_else(none)?;
        let policy = self.chooser.policy(policy).ok_or_else(none)?;
        network.set_sender_policy(policy.into());
        Ok(network)
    }
}

impl Job for SenderRuns {
    type Output = Vec<SenderRun>;

    const KIND: &'static str = "own.senders";

    fn cost(&self) -> f64 {
        20.0 * f64::from(self.senders) * self.seeds.len() as f64 * SECONDS
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<SenderRun>, JobError> {
        let network = self.network()?;
        let share = PARTS / self.seeds.len().max(1) as u64;
        let mut runs = Vec::with_capacity(self.seeds.len());
        for &seed in &self.seeds {
            runs.push(run(&network, seed)?);
            parts.fetch_add(share, Ordering::Relaxed);
        }
        Ok(runs)
    }
}

fn run(network: &Network, seed: u64) -> Result<SenderRun, JobError> {
    let nothing = || JobError::Other(format!("seed {seed}: no datagram arrived"));
    let senders = network.senders().ok_or_else(nothing)?;
    let mut choices = PathChoices::of(network, &senders);
    let outcome = polypath_sim::run_network(network, Seed(seed), &mut choices)?;
    let outcome = choices.outcome(&outcome, senders.position);
    let seconds = outcome.measured.as_secs_f64() * f64::from(senders.count());
    Ok(SenderRun {
        seed,
        delay: outcome.mean_delay.ok_or_else(nothing)?,
        lost: outcome.due.lost().unwrap_or(0.0),
        switches: outcome.switches as f64 / seconds,
        heartbeats: outcome.heartbeats as f64 / seconds,
    })
}
