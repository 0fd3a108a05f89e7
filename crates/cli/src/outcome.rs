//! What `sim` and `lab` leave behind: the report's folder, and a table or JSON on standard output.

use std::path::Path;

use anyhow::Context;
use polypath_report::{Experiment, Figures};

use crate::failure::Failure;
use crate::scenario::Format;

/// Writes the report and prints it; fails where the run is invalid.
pub(crate) fn report(experiment: &Experiment, out: &Path, format: Format) -> Result<(), Failure> {
    let written = polypath_report::write(out, experiment)
        .with_context(|| format!("cannot write the report to {}", out.display()))?;
    let figures = Figures::of(experiment);
    match format {
        Format::Table => {
            print!("{}", polypath_report::table::render(experiment, &figures));
            println!("\nreport: {}", written.page.display());
        }
        Format::Json => {
            let json = polypath_report::json::render(experiment, &figures);
            print!("{}", json.context("writing the report as JSON")?);
        }
    }
    match experiment.lateness.filter(|lateness| !lateness.valid()) {
        None => Ok(()),
        Some(lateness) => Err(Failure::Run(anyhow::anyhow!(
            "the run is invalid: the emulator was {} late at the 99th percentile, the bound is {}; \
             give it a quieter machine, or raise lab.lateness_bound",
            lateness.p99,
            lateness.bound
        ))),
    }
}
