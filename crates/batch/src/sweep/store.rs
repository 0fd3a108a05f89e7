//! The folder of the finished points.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SweepError;
use super::plan::digest;

/// The name of the folder of the finished points, beside the report.
pub const POINTS: &str = "points";

/// The folder of the finished points of one sweep.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
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

/// The file of a point.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The digest of the plan that it is a point of.
    plan: String,
    point: usize,
    set: Vec<String>,
    report: Value,
}

impl Store {
    /// The folder below `out`, made or found; refuses one that holds the points of another plan.
    pub(super) fn open(out: &Path, plan: &str) -> Result<Self, SweepError> {
        let folder = out.join(POINTS);
        let path = folder.join("plan.json");
        match fs::read(&path) {
            Ok(found) if found == plan.as_bytes() => {}
            Ok(_) => return Err(SweepError::Other(folder)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
                put(&path, plan)?;
            }
            Err(error) => return Err(failed(&path, error)),
        }
        let plan = digest(plan);
        Ok(Self { folder, plan })
    }

    pub(super) fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number:05}.json"))
    }

    /// Keeps the report of a point.
    pub(super) fn keep(
        &self,
        number: usize,
        set: Vec<String>,
        report: Value,
    ) -> Result<(), SweepError> {
        let mut text = serde_json::to_string_pretty(&Kept {
            plan: self.plan.clone(),
            point: number,
            set,
            report,
        })?;
        text.push('\n');
        put(&self.path(number), &text)
    }

    /// What there is of the point with this number, in which `set` is set.
    pub(super) fn look(&self, number: usize, set: &[String]) -> Result<State, SweepError> {
        let path = self.path(number);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Missing),
            Err(error) => return Err(failed(&path, error)),
        };
        let is_it = |kept: &Kept| kept.plan == self.plan && kept.point == number && kept.set == set;
        let kept = serde_json::from_slice::<Kept>(&text).ok().filter(is_it);
        Ok(kept.map_or(State::Unusable, |kept| State::Finished(kept.report)))
    }
}

/// Writes a file beside its place and moves it there, so that it is never half there.
fn put(path: &Path, text: &str) -> Result<(), SweepError> {
    let draft = path.with_extension("draft");
    fs::write(&draft, text)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> SweepError {
    let path = path.to_owned();
    SweepError::File { path, error }
}
