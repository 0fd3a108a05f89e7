//! `polypath sim` of a file with a `[sweep]`: progress, sheets and what is printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use polypath_batch::{POINTS, Plan, Point, Sweep, SweepError};
use polypath_report::sweep::{JSON, json, sheets};

use crate::failure::{Failure, tell};
use crate::leftover;
use crate::network::Replication;
use crate::output::print;
use crate::progress;
use crate::scenario::{Folder, Format};
use crate::watch::Interrupts;

/// Runs the points that are not finished, and reports all.
pub(crate) fn run(
    points: Vec<Point>,
    plan: &Plan<'_>,
    replication: Replication,
    out: &Folder,
    format: Format,
) -> Result<(), Failure> {
    let sweep = Sweep::open(out.path(), plan, points, replication.replicas)?;
    tell_of(&sweep);
    let parts = AtomicU64::new(0);
    let mut bar = progress::Indicator::of_runs(sweep.runs());
    let interrupts = Interrupts::register().context("watching for signals")?;
    sweep.run(replication.jobs, &parts, &mut || {
        interrupts.obey(&bar, out);
        bar.advance_runs(parts.load(Ordering::Relaxed));
    })?;
    bar.finish();
    report(&sweep, out.path(), format)
}

/// Says what there is already.
fn tell_of(sweep: &Sweep) {
    let points = sweep.len();
    if sweep.finished() > 0 {
        tell(&format!(
            "{} of {points} points are finished already",
            sweep.finished()
        ));
    }
    if !sweep.unusable().is_empty() {
        let name = |path: &PathBuf| format!("\n{}", path.display());
        let names: String = sweep.unusable().iter().map(name).collect();
        tell(&format!("damaged, or not of this point; run again:{names}"));
    }
}

fn report(sweep: &Sweep, out: &Path, format: Format) -> Result<(), Failure> {
    let points = sweep.results()?;
    let text = json(sweep.kind(), &points).context("writing the sweep")?;
    let mut files = sheets(sweep.kind(), &points).context("writing the sheets")?;
    files.push((JSON, text.clone().into_bytes()));
    for (name, content) in &files {
        let path = out.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    names.push(POINTS);
    leftover::tell_of_others(out, &names);
    print(&match format {
        Format::Json => text,
        Format::Table => format!(
            "{} points\nreport: {}, {} beside it\n",
            points.len(),
            out.join(names[0]).display(),
            names[1..files.len()].join(" and ")
        ),
    })
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Other(_) => Self::input(error),
            _ => Self::run(error),
        }
    }
}
