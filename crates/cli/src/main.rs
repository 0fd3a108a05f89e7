//! The `polypath` program: simulate, try in a lab, deploy.
//!
//! Exit codes: 0 all went well; 1 the run failed, was interrupted, or its result is invalid; 2 the
//! command line, a file or a folder that it names is wrong; 3 this machine lacks something that the
//! command needs.

mod failure;
mod key;
mod lab;
mod log;
mod manual;
mod network;
mod node;
mod outcome;
mod output;
mod progress;
mod recording;
mod relay;
mod replay;
mod reproduce;
mod scenario;
mod schema;
mod sim;
mod stale_outputs;
mod status;
mod sweep;
mod validate;
mod watch;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use polypath_document::nearest;

/// Media over several paths at once: simulate it, try it in a lab, deploy it, from one file.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 all went well; 1 the run failed, was interrupted or its result is invalid; \
                  2 the command line, a file or a folder is wrong; 3 this machine lacks something needed."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario in virtual time, over simulated links, with simulated TCP.
    Sim(sim::Args),
    /// Hold the simulator against theory and ns-2; exit code 1 where a bound is missed.
    Validate(validate::Args),
    /// Answer the claims of the papers: figures, verdicts, and a book of both.
    Reproduce(reproduce::Args),
    /// Run a scenario in real time, with real programs on the real kernel, over emulated links.
    Lab(lab::Args),
    /// Carry the packets of a TUN device to a peer over every configured path.
    Node(node::Args),
    /// Forward what two nodes send each other, on paths that go by this machine.
    Relay(relay::Args),
    /// Go through a recording of `node --record` again; exit code 1 at the first decision that
    /// differs.
    Replay(replay::Args),
    /// Show how a running node does.
    Status(status::Args),
    /// Make a key pair for a node or a relay, or show its public half.
    Key(key::Args),
    /// Print the JSON schema of a file that polypath reads.
    Schema(schema::Args),
    /// Print the completions of a shell.
    Completions(manual::CompletionsArgs),
    /// Write the manual pages.
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| suggest(error).exit());
    let format = log_format(&cli.command);
    match log::init(format).and_then(|()| run(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            log::log_failure(format, &failure);
            ExitCode::from(failure.code())
        }
    }
}

fn log_format(command: &Command) -> log::Format {
    match command {
        Command::Node(args) => args.log.format(),
        Command::Relay(args) => args.log.format(),
        _ => log::Format::default(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Sim(args) => sim::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Node(args) => node::run(&args),
        Command::Relay(args) => relay::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Key(args) => key::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}

/// Names the command that is nearest to one that does not exist, where clap's own measure finds
/// none.
fn suggest(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let cli = Cli::command();
        let known = cli.get_subcommands().map(clap::Command::get_name);
        if let Some(meant) = nearest(given, known) {
            let meant = ContextValue::Strings(vec![meant.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, meant);
        }
    }
    error
}
