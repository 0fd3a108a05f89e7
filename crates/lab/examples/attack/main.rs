//! Attacks two nodes in namespaces as somebody on their network would, and reports what they notice:
//! `make attack`, or `cargo run --release -p polypath-lab --example attack -- --program PROGRAM`,
//! as root.
//!
//! Each attack runs against the program, against an older one if `--before` names it, and against
//! wireguard-go where that has the part that is attacked. Initiations of strangers are those of the
//! attacked program itself, started with a key that nobody knows: they carry a valid MAC, for which
//! the public key of the target is enough. Exit code 1 if the program misses a bound.

mod attacks;
#[path = "../common/wireguard.rs"]
mod daemon;
mod initiations;
mod inject;
mod middle;
mod probe;
mod reach;
mod report;
mod slow;
mod subject;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use polypath_lab::preflight;

use attacks::Attack;
use report::Report;
use subject::Subject;

/// Attacks two nodes and reports what they notice.
#[derive(Debug, Parser)]
#[command(
    after_help = "Exit codes: 0 the program meets all bounds; 1 it misses one, or the run failed; 2 \
                        the command line is invalid."
)]
struct Args {
    /// The program under attack.
    #[arg(long)]
    program: PathBuf,
    /// An older program, for comparison.
    #[arg(long)]
    before: Option<PathBuf>,
    /// The duration of the floods, in seconds; keys are renewed every 120 s.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Restarts under each flood.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    restarts: u32,
    /// Only the attacks whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    #[default]
    Table,
    Json,
}

/// The programs that are compared.
struct Subjects {
    /// Each with the heading of its column.
    all: Vec<(&'static str, Subject)>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args = Args::parse();
    preflight()?;
    let subjects = Subjects::of(&args);
    let settings = attacks::Settings {
        flood: Duration::from_secs(args.seconds),
        restarts: args.restarts,
    };
    let chosen = |attack: &Attack| attack.name().contains(&args.only);
    let floods: Vec<Attack> = Attack::FLOODS.into_iter().filter(chosen).collect();
    let others: Vec<Attack> = Attack::OTHERS.into_iter().filter(chosen).collect();
    let attacks = [&floods[..], &others[..]].concat();
    if attacks.is_empty() {
        let all = [&Attack::FLOODS[..], &Attack::OTHERS[..]].concat();
        let names: Vec<String> = all.into_iter().map(Attack::name).collect();
        eprintln!(
            "attack: no attack has a name with `{}`; they are:\n{}",
            args.only,
            names.join("\n")
        );
        return Ok(ExitCode::from(2));
    }
    let mut report = Report::new(attacks, &subjects.all, &settings);
    // The floods against all programs run at the same time: they take minutes and little load.
    if !floods.is_empty() {
        eprintln!(
            "attack: {} floods, {} s at the same time",
            floods.len(),
            args.seconds
        );
    }
    report.add_all(attacks::run_floods(&floods, &subjects.all, &settings)?);
    for attack in others {
        for (column, (name, subject)) in subjects.all.iter().enumerate() {
            if let Some(outcome) = attack.run(subject, &settings)? {
                eprintln!("attack: {}, {name}: {outcome}", attack.name());
                report.add(attack, column, outcome);
            }
        }
    }
    match args.format {
        Format::Table => println!("{report}"),
        Format::Json => println!("{}", serde_json::to_string_pretty(&report.json())?),
    }
    Ok(if report.meets_bounds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Subjects {
    fn of(args: &Args) -> Self {
        let mut all = Vec::new();
        if let Some(before) = &args.before {
            all.push(("before", Subject::Polypath(before.clone())));
        }
        all.push((report::JUDGED, Subject::Polypath(args.program.clone())));
        if has_wireguard() {
            all.push(("wireguard-go", Subject::WireguardGo));
        } else {
            eprintln!("attack: skipped: wireguard-go (apt-get install wireguard-go)");
        }
        Self { all }
    }
}

fn has_wireguard() -> bool {
    let mut command = std::process::Command::new("wireguard-go");
    command.arg("--version").output().is_ok()
}
