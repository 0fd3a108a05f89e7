//! Carries a media stream over emulated links by polypath's policies, by UDP, TCP, Multipath TCP,
//! SRT and RIST at the same time, and compares what arrives in time with what the simulator
//! predicts: `make media-race`, or `cargo run --release -p polypath-lab --example media_race --
//! [--seeds N] [--duration TIME] [--out FOLDER] [--format json] FILE ...`, as root.

mod bounds;
#[path = "../common/errors.rs"]
mod errors;
#[path = "../common/output.rs"]
mod output;
mod race;
mod runs;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use polypath_core::time::Duration;
use polypath_lab::{LabError, enter_user_namespace};

use errors::error_chain;
use output::{Format, print};
use race::{Race, RaceError};
use runs::RunFiles;

/// Races polypath's policies against other transports over the paths of each file.
#[derive(Debug, Parser)]
#[command(
    name = "media_race",
    max_term_width = 100,
    after_help = "Exit codes: 0 every policy keeps its bounds; 1 one exceeds a bound, a run was late, or \
                  failed; 2 wrong command line or file; 3 this machine lacks a prerequisite."
)]
struct Args {
    /// The scenario files, with a media stream each.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The number of runs of each file, each with a seed of its own.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// The duration of the stream, in place of the files': "30 s".
    #[arg(long)]
    duration: Option<Duration>,
    /// The folder of the reports, in a folder for each file, and of the finished runs, `runs`: they are
    /// not repeated. Runs of other programs, parameters or seeds stay and do not count.
    #[arg(long, default_value = "out/media-race")]
    out: PathBuf,
    /// Only the carriers whose name contains one of these, for a quick look.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            log(&error_chain(&error));
            ExitCode::from(match error {
                RaceError::Input(_) => 2,
                RaceError::Lab(LabError::Preflight(_)) => 3,
                _ => 1,
            })
        }
    }
}

/// Runs all files; whether all runs count and keep their bounds.
fn run(args: &Args) -> Result<bool, RaceError> {
    // Before the first run, so that a late mistake costs none.
    let races = args.files.iter().map(|file| Race::read(file, args));
    let races = races.collect::<Result<Vec<Race>, _>>()?;
    enter_user_namespace().map_err(LabError::from)?;
    let files = RunFiles::open(&args.out.join("runs")).map_err(RaceError::Runs)?;
    let mut is_good = true;
    let mut reports = Vec::new();
    for race in &races {
        let result = race.run(args, &files, log)?;
        is_good &= result.is_good();
        match args.format {
            Format::Text => print(&result.text).map_err(RaceError::Write)?,
            Format::Json => reports.push(result.json),
        }
    }
    if args.format == Format::Json {
        let all = serde_json::json!({ "version": 1, "races": reports });
        print(&format!("{all:#}\n")).map_err(RaceError::Write)?;
    }
    Ok(is_good)
}

/// Prints a progress line or an error.
fn log(message: &str) {
    output::log("media-race", message);
}
