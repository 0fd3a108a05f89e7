//! Estimated and actual delays of data packets at moments between packet pairs (Fig. 10).

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::PARTS;
use polypath_claims::{Job, JobError};
use polypath_core::time::Duration;
use serde::Serialize;

use super::delay_probe::{DATA, PROBE, Path};
use super::setting::{Setting, Traffic};

/// From one pair to the next, and so from one moment to the next.
const EVERY: Duration = Duration::from_secs(1);

/// The estimated and the actual delay in ms, of each moment at which both packets came through.
pub(crate) type Delays = Vec<(f64, f64)>;

/// Moments between packet pairs, at which a probe and a data packet are sent under the same
/// conditions.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moments {
    pub(crate) setting: Setting,
    pub(crate) traffic: Traffic,
    pub(crate) count: u32,
    pub(crate) seed: u64,
}

impl Job for Moments {
    type Output = Delays;
    const KIND: &'static str = "ppd.moments.2";

    fn cost(&self) -> f64 {
        f64::from(self.count + 100) / 200.0
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<(f64, f64)>, JobError> {
        let mut path = Path::new(&self.setting, &self.traffic, self.seed)?;
        let mut found = Vec::new();
        for _ in 0..self.count {
            path.next_pair(EVERY);
            if let Some(delta_t) = path.delta_t()
                && let Some(probe) = path.delay_of(PROBE)
                && let Some(actual) = path.delay_of(DATA)
            {
                let ms = |span: Duration| 1e3 * span.as_secs_f64();
                found.push((ms(probe + delta_t), ms(actual)));
            }
            parts.fetch_add(PARTS / u64::from(self.count), Ordering::Relaxed);
        }
        Ok(found)
    }
}
