//! The scenario arguments of `sim`, `stability` and `lab`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use polypath_core::time::Duration;
use polypath_document::{FileKind, Override, PUBLIC_MODE, WrongKind, create_draft, file, grid};
use polypath_scenario::network::senders::Scale;
use polypath_scenario::{Experiment, MediaScenario, Network, Scenario};

use crate::failure::Failure;
use crate::number::whole;

/// The scenario, its overrides, and the output of the report.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// The folder for the report [default: out/NAME-sim, out/NAME-lab,
    /// out/NAME-stability or out/NAME-source].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The output format; JSON is identical to report.json, or to sweep.json of a sweep.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The scenario and its overrides.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct FileArgs {
    /// The scenario file; `polypath schema` prints the schema of such files.
    pub(crate) scenario: PathBuf,
    /// Override a value of the file, such as background=off or transfer.count=5. An entry of a list
    /// is given by name or by index from 0: path.path2.background=light or path.1.background=light.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Override the root seed of the file.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
}

/// A file that the lab can run.
pub(crate) enum LabExperiment {
    /// Transfers over paths.
    Transfers(Box<Scenario>),
    /// A media stream over paths.
    Media(Box<MediaScenario>),
}

/// A parsed and validated scenario file.
pub(crate) struct ParsedFile {
    /// Its text.
    pub(crate) text: String,
    /// The contents of the files that it refers to, by name.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The overrides of the command line.
    pub(crate) overrides: Vec<String>,
    /// The points of its sweep; a single one without a sweep.
    pub(crate) points: Vec<SweptExperiment>,
}

/// One point of a sweep.
pub(crate) struct SweptExperiment {
    /// The swept values; empty without a sweep.
    pub(crate) set: Vec<Override>,
    /// The experiment with these values.
    pub(crate) experiment: Experiment,
}

impl ParsedFile {
    /// Whether the file has a sweep, even of one point.
    pub(crate) fn is_sweep(&self) -> bool {
        self.points.iter().any(|point| !point.set.is_empty())
    }
}

/// The text and the name of a scenario file.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    name: &'a str,
}

/// The output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text tables.
    #[default]
    Table,
    /// JSON.
    Json,
}

impl FileArgs {
    /// The file without options.
    pub(crate) fn of_file(scenario: PathBuf) -> Self {
        Self {
            scenario,
            overrides: Vec::new(),
            seed: None,
        }
    }

    /// Reads and validates the file with every point of its sweep. Runs of networks end after
    /// `seconds`.
    pub(crate) fn read(&self, seconds: Option<u32>) -> Result<ParsedFile, Failure> {
        let kinds = [FileKind::Transfers, FileKind::Media, FileKind::Network];
        let text = file::read_text(&self.scenario, &kinds).map_err(Failure::input)?;
        self.parse(text, seconds)
    }

    /// Validates the text of the file, like [`Self::read`].
    pub(crate) fn parse(&self, text: String, seconds: Option<u32>) -> Result<ParsedFile, Failure> {
        let name = self.scenario.display().to_string();
        let of_networks = seconds.filter(|_| Experiment::is_network(&text));
        let [end, seed] = self.fixed(of_networks);
        let overrides = [&self.overrides[..], end.as_slice()].concat();
        let fixed = [&overrides[..], seed.as_slice()].concat();
        let mut files = BTreeMap::new();
        let source = Source {
            text: &text,
            name: &name,
        };
        let points = self.points(source, &fixed, of_networks, &mut files)?;
        // After the errors of the file itself: a missing key may be what makes it a network.
        if let Some(n) = seconds.filter(|_| of_networks.is_none()) {
            return Err(not_for_paths(n, &name, &points));
        }
        let overrides = overrides.iter().map(ToString::to_string).collect();
        Ok(ParsedFile {
            text,
            files,
            overrides,
            points,
        })
    }

    /// Parses every point of the sweep, with the `fixed` overrides; adds the files that the
    /// scenario refers to to `files`.
    fn points(
        &self,
        source: Source<'_>,
        fixed: &[Override],
        seconds: Option<u32>,
        files: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<SweptExperiment>, Failure> {
        let Source { text, name } = source;
        let mut read = |file: &str| self.read_named(file, files);
        let mut points = Vec::new();
        for set in grid(text, name, fixed).map_err(Failure::input)? {
            let all = [&self.overrides[..], &set].concat();
            let mut experiment =
                Experiment::parse_with(text, name, &all, &mut read).map_err(Failure::input)?;
            self.fix(&mut experiment, seconds)?;
            points.push(SweptExperiment { set, experiment });
        }
        Ok(points)
    }

    /// The run's duration and the root seed, if options set them for every point.
    fn fixed(&self, seconds: Option<u32>) -> [Option<Override>; 2] {
        let end = seconds.map(|n| {
            Override::from_argument(&seconds_argument(n), "run.duration", &format!("{n} s"))
        });
        let seed = self.seed.map(|n| {
            let argument = format!("--seed {n}");
            Override::from_argument(&argument, "seed", &n.to_string())
        });
        [end, seed]
    }

    /// Applies options that can have values which a file cannot: the seed of a replica, or an end
    /// before events that the file schedules.
    fn fix(&self, experiment: &mut Experiment, seconds: Option<u32>) -> Result<(), Failure> {
        if let Some(seed) = self.seed {
            *experiment.seed_mut() = seed;
        }
        match (experiment, seconds) {
            (Experiment::Network(network), Some(n)) => {
                let end = Duration::from_secs(n.into());
                network
                    .end_at(end, &seconds_argument(n))
                    .map_err(Failure::input)
            }
            _ => Ok(()),
        }
    }

    /// The content of a file that the scenario refers to; read once, so that all points have the
    /// same.
    fn read_named(
        &self,
        file: &str,
        files: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<u8>, String> {
        if let Some(content) = files.get(file) {
            return Ok(content.clone());
        }
        let path = self.scenario.with_file_name(file);
        let content = file::read(&path).map_err(|error| error.to_string())?;
        files.insert(file.to_owned(), content.clone());
        Ok(content)
    }

    /// Reads and validates a file with transfers or a media stream over paths.
    pub(crate) fn read_for_lab(&self) -> Result<LabExperiment, Failure> {
        let read = self.read(None)?;
        if read.is_sweep() {
            let file = self.scenario.display().to_string();
            return Err(sweep_refused(&file, "the lab runs a single experiment"));
        }
        match read.points.into_iter().next().map(|point| point.experiment) {
            Some(Experiment::Transfers(scenario)) => Ok(LabExperiment::Transfers(scenario)),
            Some(Experiment::Media(scenario)) => Ok(LabExperiment::Media(scenario)),
            Some(Experiment::Network(_)) | None => Err(Failure::input(WrongKind {
                file: self.scenario.display().to_string(),
                found: FileKind::Network,
                wanted: vec![FileKind::Transfers, FileKind::Media],
            })),
        }
    }

    /// Reads and validates a file with senders that choose among the same paths, scaled to `scale`.
    /// Runs end after `seconds`.
    pub(crate) fn read_senders(
        &self,
        seconds: Option<u32>,
        scale: Scale,
    ) -> Result<Network, Failure> {
        let kinds = [FileKind::Network];
        let text = file::read_text(&self.scenario, &kinds).map_err(Failure::input)?;
        self.parse_senders(&text, seconds, scale)
    }

    /// Validates the text of such a file.
    pub(crate) fn parse_senders(
        &self,
        text: &str,
        seconds: Option<u32>,
        scale: Scale,
    ) -> Result<Network, Failure> {
        let name = self.scenario.display().to_string();
        if !grid(text, &name, &self.overrides)
            .map_err(Failure::input)?
            .iter()
            .all(Vec::is_empty)
        {
            return Err(sweep_refused(
                &name,
                "the study compares settings by itself",
            ));
        }
        let mut files = BTreeMap::new();
        let mut parse = |overrides: &[Override]| {
            let mut read = |file: &str| self.read_named(file, &mut files);
            Network::parse_senders(text, &name, overrides, &mut read).map_err(Failure::input)
        };
        let network = parse(&self.overrides)?;
        let senders = network.senders().context("a checked network has senders")?;
        let scaled = senders
            .scaled(scale, &scale_argument(scale))
            .map_err(|error| Failure::input(format!("{name}: {error}")))?;
        let network = parse(&[&self.overrides[..], &scaled].concat())?;
        let mut experiment = Experiment::Network(Box::new(network));
        self.fix(&mut experiment, seconds)?;
        match experiment {
            Experiment::Network(network) => Ok(*network),
            Experiment::Transfers(_) | Experiment::Media(_) => unreachable!("it is a network"),
        }
    }
}

impl Args {
    /// Creates the folder for the report before the run, so that a long run does not fail at its
    /// end.
    pub(crate) fn out(&self, name: &str, mode: &str) -> Result<OutputFolder, Failure> {
        let default = || Path::new("out").join(format!("{name}-{mode}"));
        let out = self.out.clone().unwrap_or_else(default);
        OutputFolder::open(&out).map_err(|error| {
            Failure::input(format!(
                "cannot write the report to {}: {error}; choose another folder with --out",
                out.display()
            ))
        })
    }
}

/// The failure of `--seconds` for a file with paths, with the key to set instead.
fn not_for_paths(seconds: u32, name: &str, points: &[SweptExperiment]) -> Failure {
    let is_media = |point: &SweptExperiment| matches!(point.experiment, Experiment::Media(_));
    let (content, key) = if points.iter().any(is_media) {
        ("a media stream", "media.duration")
    } else {
        ("transfers", "transfer.count")
    };
    Failure::input(format!(
        "--seconds {seconds} is for networks; {name} describes {content} over paths: set {key} instead"
    ))
}

/// The failure of a file with a sweep, with the reason.
fn sweep_refused(file: &str, reason: &str) -> Failure {
    let remedy = "remove `[sweep]`, and select one combination with --set";
    Failure::input(format!("{file} has a sweep, but {reason}: {remedy}"))
}

/// The options of a scale as given.
fn scale_argument(scale: Scale) -> String {
    let senders = scale.senders.map(|n| format!("--senders {n}"));
    let utilisation = scale.utilisation.map(|u| format!("--utilisation {u}"));
    let given: Vec<String> = senders.into_iter().chain(utilisation).collect();
    given.join(" ")
}

/// The `--seconds` option as given.
fn seconds_argument(seconds: u32) -> String {
    format!("--seconds {seconds}")
}

/// A writable folder for the report.
#[derive(Clone, Debug)]
pub(crate) struct OutputFolder {
    path: PathBuf,
    /// The folders that opening it has created, the innermost first.
    created: Vec<PathBuf>,
}

impl OutputFolder {
    /// Opens the folder, and creates it if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let created = path.ancestors().take_while(missing);
        let folder = Self {
            path: path.to_owned(),
            created: created.map(Path::to_owned).collect(),
        };
        let writable = fs::create_dir_all(path)
            .and_then(|()| create_draft(&path.join(".writable"), PUBLIC_MODE))
            .and_then(|(probe, _)| fs::remove_file(&probe));
        if writable.is_err() {
            folder.discard();
        }
        writable.map(|()| folder)
    }

    /// The path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folders that opening it has created and that are still empty.
    pub(crate) fn discard(&self) {
        // Folders that are not empty, or gone, are left alone.
        self.created
            .iter()
            .all(|folder| fs::remove_dir(folder).is_ok());
    }
}
