//! The `polypath` program: simulate, test in a lab, deploy.
//!
//! Exit codes: 0 success; 1 the run failed, was interrupted, or its result is invalid; 2 the
//! command line, or a file or folder that it names, is wrong; 3 this machine lacks a prerequisite
//! of the command.

mod advise;
mod check;
mod datagrams;
mod failure;
mod init;
mod key;
mod lab;
mod log;
mod manual;
mod media;
mod network;
mod node;
mod number;
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
mod source;
mod stability;
mod stale_outputs;
mod status;
mod stream;
mod sweep;
mod validate;
mod watch;
mod wrap;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use polypath_document::nearest;

/// Carry media over several network paths at once: simulate a scenario, run it in a lab, deploy it.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 success; 1 the run failed, was interrupted, or its result is invalid; 2 the command \
                  line, a file or a folder is wrong; 3 this machine lacks a prerequisite."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate a scenario in virtual time, with simulated links and hosts.
    Sim(sim::Args),
    /// Simulate many senders that choose among the same paths: does their choice oscillate?
    Stability(stability::Args),
    /// Compare the simulator with theory and ns-2; exit code 1 if a difference exceeds its bound.
    Validate(validate::Args),
    /// Reproduce the papers' claims and polypath's own: make the figures, judge each claim, and write
    /// a book of both.
    Reproduce(reproduce::Args),
    /// Run a scenario in real time, with real programs and the kernel's TCP over emulated links.
    Lab(lab::Args),
    /// Run many sources that each choose among the same paths, on real sockets: the test program of
    /// the delay-centric paper.
    #[command(subcommand)]
    Source(source::Command),
    /// Carry a stream at a wanted rate over several TCP connections: its server and its receiver.
    #[command(subcommand)]
    Stream(stream::Command),
    /// Run a program whose TCP connections use several connections, if the other end is wrapped, too.
    Wrap(wrap::Args),
    /// Send the datagrams of a program over one path or several: encrypted, spaced, and repaired where
    /// asked for.
    Send(datagrams::SendArgs),
    /// Receive the datagrams of `polypath send`, and send them to a program.
    Recv(datagrams::RecvArgs),
    /// Run a node, which carries the packets of a TUN device or of UDP ports to its peer over several
    /// paths.
    Node(node::Args),
    /// Run a relay, which forwards packets between two nodes that have no direct path.
    Relay(relay::Args),
    /// Replay a recording of `node --record`; exit code 1 at the first decision that differs.
    Replay(replay::Args),
    /// Show the state of a running node.
    Status(status::Args),
    /// Print the rate for an encoder, as a running node that spaces its packets permits it.
    Advise(advise::Args),
    /// Write the files and keys of two nodes, ready to copy to their machines.
    Init(init::Args),
    /// Check files of any kind as the command that takes them would, and name that command.
    Check(check::Args),
    /// Create the private key of a node or relay, or print its public key.
    Key(key::Args),
    /// Print the JSON schema of a configuration file.
    Schema(schema::Args),
    /// Print the completion script of a shell.
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
        Command::Send(args) => args.shared.log.format(),
        Command::Recv(args) => args.shared.log.format(),
        Command::Node(args) => args.log.format(),
        Command::Relay(args) => args.log.format(),
        Command::Stream(command) => command.log_format(),
        Command::Wrap(args) => args.log.format(),
        _ => log::Format::default(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Sim(args) => sim::run(&args),
        Command::Stability(args) => stability::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Source(command) => source::run(&command),
        Command::Stream(command) => stream::run(&command),
        Command::Wrap(args) => wrap::run(&args),
        Command::Send(args) => datagrams::send(&args),
        Command::Recv(args) => datagrams::recv(&args),
        Command::Node(args) => node::run(&args),
        Command::Relay(args) => relay::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Key(args) => key::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}

/// Adds the nearest command to the error of an unknown one, if clap itself finds none.
fn suggest(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let cli = Cli::command();
        let known = cli.get_subcommands().map(clap::Command::get_name);
        if let Some(command) = nearest(given, known) {
            let suggestion = ContextValue::Strings(vec![command.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, suggestion);
        }
    }
    error
}
