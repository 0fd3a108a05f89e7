//! The arguments that `sim` and `lab` share, and the scenario that they name.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use polypath_scenario::Scenario;
use polypath_scenario::document::Override;

use crate::failure::Failure;

/// Which scenario, changed how, reported where.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// The scenario file.
    scenario: PathBuf,
    /// A value that takes the place of the file's, such as background=off or transfer.count=5.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// The root seed, instead of the file's.
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for the report [default: out/NAME-sim or out/NAME-lab].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print on standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What is printed on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    #[default]
    Table,
    /// The same as the report folder's report.json.
    Json,
}

impl Args {
    /// Reads and checks the scenario.
    pub(crate) fn read(&self) -> Result<Scenario, Failure> {
        let name = self.scenario.display().to_string();
        let text = fs::read_to_string(&self.scenario)
            .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
        let mut files = |file: &str| {
            let path = self.scenario.with_file_name(file);
            fs::read_to_string(path).map_err(|error| error.to_string())
        };
        let mut scenario = Scenario::parse_with(&text, &name, &self.overrides, &mut files)
            .map_err(Failure::input)?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        Ok(scenario)
    }

    /// The folder for the report, made now: a run of minutes must not fail at its end for want of it.
    pub(crate) fn out(&self, scenario: &Scenario, face: &str) -> Result<PathBuf, Failure> {
        let default = || Path::new("out").join(format!("{}-{face}", scenario.name));
        let out = self.out.clone().unwrap_or_else(default);
        let probe = out.join(".writable");
        let writable = fs::create_dir_all(&out)
            .and_then(|()| fs::write(&probe, []))
            .and_then(|()| fs::remove_file(&probe));
        match writable {
            Ok(()) => Ok(out),
            Err(error) => Err(Failure::input(format!(
                "cannot write the report to {}: {error}; choose another folder with --out",
                out.display()
            ))),
        }
    }
}
