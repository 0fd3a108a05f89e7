//! Studies: what figures request, and the jobs that compute it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;

use polypath_sim::RunError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lab::{LabJob, LabOutcome, LabRun};
use crate::ledger::Ledger;

/// The root of all seeds.
pub const SEED: u64 = 1;

/// A simulation that is a pure function of its parameters, all of which are in its serialised form.
pub trait Job: Serialize + fmt::Debug + Clone + Send + Sync + 'static {
    /// The result.
    type Output: Serialize + DeserializeOwned;

    /// The name of this kind of job.
    const KIND: &'static str;

    /// The approximate run time in seconds of one core. It affects only the order of jobs and the
    /// progress.
    fn cost(&self) -> f64;

    /// Runs the job and adds its progress to `parts`, [`PARTS`](polypath_batch::PARTS) in total.
    ///
    /// # Errors
    /// If a run fails.
    fn run(&self, parts: &AtomicU64) -> Result<Self::Output, JobError>;
}

/// The error of a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A generated scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] polypath_document::Errors),
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

/// The scale of the simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// A few runs of each figure: minutes for all papers.
    Quick,
    /// The papers' sample sizes where a claim names them, and enough for 5 % elsewhere.
    Full,
}

impl Scale {
    /// Returns `quick` or `full`.
    #[must_use]
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// A figure needs a result that is not known, or that a failed job does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending;

/// Runs a job and returns its result.
type Work = Box<dyn Fn(&AtomicU64) -> Result<Value, JobError> + Send + Sync>;

/// A requested job without a result.
pub(crate) struct Wanted {
    /// The kind and the parameters.
    pub(crate) key: String,
    pub(crate) cost: f64,
    pub(crate) work: Work,
}

/// The result of a job in the lab from the outcomes of its runs.
type LabResult = Box<dyn Fn(&[LabOutcome]) -> Result<Value, JobError>>;

/// A requested job in the lab without a result.
pub(crate) struct LabWanted {
    /// The kind and the parameters.
    pub(crate) key: String,
    pub(crate) runs: Result<Vec<LabRun>, JobError>,
    pub(crate) result: LabResult,
}

/// The requested jobs without results, by key.
#[derive(Default)]
pub(crate) struct AllWanted {
    pub(crate) jobs: BTreeMap<String, Wanted>,
    pub(crate) lab: BTreeMap<String, LabWanted>,
}

/// The results or errors of jobs by key.
pub(crate) type Known = BTreeMap<String, Result<String, String>>;

/// The reason why a figure is pending.
pub(crate) enum Missing {
    /// These jobs have to run first.
    Wanted(AllWanted),
    /// The error of a job that the figure needs.
    Failed(String),
}

/// The interface by which a figure requests the results of jobs.
pub struct Study<'a> {
    ledger: &'a Ledger,
    scale: Scale,
    has_lab: bool,
    known: &'a Known,
    wanted: AllWanted,
    /// The error of the first failed job.
    failed: Option<String>,
    /// The error of the first job that failed in the lab.
    failed_in_lab: Option<String>,
}

impl<'a> Study<'a> {
    pub(crate) fn new(ledger: &'a Ledger, scale: Scale, has_lab: bool, known: &'a Known) -> Self {
        Self {
            ledger,
            scale,
            has_lab,
            known,
            wanted: AllWanted::default(),
            failed: None,
            failed_in_lab: None,
        }
    }

    /// Returns the error of the first job that failed in the lab.
    pub(crate) fn into_lab_failure(self) -> Option<String> {
        self.failed_in_lab
    }

    /// The value `index` that the paper states according to the ledger, such as a point of its
    /// figure.
    #[must_use]
    pub fn stated(&self, claim: &str, index: usize) -> Option<f64> {
        self.ledger.value(claim, index)
    }

    /// The scale of the simulations.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }

    /// Returns `quick` or `full` according to the scale.
    #[must_use]
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        self.scale.pick(quick, full)
    }

    /// Returns the result of a job.
    ///
    /// # Errors
    /// If the result is not known yet, or the job failed.
    pub fn request<J: Job>(&mut self, job: &J) -> Result<J::Output, Pending> {
        let key = key(J::KIND, job);
        match self.known.get(&key) {
            Some(Ok(text)) => {
                if let Ok(result) = serde_json::from_str(text) {
                    return Ok(result);
                }
            }
            Some(Err(error)) => {
                self.failed.get_or_insert_with(|| error.clone());
                return Err(Pending);
            }
            None => {}
        }
        let job = job.clone();
        let wanted = Wanted {
            key: key.clone(),
            cost: job.cost(),
            work: Box::new(move |parts| to_value(&job.run(parts)?)),
        };
        self.wanted.jobs.insert(key, wanted);
        Err(Pending)
    }

    /// Returns the result of a job in the lab; `None` if the study has none, or the job failed
    /// there, which does not affect what is simulated.
    ///
    /// # Errors
    /// If the result is not known yet.
    pub fn request_in_lab<J: LabJob>(&mut self, job: &J) -> Result<Option<J::Output>, Pending> {
        if !self.has_lab {
            return Ok(None);
        }
        let key = key(J::KIND, job);
        match self.known.get(&key) {
            Some(Ok(text)) => {
                if let Ok(result) = serde_json::from_str(text) {
                    return Ok(Some(result));
                }
            }
            Some(Err(error)) => {
                self.failed_in_lab.get_or_insert_with(|| error.clone());
                return Ok(None);
            }
            None => {}
        }
        let (runs, job) = (job.runs(), job.clone());
        let wanted = LabWanted {
            key: key.clone(),
            runs,
            result: Box::new(move |outcomes| to_value(&job.result(outcomes)?)),
        };
        self.wanted.lab.insert(key, wanted);
        Err(Pending)
    }

    /// Returns the results of several jobs, which run in parallel.
    ///
    /// # Errors
    /// If one of the results is not known yet, as in [`request`](Self::request).
    pub fn request_all<J: Job>(
        &mut self,
        jobs: impl IntoIterator<Item = J>,
    ) -> Result<Vec<J::Output>, Pending> {
        let results: Vec<_> = jobs.into_iter().map(|job| self.request(&job)).collect();
        results.into_iter().collect()
    }

    /// Returns why the figure is pending.
    pub(crate) fn into_missing(self) -> Missing {
        match self.failed {
            Some(error) => Missing::Failed(error),
            None => Missing::Wanted(self.wanted),
        }
    }
}

/// The kind and the parameters of a job on one line.
fn key(kind: &str, job: &impl Serialize) -> String {
    // Parameters are plain data, which always serialises.
    let parameters = serde_json::to_string(job).unwrap_or_else(|error| error.to_string());
    format!("{kind} {parameters}")
}

fn to_value(output: &impl Serialize) -> Result<Value, JobError> {
    serde_json::to_value(output).map_err(|error| JobError::Other(error.to_string()))
}
