//! The folder of finished points.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SweepError;
use crate::digest::digest;
use crate::result_cache::{Lookup, ResultCache, failed, put};

/// The name of the folder of finished points, next to the report.
pub const POINTS: &str = "points";

/// The finished points of one sweep.
#[derive(Debug)]
pub(super) struct PointStore {
    cache: ResultCache,
    /// The digest of the sweep's plan.
    plan: String,
}

/// The stored state of a point.
pub(super) enum PointState {
    /// There is no file.
    Missing,
    /// The file is damaged or belongs to another point.
    Unusable,
    /// The report.
    Finished(Value),
}

/// The point that a file belongs to.
#[derive(PartialEq, Serialize, Deserialize)]
struct PointLabel {
    /// The digest of the sweep's plan.
    plan: String,
    point: usize,
    set: Vec<String>,
}

impl PointStore {
    /// Opens or creates the folder below `out`. A folder with the points of another plan is an
    /// error. A truncated plan is written again: each point carries the digest of its own.
    pub(super) fn open(out: &Path, plan: &str) -> Result<Self, SweepError> {
        let folder = out.join(POINTS);
        let path = folder.join("plan.json");
        let write = match fs::read(&path) {
            Ok(found) if found == plan.as_bytes() => false,
            Ok(found) if is_complete(&found) => return Err(SweepError::Other(folder)),
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(failed(&path, error).into()),
        };
        let cache = ResultCache::open(folder)?;
        if write {
            put(&path, plan)?;
        }
        let plan = digest(plan);
        Ok(Self { cache, plan })
    }

    pub(super) fn path(&self, number: usize) -> PathBuf {
        self.cache.path(&name(number))
    }

    /// Stores the report of a point.
    pub(super) fn store(
        &self,
        number: usize,
        set: Vec<String>,
        report: &Value,
    ) -> Result<(), SweepError> {
        let label = self.label(number, set);
        self.cache.store(&name(number), &label, report)?;
        Ok(())
    }

    /// Looks up the point with this number and these overrides.
    pub(super) fn lookup(&self, number: usize, set: &[String]) -> Result<PointState, SweepError> {
        let label = self.label(number, set.to_vec());
        Ok(match self.cache.lookup(&name(number), &label)? {
            Lookup::Missing => PointState::Missing,
            Lookup::Unusable => PointState::Unusable,
            Lookup::Result(text) => {
                serde_json::from_str(&text).map_or(PointState::Unusable, PointState::Finished)
            }
        })
    }

    /// Removes unfinished files of killed runs. To be called when all points are finished.
    pub(super) fn remove_abandoned(&self) {
        self.cache.remove_abandoned();
    }

    fn label(&self, point: usize, set: Vec<String>) -> PointLabel {
        PointLabel {
            plan: self.plan.clone(),
            point,
            set,
        }
    }
}

fn name(number: usize) -> String {
    format!("{number:05}")
}

/// Whether a plan was written completely.
fn is_complete(plan: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(plan).is_ok()
}
