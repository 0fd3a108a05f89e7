//! Sweeps: each combination of parameters is a point, and finished points are stored.
//!
//! The folder `points` next to the report contains `plan.json`, the identity of the sweep, and a
//! [`ResultCache`] with one file per finished point. Tables are made from these files only, so an
//! interrupted sweep that is resumed produces the same bytes as an uninterrupted one.
//!
//! [`ResultCache`]: crate::ResultCache

mod plan;
mod point;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use polypath_report::sweep::{Kind, SweepPoint};

use crate::parallel_map::{Groups, parallel_groups};
use crate::result_cache::FileError;
pub use plan::Plan;
pub use point::Point;
use point::{PointError, RunOutput};
pub use store::POINTS;
use store::{PointState, PointStore};

/// A sweep and its folder.
#[derive(Debug)]
pub struct Sweep {
    points: Vec<Point>,
    replicas: u32,
    store: PointStore,
    /// The numbers of the unfinished points.
    missing: Vec<usize>,
    unusable: Vec<PathBuf>,
}

/// The error of a sweep that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The folder belongs to another sweep.
    #[error(
        "{} contains the points of another sweep, of other input files, or of another version of this program: \
         choose another folder with --out, or remove it",
        .0.display()
    )]
    Other(PathBuf),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A finished point was removed or damaged during the sweep.
    #[error("{} changed during the sweep: run it again", .0.display())]
    Changed(PathBuf),
    /// A point without runs has no report; its overrides.
    #[error("{0}: no run, so there is no report")]
    Nothing(String),
    /// A report cannot be written as JSON.
    #[error("writing a report: {0}")]
    Json(#[from] serde_json::Error),
}

impl Sweep {
    /// Resumes the sweep with finished points below `out`, or starts it there. Each network point
    /// runs `replicas` times, each transfer point once.
    ///
    /// # Errors
    /// If the folder belongs to another sweep or cannot be written.
    pub fn open(
        out: &Path,
        plan: &Plan<'_>,
        points: Vec<Point>,
        replicas: u32,
    ) -> Result<Self, SweepError> {
        let replicas = match kind(&points) {
            Kind::Network => replicas,
            Kind::Transfers => 1,
        };
        let store = PointStore::open(out, &plan.describe(&points, replicas))?;
        let (mut missing, mut unusable) = (Vec::new(), Vec::new());
        for (number, point) in points.iter().enumerate() {
            match store.lookup(number, &point.words())? {
                PointState::Finished(_) => continue,
                PointState::Unusable => unusable.push(store.path(number)),
                PointState::Missing => {}
            }
            missing.push(number);
        }
        Ok(Self {
            points,
            replicas,
            store,
            missing,
            unusable,
        })
    }

    /// The kind of the points.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind(&self.points)
    }

    /// The number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The number of points that were finished when the sweep was opened.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.points.len() - self.missing.len()
    }

    /// The files that are damaged or belong to other points. Their points run again.
    #[must_use]
    pub fn unusable(&self) -> &[PathBuf] {
        &self.unusable
    }

    /// The number of runs that remain.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.missing.len() as u64 * u64::from(self.replicas)
    }

    /// Performs the missing runs on `threads` threads (default: one per core) and stores each point
    /// as soon as it is finished. Each run adds [`PARTS`](crate::PARTS) to `parts`; `on_progress`
    /// is called at least every 100 ms. Returns every point with its stored report, or with the
    /// error of its first failed run. A failed point does not stop the others.
    ///
    /// # Errors
    /// If a point cannot be stored, or has changed since.
    pub fn run(
        &self,
        threads: Option<u16>,
        parts: &AtomicU64,
        on_progress: &mut impl FnMut(),
    ) -> Result<Vec<SweepPoint>, SweepError> {
        let failed = Mutex::new(BTreeMap::new());
        let work = |index: usize, number: u32| {
            let point = &self.points[self.missing[index]];
            Ok(point.run(number, self.replicas, parts))
        };
        let finish = |index: usize, runs: Vec<Result<RunOutput, PointError>>| {
            let number = self.missing[index];
            let point = &self.points[number];
            match runs.into_iter().collect() {
                Ok(runs) => (self.store).store(number, point.words(), &point.report(runs)?),
                Err(error) => {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.insert(number, PointError::to_string(&error));
                    Ok(())
                }
            }
        };
        let groups = Groups {
            count: self.missing.len(),
            size: self.replicas,
        };
        parallel_groups(groups, threads, &work, &finish, on_progress)?;
        self.results(&failed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every point with its stored report or its error; `failed` maps point numbers to errors.
    fn results(&self, failed: &BTreeMap<usize, String>) -> Result<Vec<SweepPoint>, SweepError> {
        self.store.remove_abandoned();
        let result = |(number, point): (usize, &Point)| {
            let report = match (
                failed.get(&number),
                self.store.lookup(number, &point.words())?,
            ) {
                (Some(error), _) => Err(error.clone()),
                (None, PointState::Finished(report)) => Ok(report),
                _ => return Err(SweepError::Changed(self.store.path(number))),
            };
            let set = point.set.iter();
            Ok(SweepPoint {
                set: set
                    .map(|each| (each.key().to_owned(), each.value()))
                    .collect(),
                report,
            })
        };
        self.points.iter().enumerate().map(result).collect()
    }
}

/// The kind of the points; all points of a file have the same.
fn kind(points: &[Point]) -> Kind {
    points.first().map_or(Kind::Network, Point::kind)
}

#[cfg(test)]
mod tests;
