//! `polypath status`: how a running node does.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::thread::sleep;

use clap::ValueEnum;
use polypath_core::time::Duration;
use polypath_live::config::{ControlAddress, LoadError};
use polypath_live::control::{self, AskError};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{print, try_print};

mod table;

/// Least time between two questions.
const LEAST_INTERVAL: Duration = Duration::from_millis(50);

/// Arguments of `polypath status`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the node has answered; 1 it does not answer, or has ended (--watch); 2 the command line \
                  is wrong, names no socket, no node where there are several, or a file that cannot be read, is a \
                  relay's or has control = \"off\"."
)]
pub(crate) struct Args {
    /// The name of the node's TUN device, its control socket, or its file (`.toml`); the only
    /// running node if none is named.
    node: Option<String>,
    /// A table for reading, or JSON: one document, a line each time with --watch.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Ask again and again, until interrupted or until the node has ended.
    #[arg(long)]
    watch: bool,
    /// How long to wait between two questions of --watch: "1s", "250ms".
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "watch", value_parser = interval)]
    interval: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// Prints the state of a node.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let socket = find(args.node.as_deref(), &control::directories())?;
    if !args.watch {
        return print(&text(args, &ask(&socket)?));
    }
    loop {
        let state = text(args, &ask(&socket)?);
        let state = match args.format {
            // From the top left, without what was there before.
            Format::Table if io::stdout().is_terminal() => format!("\x1b[H\x1b[J{state}"),
            Format::Table => format!("{state}\n"),
            Format::Json => state,
        };
        if !try_print(&state)? {
            return Ok(());
        }
        sleep(std::time::Duration::from_nanos(args.interval.as_nanos()));
    }
}

/// Longer than nothing, so that a node is not asked without a pause.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = text
        .parse::<Duration>()
        .map_err(|error| error.to_string())?;
    if interval < LEAST_INTERVAL {
        return Err(format!("wait at least {LEAST_INTERVAL}"));
    }
    Ok(interval)
}

fn ask(socket: &Path) -> Result<Value, Failure> {
    control::status(socket).map_err(|error| match error {
        AskError::NoSocket(_) => Failure::input(error),
        error => Failure::run(error),
    })
}

fn text(args: &Args, state: &Value) -> String {
    match args.format {
        Format::Table => table::render(state),
        Format::Json if args.watch => format!("{state}\n"),
        Format::Json => format!("{state:#}\n"),
    }
}

/// The socket of the node that is meant.
fn find(node: Option<&str>, directories: &[PathBuf]) -> Result<PathBuf, Failure> {
    let Some(node) = node else {
        return only(&control::sockets(directories), directories);
    };
    let path = Path::new(node);
    let ends_in = |ending: &str| {
        path.extension()
            .is_some_and(|extension| extension == ending)
    };
    if ends_in("toml") {
        return of_file(path, directories);
    }
    if node.contains('/') || ends_in("sock") {
        return Ok(node.into());
    }
    if path.is_file() {
        return Err(Failure::input(format!(
            "{node}: this is a file; if it is a node's, give it a name that ends in .toml, or name the node's TUN \
             device (`name` in its `[node.tun]`), or its control socket"
        )));
    }
    Ok(of_device(node, directories))
}

/// The socket of the node that has this file.
fn of_file(file: &Path, directories: &[PathBuf]) -> Result<PathBuf, Failure> {
    let refusal = |why: &str| Err(Failure::input(format!("{}: {why}", file.display())));
    match ControlAddress::read(file) {
        Ok(ControlAddress::Socket(socket)) => Ok(socket),
        Ok(ControlAddress::Device(device)) => Ok(of_device(&device, directories)),
        Ok(ControlAddress::Off) => {
            refusal("this node cannot be asked: its file has control = \"off\"")
        }
        Err(LoadError::OfAnother { .. }) => refusal(
            "this is the file of a relay, which cannot be asked; `polypath relay --stats FILE` writes how it does",
        ),
        Err(error) => Err(Failure::input(error)),
    }
}

/// The socket that the node of this TUN device has by itself.
fn of_device(device: &str, directories: &[PathBuf]) -> PathBuf {
    let name = format!("{device}.sock");
    let mut candidates = directories.iter().map(|directory| directory.join(&name));
    let found = candidates.clone().find(|path| path.exists());
    let first = || candidates.next().unwrap_or_else(|| name.clone().into());
    found.unwrap_or_else(first)
}

/// The only socket at which a node answers, or the one that a node has left.
fn only(sockets: &[PathBuf], directories: &[PathBuf]) -> Result<PathBuf, Failure> {
    let answered = sockets.iter().filter(|socket| control::is_answered(socket));
    let answered: Vec<&PathBuf> = answered.collect();
    match (&answered[..], sockets) {
        ([socket], _) => Ok((*socket).clone()),
        // That its node has ended is told when it is asked.
        ([], [socket]) => Ok(socket.clone()),
        ([], _) => Err(Failure::run(none(sockets, directories))),
        (several, _) => {
            let mut message = "there are several nodes; name one of them:".to_owned();
            for socket in several {
                // Writing to a string cannot fail.
                let _ = write!(message, "\n  polypath status {}", socket.display());
            }
            Err(Failure::input(message))
        }
    }
}

/// Why no node is there to be asked, as far as it can be seen.
fn none(sockets: &[PathBuf], directories: &[PathBuf]) -> String {
    if let Some(first) = sockets.first() {
        return format!(
            "no node runs: those that had {} and {} more have ended; start one with `polypath node FILE`",
            first.display(),
            sockets.len() - 1
        );
    }
    let refused = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let mut closed = directories.iter();
    if let Some(closed) = closed.find(|directory| fs::read_dir(directory).is_err_and(refused)) {
        let closed = closed.display();
        return format!(
            "you may not look for nodes in {closed}; run it with sudo, or become a member of its group"
        );
    }
    let looked = directories.iter().map(|d| d.display().to_string());
    let looked: Vec<String> = looked.collect();
    format!(
        "there is no control socket in {}; is the node running? Start it with `polypath node FILE`, or give the \
         socket that its file names: `polypath status SOCKET`",
        looked.join(" or ")
    )
}
