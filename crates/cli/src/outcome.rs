//! What `sim` and `lab` leave behind: the report's folder, and a table or JSON on standard output.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use polypath_report::{Experiment, Figures, table};

use crate::failure::Failure;
use crate::scenario::Format;

/// Writes the report and prints it; fails where the run is invalid, or no transfer came to its end.
pub(crate) fn report(experiment: &Experiment, out: &Path, format: Format) -> Result<(), Failure> {
    let figures = Figures::of(experiment);
    let written = polypath_report::write(out, experiment, &figures)
        .with_context(|| format!("cannot write the report to {}", out.display()))?;
    print(&match format {
        Format::Table => {
            let table = table::render(experiment, &figures);
            let page = written.page.display();
            format!(
                "{table}\nreport: {page} (`polypath {} --help` says what each column means)\n",
                experiment.mode
            )
        }
        Format::Json => written.text,
    })?;
    judge(experiment)
}

/// Prints to standard output; a reader that has gone away has seen enough.
fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(anyhow::Error::from(error)
            .context("cannot print the report")
            .into()),
        _ => Ok(()),
    }
}

fn judge(experiment: &Experiment) -> Result<(), Failure> {
    let mut transfers = experiment
        .schemes
        .iter()
        .flat_map(|scheme| &scheme.transfers);
    if transfers.all(|transfer| transfer.duration.is_none()) {
        return Err(Failure::Run(anyhow::anyhow!(
            "no transfer of any scheme came to its end: look at the paths, or raise transfer.timeout"
        )));
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
