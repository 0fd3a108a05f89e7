//! The share of flows that lose a packet with all its copies (section III).

use std::sync::atomic::AtomicU64;

use polypath_claims::{Job, JobError};
use polypath_core::rng::Seed;
use polypath_sim::round_model::{Dropping, RoundModel, RoundModelConfig};
use serde::Serialize;

/// Flows that send `window` packets each over links that drop each copy with probability `drop` per
/// mille. The result is the share of flows that lose a packet with all its copies, over the union
/// bound.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExposedFlows {
    pub(crate) window: u32,
    pub(crate) drop: u32,
    pub(crate) links: u32,
    pub(crate) rounds: u32,
    pub(crate) seed: u64,
}

/// Flows in one run.
const FLOWS: u32 = 50;

impl ExposedFlows {
    /// The union bound `m p^n` on the share of flows with a loss.
    fn bound(&self) -> f64 {
        bound(self.window, self.drop, self.links)
    }

    /// The round model with constant windows.
    fn config(&self) -> RoundModelConfig {
        let sent = self.window * FLOWS;
        RoundModelConfig {
            dropping: Dropping::Independent,
            ..RoundModelConfig::paper(FLOWS, self.links, sent - sent * self.drop / 1000)
        }
    }
}

impl Job for ExposedFlows {
    type Output = f64;

    const KIND: &'static str = "rounds-bound";

    fn cost(&self) -> f64 {
        f64::from(self.rounds) * f64::from(FLOWS) * 4e-8
    }

    fn run(&self, _: &AtomicU64) -> Result<f64, JobError> {
        let rounds = RoundModel::new(&self.config(), Seed(self.seed));
        let mut rounds = rounds.map_err(|error| JobError::Other(error.to_string()))?;
        let losing = rounds.losing_with(self.window, self.rounds);
        let all = f64::from(self.rounds) * f64::from(FLOWS);
        Ok(losing as f64 / all / self.bound())
    }
}

/// The union bound `m p^n`: `window` packets, `drop` per mille, `links` copies.
pub(crate) fn bound(window: u32, drop: u32, links: u32) -> f64 {
    f64::from(window) * (f64::from(drop) / 1000.0).powi(links.cast_signed())
}
