//! Packet pairs on a path under load.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_claims::{Job, JobError};
use polypath_core::time::Duration;
use serde::Serialize;

use super::delay_probe::Path;
use super::setting::{Setting, Traffic};

/// Packet pairs on the second path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pairs {
    pub(crate) setting: Setting,
    pub(crate) traffic: Traffic,
    pub(crate) count: u32,
    /// The interval between pairs, in ms.
    pub(crate) every: u32,
    pub(crate) seed: u64,
}

impl Job for Pairs {
    /// The measurement of each pair that arrived, in ms.
    type Output = Vec<f64>;
    const KIND: &'static str = "ppd.pairs.2";

    fn cost(&self) -> f64 {
        (f64::from(self.count * self.every) / 1e3 + 100.0) / 400.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<f64>, JobError> {
        let mut path = Path::new(&self.setting, &self.traffic, self.seed)?;
        let every = Duration::from_millis(self.every.into());
        let mut spans = Vec::new();
        for _ in 0..self.count {
            spans.extend(path.next_pair(every));
            parts.fetch_add(PARTS / u64::from(self.count), Ordering::Relaxed);
        }
        Ok(spans.iter().map(|span| 1e3 * span.as_secs_f64()).collect())
    }
}
