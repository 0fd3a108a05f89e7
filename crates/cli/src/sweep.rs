//! `polypath sim` of a file with a `[sweep]`: progress, tables and printed summary.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use polypath_batch::{POINTS, Plan, Point, Sweep, SweepError};
use polypath_report::replace_file;
use polypath_report::sweep::{JSON, Kind, PAGE, SweepPoint, json, page, render, sheets};

use crate::failure::{Failure, print_message};
use crate::network::Replication;
use crate::output::print;
use crate::progress;
use crate::scenario::{Format, OutputFolder};
use crate::stale_outputs;
use crate::watch::Interrupts;

/// Runs the unfinished points and reports all.
pub(crate) fn run(
    name: &str,
    points: Vec<Point>,
    plan: &Plan<'_>,
    replication: Replication,
    out: &OutputFolder,
    format: Format,
) -> Result<(), Failure> {
    let sweep = Sweep::open(out.path(), plan, points, replication.replicas)?;
    print_reused_points(&sweep);
    let parts = AtomicU64::new(0);
    let mut bar = progress::Indicator::of_runs(sweep.runs());
    let interrupts = Interrupts::register().context("installing signal handlers")?;
    let points = sweep.run(replication.jobs, &parts, &mut || {
        interrupts.exit_and_discard(&bar, out);
        bar.advance_runs(parts.load(Ordering::Relaxed));
    })?;
    bar.finish();
    report(name, sweep.kind(), &points, out.path(), format)
}

/// Prints the number of finished points and the unusable files.
fn print_reused_points(sweep: &Sweep) {
    let points = sweep.len();
    if sweep.finished() > 0 {
        print_message(&format!(
            "{} of {points} points are already finished",
            sweep.finished()
        ));
    }
    if !sweep.unusable().is_empty() {
        let name = |path: &PathBuf| format!("\n{}", path.display());
        let names: String = sweep.unusable().iter().map(name).collect();
        print_message(&format!("damaged, or of another point; run again:{names}"));
    }
}

/// Writes and prints the report; fails if it could not be written or a point failed.
fn report(
    name: &str,
    kind: Kind,
    points: &[SweepPoint],
    out: &Path,
    format: Format,
) -> Result<(), Failure> {
    let text = json(kind, points).context("writing the sweep")?;
    let mut files = sheets(kind, points).context("writing the CSV files")?;
    files.push((JSON, text.clone().into_bytes()));
    let page = page(name, kind, points).context("drawing the page")?;
    files.insert(0, (PAGE, page.into_bytes()));
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let written = write(out, &files);
    if written.is_ok() {
        stale_outputs::report_stale(out, &[&names[..], &[POINTS]].concat());
    }
    print(&match format {
        Format::Json => text,
        Format::Table => format!(
            "{}\n{}",
            render(kind, points),
            written
                .as_ref()
                .map_or_else(|_| String::new(), |()| listed(out, &names)),
        ),
    })?;
    Failure::combine(written, check(points))
}

fn write(out: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), Failure> {
    for (name, content) in files {
        let path = out.join(name);
        replace_file(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The line with the report's files.
fn listed(out: &Path, names: &[&str]) -> String {
    let first = out.join(names[0]);
    let (last, others) = names[1..].split_last().unwrap_or((&"", &[]));
    let others = others.join(", ");
    format!("report: {}, with {others} and {last}\n", first.display())
}

/// Fails if points failed, with their errors.
fn check(points: &[SweepPoint]) -> Result<(), Failure> {
    let failed = points.iter().filter_map(|point| {
        let error = point.report.as_ref().err()?;
        let set = point.set.iter();
        let set: Vec<String> = set.map(|(key, value)| format!("{key}={value}")).collect();
        Some(format!("\n{}: {error}", set.join(" ")))
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() {
        return Ok(());
    }
    let (count, all) = (failed.len(), points.len());
    Err(Failure::run(format!(
        "{count} of {all} points failed, and have no rows in the CSV files:{}",
        failed.concat()
    )))
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Other(_) => Self::input(error),
            _ => Self::run(error),
        }
    }
}
