//! Sweeps: every combination of parameters is a point, and finished points are kept.
//!
//! The folder `points` beside the report holds `plan.json`, what is swept, and one file for each finished point,
//! which appears whole or not at all, says what it is a point of, and carries a digest of its report. The sheets are
//! made from these files alone, so that a sweep that was interrupted ends with the bytes of one that was not.

mod plan;
mod point;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use polypath_report::sweep::{Kind, SweepPoint};

use crate::in_order::in_groups;
use crate::shelf::FileError;
pub use plan::Plan;
pub use point::Point;
use point::{PointError, Ran};
pub use store::POINTS;
use store::{State, Store};

/// A sweep in its folder.
#[derive(Debug)]
pub struct Sweep {
    points: Vec<Point>,
    replicas: u32,
    store: Store,
    /// The numbers of the points that are not finished.
    missing: Vec<usize>,
    unusable: Vec<PathBuf>,
}

/// Why a sweep cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The folder is that of another sweep.
    #[error(
        "{} holds the points of another sweep, or of other files that it names, or of another version of this \
         program: choose another folder with --out, or remove it",
        .0.display()
    )]
    Other(PathBuf),
    /// A file can be neither read nor written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A point was taken away, or damaged, since it was finished.
    #[error("{} was changed while the sweep ran: run it again", .0.display())]
    Changed(PathBuf),
    /// A point was not run, so that it has no report; what is set in it.
    #[error("{0}: it was not run, and has no report")]
    Nothing(String),
    /// A report cannot be written as JSON.
    #[error("writing a report: {0}")]
    Json(#[from] serde_json::Error),
}

impl Sweep {
    /// Takes up the sweep whose finished points stand below `out`, or begins it there; each point is run `replicas`
    /// times, one of transfers once.
    ///
    /// # Errors
    /// Where the folder holds another sweep, or cannot be written.
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
        let store = Store::open(out, &plan.describe(&points, replicas))?;
        let (mut missing, mut unusable) = (Vec::new(), Vec::new());
        for (number, point) in points.iter().enumerate() {
            match store.look(number, &point.words())? {
                State::Finished(_) => continue,
                State::Unusable => unusable.push(store.path(number)),
                State::Missing => {}
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

    /// What its points are runs of.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind(&self.points)
    }

    /// How many points there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// True if there is no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// How many points were finished when it was opened.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.points.len() - self.missing.len()
    }

    /// The files that are damaged, or those of other points: they are to be run again.
    #[must_use]
    pub fn unusable(&self) -> &[PathBuf] {
        &self.unusable
    }

    /// How many runs are to be done.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.missing.len() as u64 * u64::from(self.replicas)
    }

    /// Does the runs that are missing on several threads (`jobs`, or one for each core), and keeps each point as soon
    /// as it is finished; [`PARTS`](crate::PARTS) are added to `parts` for each run, and `glance` is called now and then.
    /// Gives every point with its report as it was kept, or with the error of the first of its runs that came to no end:
    /// such a point does not keep the others from being run.
    ///
    /// # Errors
    /// Where a point cannot be kept, or is no longer what it was.
    pub fn run(
        &self,
        jobs: Option<u16>,
        parts: &AtomicU64,
        glance: &mut impl FnMut(),
    ) -> Result<Vec<SweepPoint>, SweepError> {
        let failed = Mutex::new(BTreeMap::new());
        let work = |index: usize, number: u32| {
            let point = &self.points[self.missing[index]];
            Ok(point.run([number, self.replicas], parts))
        };
        let finish = |index: usize, runs: Vec<Result<Ran, PointError>>| {
            let number = self.missing[index];
            let point = &self.points[number];
            match runs.into_iter().collect() {
                Ok(runs) => (self.store).keep(number, point.words(), &point.report(runs)?),
                Err(error) => {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.insert(number, PointError::to_string(&error));
                    Ok(())
                }
            }
        };
        let size = (self.missing.len(), self.replicas);
        in_groups(size, jobs, &work, &finish, glance)?;
        self.results(&failed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every point with its report, as it was kept, or why it failed, by its number.
    fn results(&self, failed: &BTreeMap<usize, String>) -> Result<Vec<SweepPoint>, SweepError> {
        self.store.tidy();
        let result = |(number, point): (usize, &Point)| {
            let report = match (
                failed.get(&number),
                self.store.look(number, &point.words())?,
            ) {
                (Some(error), _) => Err(error.clone()),
                (None, State::Finished(report)) => Ok(report),
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

/// What points are runs of: those of a file are of one kind.
fn kind(points: &[Point]) -> Kind {
    points.first().map_or(Kind::Network, Point::kind)
}

#[cfg(test)]
mod tests;
