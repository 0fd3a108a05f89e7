//! `polypath check`: validates files of any kind as the commands that take them do.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::Context;
use polypath_core::rng::Seed;
use polypath_document::file::InputFile;
use polypath_document::{FileKind, check_syntax, shell_word};
use polypath_live::config::NodeConfig;
use polypath_live::config::relay::RelayFile;
use polypath_live::keys::{self, KeyError};
use polypath_live::recording::{self, Reader, RecordingError, RecordingHeader};
use polypath_scenario::network::senders::Scale;
use polypath_scenario::{Experiment, check_trace};
use polypath_sim::network::{NoPayload, build, build_graph};
use serde_json::{Value, json};

use crate::failure::{Failure, without_controls};
use crate::output::print;
use crate::reproduce::check_ledger;
use crate::scenario::{self, Format};
use crate::source::check_sources;

/// Arguments of `polypath check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every file is valid; 2 a file is invalid, cannot be read, or is of no kind that a command \
                  takes."
)]
pub(crate) struct Args {
    /// Scenarios, networks, files of nodes and relays, ledgers, recordings, keys and traces; `-` is
    /// standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The output format: a line per file followed by its problems, or a JSON document.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The result of checking a file.
struct CheckedFile {
    name: String,
    kind: Option<FileKind>,
    /// The use of a valid file, or its problems.
    result: Result<Usage, String>,
}

/// The use of a valid file.
struct Usage {
    /// The commands that take it, with its name.
    commands: Vec<String>,
    /// The rest of the line in the table.
    text: String,
}

/// Checks the files and prints a line for each.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let checked: Vec<CheckedFile> = args.files.iter().map(|path| check(path)).collect();
    print(&match args.format {
        Format::Table => checked.iter().map(CheckedFile::lines).collect(),
        Format::Json => {
            let files: Vec<Value> = checked.iter().map(CheckedFile::json).collect();
            let text = serde_json::to_string_pretty(&files).context("writing the result")?;
            text + "\n"
        }
    })?;
    let invalid = checked.iter().filter(|file| file.result.is_err()).count();
    match invalid {
        0 => Ok(()),
        1 if checked.len() == 1 => Err(Failure::input("the file is invalid")),
        _ => {
            let all = checked.len();
            Err(Failure::input(format!(
                "{invalid} of {all} files are invalid"
            )))
        }
    }
}

impl CheckedFile {
    fn lines(&self) -> String {
        let kind = self.kind.map_or("unknown kind", FileKind::name);
        let text = match &self.result {
            Ok(usage) => format!("{}: {kind}: valid; {}\n", self.name, usage.text),
            Err(problems) => format!("{}: {kind}: invalid\n{problems}\n", self.name),
        };
        without_controls(&text)
    }

    fn json(&self) -> Value {
        let (commands, problems) = match &self.result {
            Ok(usage) => (&usage.commands[..], Vec::new()),
            Err(problems) => (&[][..], problems.lines().collect()),
        };
        json!({
            "file": self.name,
            "kind": self.kind.map(FileKind::id),
            "valid": self.result.is_ok(),
            "commands": commands,
            "problems": problems,
        })
    }
}

fn check(path: &Path) -> CheckedFile {
    let name = path.display().to_string();
    let checked = |kind, result| CheckedFile {
        name: name.clone(),
        kind,
        result,
    };
    let file = match InputFile::read(path) {
        Ok(file) => file,
        Err(error) => return checked(None, Err(error.to_string())),
    };
    match file.kinds()[..] {
        [kind] => checked(Some(kind), check_as(kind, path, file)),
        // Reading a scenario reports the lines of the keys that exclude each other.
        [first, ..] if file.kinds().into_iter().all(is_scenario) => {
            checked(Some(first), check_as(first, path, file))
        }
        [] => checked(None, Err(unknown(&name, &file))),
        [first, second, ..] => {
            let reason = format!(
                "{name} has keys of {} and of {}: remove those of one",
                first.name(),
                second.name()
            );
            checked(None, Err(reason))
        }
    }
}

/// Whether `polypath sim` reads files of this kind.
fn is_scenario(kind: FileKind) -> bool {
    kind.commands().first() == Some(&"polypath sim")
}

/// The message about a file without characteristic content.
fn unknown(name: &str, file: &InputFile) -> String {
    let Some(bytes) = file.bytes() else {
        return format!(
            "{name} is too long for a text file, and is neither a recording nor a packet capture; name another file"
        );
    };
    if bytes.trim_ascii().is_empty() {
        return format!("{name} is empty; `polypath init` writes the files of two nodes");
    }
    if bytes.contains(&0) {
        return format!(
            "{name} is binary or not UTF-8 text, and is no packet capture; save text in this encoding"
        );
    }
    let text = String::from_utf8_lossy(bytes);
    let is_assignment = |line: &str| line.contains('=') || line.trim_start().starts_with('[');
    if text.lines().any(is_assignment)
        && let Err(errors) = check_syntax(&text, name)
    {
        return errors.to_string();
    }
    format!(
        "{name} has no key of a scenario, network, node, relay or ledger, and is no recording, key or trace; \
         `polypath schema --help` lists the kinds, and `polypath schema KIND` prints their keys"
    )
}

/// Validates a file of this kind like the commands that take it.
fn check_as(kind: FileKind, path: &Path, file: InputFile) -> Result<Usage, String> {
    let name = path.display().to_string();
    let mut commands = kind.commands().to_vec();
    let mut option = "";
    match kind {
        FileKind::Recording => check_recording(path, &file)?,
        FileKind::Key => check_key(path, &file, keys::load, keys::parse)?,
        FileKind::PresharedKey => {
            check_key(path, &file, keys::load_preshared, keys::parse_preshared)?;
        }
        FileKind::Capture | FileKind::Json | FileKind::Html | FileKind::Csv => {
            return Err(format!("no command reads {name}; {}", kind.remedy(&name)));
        }
        _ => {
            let text = file.into_text(&[kind]).map_err(|error| error.to_string())?;
            match kind {
                FileKind::Node if check_node(path, &text)? => option = " --state FILE",
                FileKind::Node => {}
                FileKind::Relay => check_relay(path, &text)?,
                FileKind::Claims => check_ledger(&text, &name).map_err(|error| error.message())?,
                FileKind::Trace => check_trace(&name, &text)?,
                _ => commands = check_scenario(path, &text)?,
            }
        }
    }
    let word = shell_word(&name);
    let commands = commands.iter().map(|command| format!("{command} {word}"));
    let mut commands: Vec<String> = commands.collect();
    if let Some(first) = commands.first_mut() {
        first.push_str(option);
    }
    let others = commands.iter().skip(1);
    let others = others.map(|command| format!(", or {command}"));
    let text = kind.remedy(&name) + option + &others.collect::<String>();
    Ok(Usage { commands, text })
}

/// Parses a scenario and builds what `polypath sim` runs, for every point of a sweep; returns the
/// commands that take it.
fn check_scenario(path: &Path, text: &str) -> Result<Vec<&'static str>, String> {
    let arguments = scenario::FileArgs::of_file(path.to_owned());
    let file = arguments
        .parse(text.to_owned(), None)
        .map_err(|error| error.message())?;
    for point in &file.points {
        let seed = Seed(point.experiment.seed());
        let built = match &point.experiment {
            Experiment::Transfers(scenario) => build::<NoPayload>(&**scenario, seed).map(drop),
            Experiment::Media(scenario) => build::<NoPayload>(&**scenario, seed).map(drop),
            Experiment::Network(network) => build_graph(network, seed).map(drop),
        };
        built.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut commands = vec!["polypath sim"];
    match &file.points[0].experiment {
        Experiment::Network(_) => {
            let senders = arguments.parse_senders(text, None, Scale::default());
            if let Ok(network) = senders {
                commands.push("polypath stability");
                let on_sockets = check_sources(&network).map(|()| "polypath source lab");
                commands.extend(on_sockets);
            }
        }
        Experiment::Transfers(_) | Experiment::Media(_) if !file.is_sweep() => {
            commands.push("polypath lab");
        }
        Experiment::Transfers(_) | Experiment::Media(_) => {}
    }
    Ok(commands)
}

/// Checks a node's file and its keys; returns whether a path has a quota, with which the node needs a
/// state file.
fn check_node(path: &Path, text: &str) -> Result<bool, String> {
    let config = NodeConfig::of_file(path, text).map_err(|error| error.to_string())?;
    check_key_of(path, "node.key_file", keys::load(&config.node.key_file))?;
    if let Some(file) = &config.peer.preshared_key_file {
        check_key_of(path, "peer.preshared_key_file", keys::load_preshared(file))?;
    }
    Ok(config.paths.iter().any(|path| path.tariff.quota.is_some()))
}

fn check_relay(path: &Path, text: &str) -> Result<(), String> {
    let file = RelayFile::of_file(path, text).map_err(|error| error.to_string())?;
    check_key_of(path, "relay.key_file", keys::load(&file.relay.key_file))
}

/// Reports an error in the key file that the `key` of a file names.
fn check_key_of<K>(path: &Path, key: &str, loaded: Result<K, KeyError>) -> Result<(), String> {
    let path = path.display();
    let loaded = loaded.map(drop);
    loaded.map_err(|error| format!("{path}: `{key}`: {error}"))
}

fn check_key<K>(
    path: &Path,
    file: &InputFile,
    load: fn(&Path) -> Result<K, KeyError>,
    parse: fn(&Path, &[u8]) -> Result<K, KeyError>,
) -> Result<(), String> {
    let key = if path.is_file() {
        load(path)
    } else {
        // A descriptor that was read already.
        parse(path, file.bytes().unwrap_or_default())
    };
    key.map(drop).map_err(|error| error.to_string())
}

/// Reads all lines of a recording; whether a replay takes the same decisions is for `replay`.
fn check_recording(path: &Path, file: &InputFile) -> Result<(), String> {
    let name = path.display();
    let read = match file.bytes() {
        Some(bytes) => read_lines(Reader::new(bytes)),
        None if path.is_file() => read_lines(Reader::open(path)),
        None => Err("it is too long for standard input; name the file".to_owned()),
    };
    read.map_err(|error| format!("{name}: {error}"))
}

fn read_lines<R: BufRead>(
    opened: Result<(RecordingHeader, Reader<R>), RecordingError>,
) -> Result<(), String> {
    let (header, mut reader) = opened.map_err(|error| error.to_string())?;
    let read = recording::check(&header, &mut reader);
    read.map_err(|error| error.to_string())
}
