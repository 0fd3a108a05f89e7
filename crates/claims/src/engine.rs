//! The engine that makes figures: it collects the jobs they request, runs them on several threads
//! and stores the results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::{FileError, Lookup, PARTS, ResultCache, digest, parallel_map};

use crate::figure::{Figure, Findings};
use crate::lab::{Lab, LabRun};
use crate::ledger::Ledger;
use crate::study::{AllWanted, JobError, Known, LabWanted, Missing, Pending, Scale, Study, Wanted};

/// The name of the folder of job results, next to the book.
pub const JOBS: &str = "jobs";

/// The options of an engine that makes figures.
#[derive(Clone, Debug)]
pub struct MakeOptions<'a> {
    /// The ledger, for values that papers state.
    pub ledger: &'a Ledger,
    /// The scale of the simulations.
    pub scale: Scale,
    /// The folder of job results.
    pub folder: PathBuf,
    /// Runs all jobs again instead of using stored results.
    pub fresh: bool,
    /// The number of threads; one per core by default.
    pub threads: Option<u16>,
    /// The digest of the sources of all jobs. Results that were stored with another digest are not
    /// used.
    pub sources: &'a str,
    /// The same for runs in the lab.
    pub lab_sources: &'a str,
}

/// The progress of a round of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The number of the round, from 1. Jobs of a later round need the results of earlier ones.
    pub round: u32,
    /// The finished jobs of this round.
    pub finished: usize,
    /// All jobs of this round.
    pub jobs: usize,
    /// The finished share of this round's work, from 0 to 1.
    pub share: f64,
    /// The work of all jobs of this round: about its run time in seconds of one core.
    pub cost: f64,
}

/// An error that stops all figures.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A result cannot be read or stored.
    #[error(transparent)]
    File(#[from] FileError),
    /// A result does not have the type that the figure expects.
    #[error("the result of {0} has no number where one is needed")]
    Unreadable(String),
}

/// The findings of a figure, or the error of one of its jobs.
pub type Attempt = Result<Findings, String>;

/// Makes figures and returns an attempt for each, in their order. A failed job fails only the
/// figures that need it. With a lab, figures measure there, too. `on_progress` is called at least
/// every 100 ms while simulations run, and after each call of the lab.
///
/// # Errors
/// If the folder cannot be read or written, or a result does not have the expected type. Finished
/// results stay stored.
pub fn make_figures(
    figures: &[&Figure],
    options: &MakeOptions<'_>,
    mut lab: Option<&mut dyn Lab>,
    on_progress: &mut impl FnMut(Progress),
) -> Result<Vec<Attempt>, MakeError> {
    let engine = Engine {
        cache: ResultCache::open(options.folder.clone())?,
        options,
    };
    let mut known = Known::new();
    let mut outdated = BTreeSet::new();
    let mut completed = BTreeSet::new();
    let mut round = 0;
    loop {
        round += 1;
        let (attempts, wanted) = engine.attempt(figures, lab.is_some(), &known);
        if wanted.jobs.is_empty() && wanted.lab.is_empty() {
            engine.cache.remove_abandoned();
            return Ok(attempts);
        }
        // A known result that is requested again could not be read: an earlier version stored it,
        // so the job runs again.
        let keys = wanted.jobs.keys().chain(wanted.lab.keys());
        for key in keys.filter(|key| known.contains_key(*key)) {
            if completed.contains(key) {
                return Err(MakeError::Unreadable(key.clone()));
            }
            outdated.insert(key.clone());
        }
        let is_usable = |key: &String| !options.fresh && !outdated.contains(key);
        let (sources, lab_sources) = (options.sources, options.lab_sources);
        let mut missing = engine.load(wanted.jobs, sources, &is_usable, &mut known)?;
        missing.sort_by(|a, b| b.cost.total_cmp(&a.cost));
        let in_lab = engine.load(wanted.lab, lab_sources, &is_usable, &mut known)?;
        let on_progress = &mut |progress| {
            on_progress(Progress { round, ..progress });
        };
        let mut results = engine.run(&missing, on_progress)?;
        if let Some(lab) = &mut lab {
            results.extend(engine.run_in_lab(&in_lab, &mut **lab, on_progress)?);
        }
        completed.extend(results.keys().cloned());
        known.extend(results);
    }
}

struct Engine<'a> {
    cache: ResultCache,
    options: &'a MakeOptions<'a>,
}

impl Engine<'_> {
    /// Calls every figure. Returns the attempts of those that completed or failed, and the jobs
    /// that the others need.
    fn attempt(
        &self,
        figures: &[&Figure],
        has_lab: bool,
        known: &Known,
    ) -> (Vec<Attempt>, AllWanted) {
        let mut all_wanted = AllWanted::default();
        let mut attempts = Vec::new();
        let (ledger, scale) = (self.options.ledger, self.options.scale);
        for figure in figures {
            let mut study = Study::new(ledger, scale, has_lab, known);
            match (figure.make)(&mut study) {
                Ok(findings) => attempts.push(Ok(Findings {
                    lab_failure: study.into_lab_failure(),
                    ..findings
                })),
                Err(Pending) => match study.into_missing() {
                    Missing::Failed(error) => attempts.push(Err(error)),
                    Missing::Wanted(wanted) => {
                        all_wanted.jobs.extend(wanted.jobs);
                        all_wanted.lab.extend(wanted.lab);
                    }
                },
            }
        }
        (attempts, all_wanted)
    }

    /// Loads stored results into `known` and returns the other jobs.
    fn load<W>(
        &self,
        wanted: BTreeMap<String, W>,
        sources: &str,
        is_usable: &dyn Fn(&String) -> bool,
        known: &mut Known,
    ) -> Result<Vec<W>, MakeError> {
        let mut missing = Vec::new();
        for (key, job) in wanted {
            match self.cache.lookup(&digest(&key), &label(&key, sources))? {
                Lookup::Result(text) if is_usable(&key) => {
                    known.insert(key, Ok(text));
                }
                _ => missing.push(job),
            }
        }
        Ok(missing)
    }

    /// Runs jobs in the lab, as many at the same time as fit, and stores each result.
    fn run_in_lab(
        &self,
        wanted: &[LabWanted],
        lab: &mut dyn Lab,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Known, MakeError> {
        let mut results = Known::new();
        let mut rest = wanted;
        while let Some(fitting) = fitting(rest, lab.capacity()) {
            let (jobs, others) = rest.split_at(fitting);
            for (job, result) in jobs.iter().zip(outcomes(jobs, lab)) {
                let result = match result {
                    Ok(result) => {
                        let label = label(&job.key, self.options.lab_sources);
                        Ok(self.cache.store(&digest(&job.key), &label, &result)?)
                    }
                    Err(error) => Err(failure(&job.key, &error)),
                };
                results.insert(job.key.clone(), result);
            }
            rest = others;
            on_progress(progress_in_lab(wanted.len() - rest.len(), wanted.len()));
        }
        Ok(results)
    }

    /// Runs jobs and stores each result as soon as it is there. Errors are not stored, so failed
    /// jobs run again next time.
    fn run(
        &self,
        wanted: &[Wanted],
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<Known, MakeError> {
        let parts: Vec<AtomicU64> = wanted.iter().map(|_| AtomicU64::new(0)).collect();
        let work = |index: usize| {
            let (job, parts) = (&wanted[index], &parts[index]);
            let result = match (job.work)(parts) {
                Ok(result) => {
                    let label = label(&job.key, self.options.sources);
                    Ok(self.cache.store(&digest(&job.key), &label, &result)?)
                }
                Err(error) => Err(failure(&job.key, &error)),
            };
            parts.store(PARTS, Ordering::Relaxed);
            Ok::<_, FileError>((job.key.clone(), result))
        };
        let results = parallel_map(wanted.len(), self.options.threads, &work, &mut || {
            on_progress(progress(wanted, &parts));
        })?;
        Ok(results.into_iter().collect())
    }
}

/// The number of jobs, at least one, whose runs fit into the lab together; `None` without jobs. A
/// run that needs the machine for itself takes all of the lab.
fn fitting(wanted: &[LabWanted], capacity: usize) -> Option<usize> {
    let size = |run: &LabRun| if run.is_alone() { capacity } else { 1 };
    let runs = |job: &LabWanted| {
        let runs = job.runs.iter().flatten();
        runs.map(size).sum::<usize>()
    };
    let mut all = 0;
    let fits = wanted.iter().take_while(|job| {
        all += runs(job);
        all <= capacity
    });
    (!wanted.is_empty()).then(|| fits.count().max(1))
}

/// Runs jobs in the lab together; returns the result of each.
fn outcomes(jobs: &[LabWanted], lab: &mut dyn Lab) -> Vec<Result<serde_json::Value, JobError>> {
    let runs = |job: &LabWanted| job.runs.as_ref().map_or(&[][..], Vec::as_slice).to_vec();
    let all: Vec<LabRun> = jobs.iter().flat_map(runs).collect();
    let ran = if all.is_empty() {
        Ok(Vec::new())
    } else {
        lab.run(&all)
    };
    let mut first = 0;
    let result = |job: &LabWanted| {
        let of_job = first..first + runs(job).len();
        first = of_job.end;
        if let Err(error) = &job.runs {
            return Err(JobError::Other(error.to_string()));
        }
        match &ran {
            Ok(outcomes) => match outcomes.get(of_job) {
                Some(of_job) => (job.result)(of_job),
                None => Err(JobError::Other("the lab returned too few runs".to_owned())),
            },
            Err(error) => Err(JobError::Other(error.clone())),
        }
    };
    jobs.iter().map(result).collect()
}

/// The progress after `finished` of `jobs` jobs in the lab.
fn progress_in_lab(finished: usize, jobs: usize) -> Progress {
    Progress {
        round: 0,
        finished,
        jobs,
        share: finished as f64 / jobs.max(1) as f64,
        cost: jobs as f64,
    }
}

/// The label of a stored result: the job and the sources that ran it.
fn label(key: &str, sources: &str) -> String {
    format!("{key} by {sources}")
}

/// The error of a job with its kind and parameters.
fn failure(key: &str, error: &JobError) -> String {
    let (kind, parameters) = key.split_once(' ').unwrap_or((key, ""));
    format!("{kind}: {error} (its parameters: {parameters})")
}

fn progress(wanted: &[Wanted], parts: &[AtomicU64]) -> Progress {
    let (mut done, mut all, mut finished) = (0.0, 0.0, 0);
    for (job, parts) in wanted.iter().zip(parts) {
        let parts = parts.load(Ordering::Relaxed).min(PARTS);
        done += job.cost * parts as f64 / PARTS as f64;
        all += job.cost;
        finished += usize::from(parts == PARTS);
    }
    Progress {
        round: 0,
        finished,
        jobs: wanted.len(),
        share: if all > 0.0 { done / all } else { 0.0 },
        cost: all,
    }
}

/// Selects figures by the names of papers, figures and claims, in the order of `all`; without
/// names, all of them.
///
/// # Errors
/// The unknown names.
pub fn select<'a>(
    all: &[&'a Figure],
    claims: &BTreeSet<&str>,
    names: &[String],
) -> Result<Vec<&'a Figure>, Vec<String>> {
    let matches = |name: &str, figure: &Figure| {
        figure.paper() == name || figure.id == name || figure.claims.contains(&name)
    };
    let is_paper = |name: &str| {
        claims
            .iter()
            .any(|claim| claim.split('.').next() == Some(name))
    };
    let unknown = names.iter().filter(|name| {
        let known = all.iter().any(|figure| matches(name, figure));
        !known && !claims.contains(name.as_str()) && !is_paper(name)
    });
    let unknown: Vec<String> = unknown.cloned().collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let is_selected =
        |figure: &&&Figure| names.is_empty() || names.iter().any(|name| matches(name, figure));
    Ok(all.iter().filter(is_selected).copied().collect())
}

#[cfg(test)]
mod tests;
