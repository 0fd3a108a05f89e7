//! The arguments that `sim` and `lab` share, and the scenario that they name.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use clap::ValueEnum;
use polypath_core::time::Duration;
use polypath_document::{Override, grid};
use polypath_live::input;
use polypath_report::legend;
use polypath_scenario::{Experiment, Scenario};

use crate::failure::Failure;

/// Which scenario, changed how, reported where.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// The scenario file.
    pub(crate) scenario: PathBuf,
    /// A value that takes the place of the file's, such as background=off or transfer.count=5; an
    /// entry of a list goes by its name or by its position from 0: path.path2.background=light is
    /// path.1.background=light.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// The root seed, instead of the file's.
    #[arg(long)]
    seed: Option<u64>,
    /// The folder for the report [default: out/NAME-sim or out/NAME-lab].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print on standard output; as JSON the same as the report's report.json, or a sweep's
    /// sweep.json.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// A file that was read and checked.
pub(crate) struct ParsedFile {
    /// Its text.
    pub(crate) text: String,
    /// The contents of the files that it names, by their names in it.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// What was set on the command line.
    pub(crate) overrides: Vec<String>,
    /// Each point of its sweep, never none: what is set there, and what is then described.
    pub(crate) points: Vec<(Vec<Override>, Experiment)>,
}

impl ParsedFile {
    /// Whether the file has a sweep, if only of one point.
    pub(crate) fn is_sweep(&self) -> bool {
        self.points.iter().any(|(set, _)| !set.is_empty())
    }
}

/// What is printed on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    #[default]
    Table,
    /// JSON for programs.
    Json,
}

/// What the columns of the report's tables mean, for the help.
pub(crate) fn columns() -> String {
    format!("The columns of the report:\n{}", legend::lines())
}

impl Args {
    /// Reads and checks the file: every point of its sweep, a single one without a sweep. Runs of
    /// networks end after so many `seconds`.
    pub(crate) fn read(&self, seconds: Option<u32>) -> Result<ParsedFile, Failure> {
        let name = self.scenario.display().to_string();
        let text = input::read_text(&self.scenario)
            .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
        let of_networks = seconds.filter(|_| Experiment::is_network(&text));
        let [end, seed] = self.fixed(of_networks);
        let overrides = [&self.overrides[..], end.as_slice()].concat();
        let fixed = [&overrides[..], seed.as_slice()].concat();
        let mut files = BTreeMap::new();
        let points = self.points((&text, &name), &fixed, of_networks, &mut files)?;
        // A file that is not whole is told that first: what it lacks may be what makes it a
        // network.
        if let Some(n) = seconds.filter(|_| of_networks.is_none()) {
            return Err(Failure::input(format!(
                "--seconds {n} is for networks; {name} has transfers over paths, whose number is transfer.count"
            )));
        }
        let overrides = overrides.iter().map(ToString::to_string).collect();
        Ok(ParsedFile {
            text,
            files,
            overrides,
            points,
        })
    }

    /// Every point of the sweep in a text with its name, beside what is `fixed`; the `files` that
    /// it names are added to those given.
    fn points(
        &self,
        (text, name): (&str, &str),
        fixed: &[Override],
        seconds: Option<u32>,
        files: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<(Vec<Override>, Experiment)>, Failure> {
        let mut read = |file: &str| self.read_named(file, files);
        let mut points = Vec::new();
        for set in grid(text, name, fixed).map_err(Failure::input)? {
            let all = [&self.overrides[..], &set].concat();
            let mut experiment =
                Experiment::parse_with(text, name, &all, &mut read).map_err(Failure::input)?;
            self.fix(&mut experiment, seconds)?;
            points.push((set, experiment));
        }
        Ok(points)
    }

    /// The end of the run and the root seed, where options set them in every point.
    fn fixed(&self, seconds: Option<u32>) -> [Option<Override>; 2] {
        let end =
            seconds.map(|n| Override::from_argument(&until(n), "run.duration", &format!("{n} s")));
        let seed = self.seed.map(|n| {
            let argument = format!("--seed {n}");
            Override::from_argument(&argument, "seed", &n.to_string())
        });
        [end, seed]
    }

    /// Sets what stands in no file: it may be what a file may not have, such as the seed of a
    /// replica, or an end before what the file sets for later.
    fn fix(&self, experiment: &mut Experiment, seconds: Option<u32>) -> Result<(), Failure> {
        if let Some(seed) = self.seed {
            *experiment.seed_mut() = seed;
        }
        match (experiment, seconds) {
            (Experiment::Network(network), Some(n)) => {
                let end = Duration::from_secs(n.into());
                network.end_at(end, &until(n)).map_err(Failure::input)
            }
            _ => Ok(()),
        }
    }

    /// The content of a file that the scenario names; each is read once, so that all points have
    /// the same.
    fn read_named(
        &self,
        file: &str,
        files: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<u8>, String> {
        if let Some(content) = files.get(file) {
            return Ok(content.clone());
        }
        let path = self.scenario.with_file_name(file);
        let content = input::read(&path).map_err(|error| error.to_string())?;
        files.insert(file.to_owned(), content.clone());
        Ok(content)
    }

    /// Reads and checks a file with transfers over paths.
    pub(crate) fn read_transfers(&self) -> Result<Scenario, Failure> {
        let read = self.read(None)?;
        if read.is_sweep() {
            let file = self.scenario.display();
            let remedy = "remove `[sweep]`, and choose one combination with --set";
            return Err(Failure::input(format!(
                "{file} has a sweep, and the lab runs one experiment: {remedy}"
            )));
        }
        match read.points.into_iter().next() {
            Some((_, Experiment::Transfers(scenario))) => Ok(*scenario),
            _ => Err(Failure::input(format!(
                "{} describes flows over a network, and the lab carries transfers over paths: run it with \
                 `polypath sim`, or look at scenarios/demo.toml for a file that the lab can run",
                self.scenario.display()
            ))),
        }
    }

    /// The folder for the report, made now: a run of minutes must not fail at its end for want of
    /// it.
    pub(crate) fn out(&self, name: &str, face: &str) -> Result<OutputFolder, Failure> {
        let default = || Path::new("out").join(format!("{name}-{face}"));
        let out = self.out.clone().unwrap_or_else(default);
        OutputFolder::open(&out).map_err(|error| {
            Failure::input(format!(
                "cannot write the report to {}: {error}; choose another folder with --out",
                out.display()
            ))
        })
    }
}

/// The argument that ends a run.
fn until(seconds: u32) -> String {
    format!("--seconds {seconds}")
}

/// A folder that can be written.
#[derive(Clone, Debug)]
pub(crate) struct OutputFolder {
    path: PathBuf,
    /// It and the folders around it, as far as they were not there before; the innermost first.
    made: Vec<PathBuf>,
}

impl OutputFolder {
    fn open(path: &Path) -> io::Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = path.ancestors().take_while(missing);
        let folder = Self {
            path: path.to_owned(),
            made: made.map(Path::to_owned).collect(),
        };
        let probe = path.join(format!(".writable.{}", process::id()));
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
