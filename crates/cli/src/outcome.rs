//! The output of `sim` and `lab`: the report's folder, and a table or JSON on standard output.

use std::path::Path;

use anyhow::Context;
use polypath_report::{ExperimentRecord, Figures, Written, json, table};

use crate::failure::Failure;
use crate::output;
use crate::scenario::Format;
use crate::stale_outputs;

/// A report to print.
pub(crate) struct Report {
    figures: Figures,
    written: Result<Written, Failure>,
}

/// Writes the report; [`print()`] returns the failure to write it.
pub(crate) fn write(experiment: &ExperimentRecord, out: &Path) -> Report {
    let figures = Figures::of(experiment);
    let written = polypath_report::write(out, experiment, &figures)
        .with_context(|| format!("cannot write the report to {}", out.display()))
        .inspect(|written| report_stale(out, written))
        .map_err(Failure::from);
    Report { figures, written }
}

fn report_stale(out: &Path, written: &Written) {
    let sheets = written.sheets.iter();
    let files = sheets.chain([&written.json, &written.page]);
    let names: Vec<&str> = files
        .filter_map(|file| file.file_name()?.to_str())
        .collect();
    stale_outputs::report_stale(out, &names);
}

/// Prints a report; fails if it could not be written, the run is invalid, or no transfer was
/// completed.
pub(crate) fn print(
    experiment: &ExperimentRecord,
    report: Report,
    format: Format,
) -> Result<(), Failure> {
    let Report { figures, written } = report;
    let figures = &figures;
    match format {
        Format::Table => {
            let table = table::render(experiment, figures);
            let mode = experiment.mode;
            let help = format!("`polypath {mode} --help` explains the columns");
            let page = written
                .as_ref()
                .map(|w| format!("report: {}\n", w.page.display()));
            let page = page.unwrap_or_default();
            output::print(&format!("{table}\n{help}\n{page}"))?;
        }
        Format::Json => {
            let text = json::render(experiment, figures).context("writing the report")?;
            output::print(&text)?;
        }
    }
    Failure::combine(written.map(drop), check(experiment))
}

fn check(experiment: &ExperimentRecord) -> Result<(), Failure> {
    let mut transfers = experiment
        .schemes
        .iter()
        .flat_map(|scheme| &scheme.transfers);
    if transfers.all(|transfer| transfer.duration.is_none()) {
        return Err(Failure::Run(anyhow::anyhow!(
            "no scheme completed a transfer: check the paths, or raise transfer.timeout"
        )));
    }
    match experiment.lateness.filter(|lateness| !lateness.valid()) {
        None => Ok(()),
        Some(lateness) => Err(Failure::Run(anyhow::anyhow!(
            "the run is invalid: the 99th percentile of the emulator's lateness is {}, the bound is {}; \
             use a less loaded machine, or raise lab.lateness_bound",
            lateness.p99,
            lateness.bound
        ))),
    }
}
