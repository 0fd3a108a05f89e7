//! `polypath sim` and `polypath lab` of a media stream: every policy in every run.

use anyhow::Context;
use polypath_batch::run_media_runs;
use polypath_lab::media::MediaLabRuns;
use polypath_report::media::{CarrierName, FILES, MediaFigures, MediaRecord, json, render, write};
use polypath_scenario::MediaScenario;

use crate::failure::Failure;
use crate::output::print;
use crate::progress;
use crate::scenario::{Format, OutputFolder};
use crate::stale_outputs;
use crate::watch::Interrupts;

/// Runs the stream by all policies in virtual time, on several threads, and prints the report; fails
/// if no packet arrived.
pub(crate) fn run(
    scenario: &MediaScenario,
    jobs: Option<u16>,
    out: &OutputFolder,
    format: Format,
) -> Result<(), Failure> {
    let interrupts = Interrupts::register().context("installing signal handlers")?;
    let count = u64::from(scenario.media.runs) * scenario.media.policies.len() as u64;
    let mut bar = progress::Indicator::of_runs(count);
    let runs = run_media_runs(scenario, jobs, &mut |finished| {
        interrupts.exit_and_discard(&bar, out);
        bar.advance_runs(finished * polypath_batch::PARTS);
    });
    bar.finish();
    let runs = runs.map_err(Failure::run)?;
    let record = MediaRecord {
        scenario,
        seeds: &runs.seeds,
        carriers: &carriers(scenario),
        outcomes: &runs.policies,
        lab: None,
    };
    report(record, out, format)
}

/// Prints the report of a stream in the lab; fails if no packet arrived, or a run does not count.
pub(crate) fn report_lab(
    scenario: &MediaScenario,
    seeds: &[u64],
    runs: &MediaLabRuns,
    out: &OutputFolder,
    format: Format,
) -> Result<(), Failure> {
    let record = MediaRecord {
        scenario,
        seeds,
        carriers: &carriers(scenario),
        outcomes: &runs.outcomes,
        lab: Some(runs.record()),
    };
    report(record, out, format)?;
    for (seed, conditions) in seeds.iter().zip(&runs.conditions) {
        if let Some(why) = conditions.invalid_reason() {
            return Err(Failure::run(format!(
                "the run of seed {seed} does not count: {why}; end other programs, run as root, or lower \
                 `media.rate`"
            )));
        }
    }
    Ok(())
}

fn carriers(scenario: &MediaScenario) -> Vec<CarrierName> {
    scenario.media.policies.iter().map(Into::into).collect()
}

/// Writes and prints the report; fails if it could not be written, or no packet arrived.
fn report(record: MediaRecord<'_>, out: &OutputFolder, format: Format) -> Result<(), Failure> {
    let figures = MediaFigures::of(record);
    let path = out.path();
    let written = write(path, record, &figures)
        .with_context(|| format!("cannot write the report to {}", path.display()));
    let mut text = match format {
        Format::Table => render(record, &figures),
        Format::Json => json(record, &figures).context("writing the report")?,
    };
    if written.is_ok() {
        stale_outputs::report_stale(path, &FILES);
        if format == Format::Table {
            let page = path.join("report.html");
            text = format!("{text}\nreport: {}\n", page.display());
        }
    }
    print(&text)?;
    written?;
    let mut outcomes = record.outcomes.iter().flatten();
    if outcomes.all(|outcome| outcome.delivered == 0) {
        return Err(Failure::run("no packet arrived: check the paths"));
    }
    Ok(())
}
