//! Runs cases and compares their results.

use std::sync::atomic::{AtomicU64, Ordering};

use polypath_batch::{PARTS, parallel_map, run_counted};

use crate::ValidateError;
use crate::case::Case;
use crate::comparison::Comparison;

/// Runs every case with each of its seeds, on `jobs` threads or one for each core, and evaluates
/// its checks.
///
/// `on_progress` is called at least every 100 ms with the finished parts and their `total`.
///
/// # Errors
/// If a run ends early.
pub fn validate(
    cases: &[Case],
    jobs: Option<u16>,
    on_progress: &mut impl FnMut(u64, u64),
) -> Result<Vec<Comparison>, ValidateError> {
    let runs = runs(cases);
    let parts = AtomicU64::new(0);
    let work = |number: usize| {
        let (case, seed) = runs[number];
        values(&cases[case], seed, &parts)
    };
    let total = runs.len() as u64 * PARTS;
    let values = parallel_map(runs.len(), jobs, &work, &mut || {
        on_progress(parts.load(Ordering::Relaxed), total);
    })?;
    let mut of_cases: Vec<Vec<Vec<f64>>> = vec![Vec::new(); cases.len()];
    for ((case, _), values) in runs.iter().zip(values) {
        of_cases[*case].push(values);
    }
    let rows = cases
        .iter()
        .zip(&of_cases)
        .flat_map(|(case, runs)| judge(case, runs));
    Ok(rows.collect())
}

/// The numbers of the cases with their seeds, the first seeds of all before the second: short and
/// long runs mix, so that progress predicts the remaining time.
fn runs(cases: &[Case]) -> Vec<(usize, u64)> {
    let most = cases.iter().map(|case| case.seeds.len()).max().unwrap_or(0);
    let round = |position: usize| {
        let seed = move |(number, case): (usize, &Case)| Some((number, *case.seeds.get(position)?));
        cases.iter().enumerate().filter_map(seed)
    };
    (0..most).flat_map(round).collect()
}

/// The value of each check of the case in the run with this seed.
fn values(case: &Case, seed: u64, parts: &AtomicU64) -> Result<Vec<f64>, ValidateError> {
    let outcome =
        run_counted(&case.network, seed, parts, &mut ()).map_err(|source| ValidateError::Run {
            case: case.name.clone(),
            source,
        })?;
    let value = |check: &crate::Check| check.factor * check.quantity.value(&outcome);
    Ok(case.checks.iter().map(value).collect())
}

fn judge(case: &Case, runs: &[Vec<f64>]) -> Vec<Comparison> {
    let row = |(number, check): (usize, &crate::Check)| {
        let values: Vec<f64> = runs.iter().map(|values| values[number]).collect();
        Comparison::of(case, check, &values)
    };
    case.checks.iter().enumerate().filter_map(row).collect()
}
