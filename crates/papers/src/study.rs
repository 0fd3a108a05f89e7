//! What figures are made of: jobs, and their results as far as they are known.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;

use polypath_sim::RunError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ledger::Ledger;

/// The root of all seeds.
pub const SEED: u64 = 1;

/// A piece of simulation: a pure function of its parameters, which are all that its serialised form says.
pub trait Job: Serialize + fmt::Debug + Clone + Send + Sync + 'static {
    /// What comes out of it.
    type Output: Serialize + DeserializeOwned;

    /// The name of this kind of job.
    const KIND: &'static str;

    /// About how long it takes, in seconds of one core: for the progress alone.
    fn cost(&self) -> f64;

    /// Does it; what is done of it is added to `parts`, of [`PARTS`](polypath_batch::PARTS) in all.
    ///
    /// # Errors
    /// Where a run comes to no end.
    fn run(&self, parts: &AtomicU64) -> Result<Self::Output, JobError>;
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// A run came to no end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A scenario that was put together is wrong.
    #[error(transparent)]
    Scenario(#[from] polypath_document::Errors),
    /// What else went wrong.
    #[error("{0}")]
    Other(String),
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// A few runs of each figure: all papers within minutes.
    Quick,
    /// The papers' sample sizes where a claim names them, and enough for 5 % elsewhere.
    Full,
}

/// Something that a figure needs is not known yet, or never will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending;

/// Does a job and gives its result.
type Work = Box<dyn Fn(&AtomicU64) -> Result<Value, JobError> + Send + Sync>;

/// A job that is to be done.
pub(crate) struct Wanted {
    /// Its kind and parameters.
    pub(crate) key: String,
    pub(crate) cost: f64,
    pub(crate) work: Work,
}

/// Jobs that have ended, by their keys: the text of their results, or why they have none.
pub(crate) type Known = BTreeMap<String, Result<String, String>>;

/// Why a figure is not there.
pub(crate) enum Missing {
    /// Jobs are to be done first, by their keys.
    Wanted(BTreeMap<String, Wanted>),
    /// A job that it needs has no result; why.
    Failed(String),
}

/// What a figure asks for jobs.
pub struct Study<'a> {
    ledger: &'a Ledger,
    scale: Scale,
    known: &'a Known,
    wanted: BTreeMap<String, Wanted>,
    /// Why the first job that has no result has none.
    failed: Option<String>,
}

impl<'a> Study<'a> {
    pub(crate) fn new(ledger: &'a Ledger, scale: Scale, known: &'a Known) -> Self {
        Self {
            ledger,
            scale,
            known,
            wanted: BTreeMap::new(),
            failed: None,
        }
    }

    /// A value that the ledger says the paper states, such as a point of its figure; nothing if it has none.
    #[must_use]
    pub fn stated(&self, claim: &str, index: usize) -> Option<f64> {
        self.ledger.value(claim, index)
    }

    /// How much is to be run.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }

    /// `full` or `quick`, as the scale is.
    #[must_use]
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.scale {
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// The result of a job.
    ///
    /// # Errors
    /// Where it is not known yet: it will be, unless the job fails, and the figure with it.
    pub fn ask<J: Job>(&mut self, job: &J) -> Result<J::Output, Pending> {
        let key = key(job);
        match self.known.get(&key) {
            Some(Ok(text)) => {
                if let Ok(result) = serde_json::from_str(text) {
                    return Ok(result);
                }
            }
            Some(Err(why)) => {
                self.failed.get_or_insert_with(|| why.clone());
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
        self.wanted.insert(key, wanted);
        Err(Pending)
    }

    /// The results of several jobs, all of which are done side by side.
    ///
    /// # Errors
    /// Where one of them is not known yet, as in [`ask`](Self::ask).
    pub fn ask_all<J: Job>(
        &mut self,
        jobs: impl IntoIterator<Item = J>,
    ) -> Result<Vec<J::Output>, Pending> {
        let asked: Vec<_> = jobs.into_iter().map(|job| self.ask(&job)).collect();
        asked.into_iter().collect()
    }

    /// Why what was asked for is not there.
    pub(crate) fn into_missing(self) -> Missing {
        match self.failed {
            Some(why) => Missing::Failed(why),
            None => Missing::Wanted(self.wanted),
        }
    }
}

/// Kind and parameters of a job, in one line.
fn key<J: Job>(job: &J) -> String {
    // Parameters are plain data: nothing in them has no JSON.
    let parameters = serde_json::to_string(job).unwrap_or_else(|error| error.to_string());
    format!("{} {parameters}", J::KIND)
}

fn to_value(output: &impl Serialize) -> Result<Value, JobError> {
    serde_json::to_value(output).map_err(|error| JobError::Other(error.to_string()))
}
