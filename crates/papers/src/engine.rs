//! Makes figures: asks them what they need, does it on several threads, and keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::{FileError, Lookup, PARTS, ResultCache, digest, parallel_map};

use crate::figure::{Figure, Findings};
use crate::ledger::Ledger;
use crate::study::{JobError, Known, Missing, Pending, Scale, Study, Wanted};

/// The folder of the results of jobs, beside the book.
pub const JOBS: &str = "jobs";

/// A digest of the sources of the simulator: results of others are not taken for its own.
const SIMULATOR: &str = env!("SIMULATOR");

/// How much is done, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Which round of jobs: those of a later round need the results of earlier ones.
    pub round: u32,
    /// Jobs of this round that are finished.
    pub finished: usize,
    /// All jobs of this round.
    pub jobs: usize,
    /// The share of the work of this round that is done.
    pub share: f64,
}

/// Why figures could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A result can be neither read nor kept.
    #[error(transparent)]
    File(#[from] FileError),
    /// A result cannot be read as what the figure takes it for.
    #[error("the result of {0} has no number where one is needed")]
    Unreadable(String),
}

/// What was made of a figure, or why one of its jobs has no result.
pub type Attempt = Result<Findings, String>;

/// Makes figures, in their order, with what the folder already has. A job without a result costs the figures that need
/// it, and no others.
///
/// With `anew` the folder's results are replaced. `on_progress` is called now and then.
///
/// # Errors
/// Where the folder cannot be read or written. What is finished is kept.
pub fn make(
    figures: &[&Figure],
    (ledger, scale): (&Ledger, Scale),
    (folder, anew): (PathBuf, bool),
    jobs: Option<u16>,
    on_progress: &mut impl FnMut(Progress),
) -> Result<Vec<Attempt>, MakeError> {
    let cache = ResultCache::open(folder)?;
    let mut known = Known::new();
    let mut outdated = BTreeSet::new();
    let mut fresh = BTreeSet::new();
    let mut round = 0;
    loop {
        round += 1;
        let (made, wanted) = ask(figures, ledger, scale, &known);
        if wanted.is_empty() {
            cache.remove_abandoned();
            return Ok(made);
        }
        // What is known and wanted yet could not be read: one that an earlier version kept is done again.
        for key in wanted.keys().filter(|key| known.contains_key(*key)) {
            if fresh.contains(key) {
                return Err(MakeError::Unreadable(key.clone()));
            }
            outdated.insert(key.clone());
        }
        let is_usable = |key: &String| !anew && !outdated.contains(key);
        let missing = recall(&cache, wanted, &is_usable, &mut known)?;
        if !missing.is_empty() {
            let done = work(&cache, &missing, jobs, &mut |progress| {
                on_progress(Progress { round, ..progress });
            })?;
            fresh.extend(done.keys().cloned());
            known.extend(done);
        }
    }
}

/// What became of the figures as far as it is known, and all that the others want.
fn ask(
    figures: &[&Figure],
    ledger: &Ledger,
    scale: Scale,
    known: &Known,
) -> (Vec<Attempt>, BTreeMap<String, Wanted>) {
    let mut all_wanted = BTreeMap::new();
    let mut made = Vec::new();
    for figure in figures {
        let mut study = Study::new(ledger, scale, known);
        match (figure.make)(&mut study) {
            Ok(findings) => made.push(Ok(findings)),
            Err(Pending) => match study.into_missing() {
                Missing::Failed(why) => made.push(Err(why)),
                Missing::Wanted(wanted) => all_wanted.extend(wanted),
            },
        }
    }
    (made, all_wanted)
}

/// Adds what is on the cache to what is known; gives the rest, the longest first, so that the threads end together.
fn recall(
    cache: &ResultCache,
    wanted: BTreeMap<String, Wanted>,
    is_usable: &dyn Fn(&String) -> bool,
    known: &mut Known,
) -> Result<Vec<Wanted>, MakeError> {
    let mut missing = Vec::new();
    for (key, wanted) in wanted {
        match cache.lookup(&digest(&key), &label(&key))? {
            Lookup::Result(text) if is_usable(&key) => {
                known.insert(key, Ok(text));
            }
            _ => missing.push(wanted),
        }
    }
    missing.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    Ok(missing)
}

/// Does jobs, and keeps the result of each as soon as it is finished; one without is tried again by the next command.
fn work(
    cache: &ResultCache,
    wanted: &[Wanted],
    jobs: Option<u16>,
    on_progress: &mut impl FnMut(Progress),
) -> Result<Known, MakeError> {
    let parts: Vec<AtomicU64> = wanted.iter().map(|_| AtomicU64::new(0)).collect();
    let work = |number: usize| {
        let (job, parts) = (&wanted[number], &parts[number]);
        let ended = match (job.work)(parts) {
            Ok(result) => Ok(cache.store(&digest(&job.key), &label(&job.key), &result)?),
            Err(error) => Err(failure(&job.key, &error)),
        };
        parts.store(PARTS, Ordering::Relaxed);
        Ok::<_, FileError>((job.key.clone(), ended))
    };
    let ended = parallel_map(wanted.len(), jobs, &work, &mut || {
        on_progress(progress(wanted, &parts));
    })?;
    Ok(ended.into_iter().collect())
}

/// Why a job has no result.
fn failure(key: &str, error: &JobError) -> String {
    let (kind, parameters) = key.split_once(' ').unwrap_or((key, ""));
    format!("{kind}: {error} (its parameters: {parameters})")
}

/// Of what a result is: the job, and the sources of the simulator that did it.
fn label(key: &str) -> String {
    format!("{key} by {SIMULATOR}")
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
    }
}

/// The figures that are meant by names of papers, figures and claims, in the order of `all`; all of them, if none is
/// named.
///
/// # Errors
/// The names that mean none.
pub fn select<'a>(
    all: &[&'a Figure],
    claims: &BTreeSet<&str>,
    names: &[String],
) -> Result<Vec<&'a Figure>, Vec<String>> {
    let means = |name: &str, figure: &Figure| {
        figure.paper() == name || figure.id == name || figure.claims.contains(&name)
    };
    let is_paper = |name: &str| {
        claims
            .iter()
            .any(|claim| claim.split('.').next() == Some(name))
    };
    let unknown = names.iter().filter(|name| {
        let known = all.iter().any(|figure| means(name, figure));
        !known && !claims.contains(name.as_str()) && !is_paper(name)
    });
    let unknown: Vec<String> = unknown.cloned().collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let wanted =
        |figure: &&&Figure| names.is_empty() || names.iter().any(|name| means(name, figure));
    Ok(all.iter().filter(wanted).copied().collect())
}

#[cfg(test)]
mod tests;
