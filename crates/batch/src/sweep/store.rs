//! The folder of the finished points.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use polypath_report::replace_file;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

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
    /// The digest of the report as it stands there.
    sha256: String,
    report: Box<RawValue>,
}

impl Store {
    /// The folder below `out`, made or found; refuses one that holds the points of another plan. A plan that is cut off
    /// is written anew: the points say which one is theirs.
    pub(super) fn open(out: &Path, plan: &str) -> Result<Self, SweepError> {
        let folder = out.join(POINTS);
        let path = folder.join("plan.json");
        match fs::read(&path) {
            Ok(found) if found == plan.as_bytes() => {}
            Ok(found) if is_whole(&found) => return Err(SweepError::Other(folder)),
            Ok(_) => put(&path, plan)?,
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

    /// Keeps the report of a point; one that another process has finished meanwhile is kept already.
    pub(super) fn keep(
        &self,
        number: usize,
        set: Vec<String>,
        report: &Value,
    ) -> Result<(), SweepError> {
        let report = RawValue::from_string(serde_json::to_string_pretty(report)?)?;
        let kept = Kept {
            plan: self.plan.clone(),
            point: number,
            set,
            sha256: digest(report.get()),
            report,
        };
        let text = serde_json::to_string_pretty(&kept)? + "\n";
        put(&self.path(number), &text).or_else(|error| match self.look(number, &kept.set) {
            Ok(State::Finished(_)) => Ok(()),
            _ => Err(error),
        })
    }

    /// What there is of the point with this number, in which `set` is set.
    pub(super) fn look(&self, number: usize, set: &[String]) -> Result<State, SweepError> {
        let path = self.path(number);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Missing),
            Err(error) => return Err(failed(&path, error)),
        };
        let is_whole = |kept: &Kept| kept.sha256 == digest(kept.report.get());
        let is_it = |kept: &Kept| kept.plan == self.plan && kept.point == number && kept.set == set;
        let kept = serde_json::from_slice(&text).ok();
        let kept = kept.filter(is_it).filter(is_whole);
        let report = kept.and_then(|kept| serde_json::from_str(kept.report.get()).ok());
        Ok(report.map_or(State::Unusable, State::Finished))
    }

    /// Removes what was being written when an earlier run was killed; to be called where all points are finished.
    pub(super) fn tidy(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        for draft in paths.filter(|path| path.extension().is_some_and(|e| e == "draft")) {
            // It is of no use to anybody, and in nobody's way.
            let _ = fs::remove_file(draft);
        }
    }
}

/// Whether a plan was written to its end.
fn is_whole(plan: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(plan).is_ok()
}

fn put(path: &Path, text: &str) -> Result<(), SweepError> {
    replace_file(path, text.as_bytes()).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> SweepError {
    let path = path.to_owned();
    SweepError::File { path, error }
}
