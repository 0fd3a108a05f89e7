//! `polypath validate`: compares the simulator with theory and ns-2.

use std::collections::BTreeSet;

use anyhow::Context;
use polypath_validate::{Case, Scope, ValidateError, cases, json, render, validate};

use crate::failure::Failure;
use crate::number::whole;
use crate::output::print;
use crate::progress::Indicator;
use crate::scenario::Format;
use crate::watch::Interrupts;

/// Arguments of `polypath validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only cases whose names have this prefix, such as ns2/spacing or theory/m-d-1.
    #[arg(long, value_name = "NAME-PREFIX", default_value = "")]
    only: String,
    /// Run the reduced suite of the tests: fewer cases, seeds and seconds with the same bounds.
    #[arg(long)]
    reduced: bool,
    /// The number of concurrent simulations, which does not affect the results [default: the number
    /// of cores].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=1024_u16))]
    jobs: Option<u16>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the cases and prints a row for each check.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scope = if args.reduced {
        Scope::Reduced
    } else {
        Scope::Full
    };
    let selected = select(cases(scope).context("reading the cases")?, &args.only)?;
    let runs: usize = selected.iter().map(|case| case.seeds.len()).sum();
    let mut bar = Indicator::of_steps(runs as u64);
    let interrupts = Interrupts::register().context("installing signal handlers")?;
    let rows = validate(&selected, args.jobs, &mut |done, total| {
        interrupts.exit_if_interrupted(&bar);
        bar.advance("runs", done * runs as u64 / total);
    });
    bar.finish();
    let rows = rows.map_err(|error: ValidateError| Failure::run(error))?;
    print(&match args.format {
        Format::Table => render(&rows),
        Format::Json => json(&rows).context("writing the rows")?,
    })?;
    match rows.iter().filter(|row| !row.holds).count() {
        0 => Ok(()),
        failed => Err(Failure::run(format!(
            "{failed} of {} rows do not hold",
            rows.len()
        ))),
    }
}

/// The cases whose names begin with `only`.
fn select(all: Vec<Case>, only: &str) -> Result<Vec<Case>, Failure> {
    let suites: BTreeSet<String> = all.iter().map(|case| suite(&case.name)).collect();
    let selected: Vec<Case> = all
        .into_iter()
        .filter(|case| case.name.starts_with(only))
        .collect();
    if selected.is_empty() {
        let known = suites.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::input(format!(
            "no case has a name with the prefix `{only}`: the suites are {known}"
        )));
    }
    Ok(selected)
}

/// The suite of a case: the first two parts of its name.
fn suite(name: &str) -> String {
    name.split('/').take(2).collect::<Vec<_>>().join("/")
}
