//! The folder of the finished points.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SweepError;
use crate::digest::digest;
use crate::shelf::{Found, Shelf, failed, put};

/// The name of the folder of the finished points, beside the report.
pub const POINTS: &str = "points";

/// The folder of the finished points of one sweep.
#[derive(Debug)]
pub(super) struct Store {
    shelf: Shelf,
    /// The digest of the plan.
    plan: String,
}

/// What there is of a point.
pub(super) enum State {
    /// Nothing.
    Missing,
    /// A file that is damaged, or that of another point.
    Unusable,
    /// Its report.
    Finished(Value),
}

/// Of which point a file is.
#[derive(PartialEq, Serialize, Deserialize)]
struct Label {
    /// The digest of the plan that it is a point of.
    plan: String,
    point: usize,
    set: Vec<String>,
}

impl Store {
    /// The folder below `out`, made or found; refuses one that holds the points of another plan. A plan that is cut off
    /// is written anew: the points say which one is theirs.
    pub(super) fn open(out: &Path, plan: &str) -> Result<Self, SweepError> {
        let folder = out.join(POINTS);
        let path = folder.join("plan.json");
        let write = match fs::read(&path) {
            Ok(found) if found == plan.as_bytes() => false,
            Ok(found) if is_whole(&found) => return Err(SweepError::Other(folder)),
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(failed(&path, error).into()),
        };
        let shelf = Shelf::open(folder)?;
        if write {
            put(&path, plan)?;
        }
        let plan = digest(plan);
        Ok(Self { shelf, plan })
    }

    pub(super) fn path(&self, number: usize) -> PathBuf {
        self.shelf.path(&name(number))
    }

    /// Keeps the report of a point.
    pub(super) fn keep(
        &self,
        number: usize,
        set: Vec<String>,
        report: &Value,
    ) -> Result<(), SweepError> {
        let label = self.label(number, set);
        self.shelf.keep(&name(number), &label, report)?;
        Ok(())
    }

    /// What there is of the point with this number, in which `set` is set.
    pub(super) fn look(&self, number: usize, set: &[String]) -> Result<State, SweepError> {
        let label = self.label(number, set.to_vec());
        Ok(match self.shelf.look(&name(number), &label)? {
            Found::Missing => State::Missing,
            Found::Unusable => State::Unusable,
            Found::Result(text) => {
                serde_json::from_str(&text).map_or(State::Unusable, State::Finished)
            }
        })
    }

    /// Removes what was being written when an earlier run was killed; to be called where all points are finished.
    pub(super) fn tidy(&self) {
        self.shelf.tidy();
    }

    fn label(&self, point: usize, set: Vec<String>) -> Label {
        Label {
            plan: self.plan.clone(),
            point,
            set,
        }
    }
}

fn name(number: usize) -> String {
    format!("{number:05}")
}

/// Whether a plan was written to its end.
fn is_whole(plan: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(plan).is_ok()
}
