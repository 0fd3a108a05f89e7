//! The arguments that `sim` and `lab` share, and the scenario that they name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use polypath_report::legend;
use polypath_scenario::Scenario;
use polypath_scenario::document::Override;

use crate::failure::Failure;

/// Which scenario, changed how, reported where.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// The scenario file.
    scenario: PathBuf,
    /// A value that takes the place of the file's, such as background=off or transfer.count=5; an entry of a
    /// list goes by its name or by its position from 0: path.path2.background=light is path.1.background=light.
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

/// What the columns of the report's tables mean, for the help.
pub(crate) fn columns() -> String {
    format!("The columns of the report:\n{}", legend::lines())
}

impl Args {
    /// Reads and checks the scenario.
    pub(crate) fn read(&self) -> Result<Scenario, Failure> {
        let name = self.scenario.display().to_string();
        let text = fs::read_to_string(&self.scenario)
            .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
        let mut scenario =
            Scenario::parse(&text, &name, &self.overrides).map_err(Failure::input)?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        Ok(scenario)
    }

    /// The folder for the report, made now: a run of minutes must not fail at its end for want of it.
    pub(crate) fn out(&self, scenario: &Scenario, face: &str) -> Result<Folder, Failure> {
        let default = || Path::new("out").join(format!("{}-{face}", scenario.name));
        let out = self.out.clone().unwrap_or_else(default);
        Folder::open(&out).map_err(|error| {
            Failure::input(format!(
                "cannot write the report to {}: {error}; choose another folder with --out",
                out.display()
            ))
        })
    }
}

/// A folder that can be written.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// It and the folders around it, as far as they were not there before; the innermost first.
    made: Vec<PathBuf>,
}

impl Folder {
    fn open(path: &Path) -> io::Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = path.ancestors().take_while(missing);
        let folder = Self {
            path: path.to_owned(),
            made: made.map(Path::to_owned).collect(),
        };
        let probe = path.join(".writable");
        let writable = fs::create_dir_all(path)
            .and_then(|()| fs::write(&probe, []))
            .and_then(|()| fs::remove_file(&probe));
        if writable.is_err() {
            folder.discard();
        }
        writable.map(|()| folder)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what opening it has made, as far as it is empty.
    pub(crate) fn discard(&self) {
        // What is not empty, or gone, is left as it is.
        self.made
            .iter()
            .all(|folder| fs::remove_dir(folder).is_ok());
    }
}
