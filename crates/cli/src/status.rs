//! `polypath status`: the state of a running node.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::thread::sleep;

use clap::ValueEnum;
use polypath_core::time::Duration;
use polypath_document::file::FileError;
use polypath_document::{FileKind, WrongKind, shell_word};
use polypath_live::config::{ControlAddress, LoadError};
use polypath_live::control::{self, StatusError};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{print, try_print};

mod arrivals;
mod congestion;
mod measured;
mod policy;
mod spacing;
mod table;
mod traffic;

/// The minimum of `--interval`.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Arguments of `polypath status`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Loss is the share of heartbeats that are lost in either direction: the heartbeat or its answer. RTT and jitter \
                  are over both directions, too.\n\n\
                  Exit codes: 0 the node has replied; 1 it does not reply, or has exited (--watch); 2 the command line is \
                  wrong: it names something that is not a socket, no node although several run, or a file that \
                  cannot be read, is a relay's, or has control = \"off\"."
)]
pub(crate) struct Args {
    /// The node: its TUN device (or `udp` and its first UDP port), control socket or configuration file (`.toml`) [default: the only
    /// one with a socket in `/run/polypath` or `$XDG_RUNTIME_DIR/polypath`].
    node: Option<String>,
    /// The output format: tables, or a JSON document (one per line with --watch).
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Repeat until interrupted or until the node exits.
    #[arg(long)]
    watch: bool,
    /// The interval of --watch, such as "1s" or "250ms".
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
    let socket = find_socket(args.node.as_deref(), &control::directories())?;
    if !args.watch {
        return print(&text(args, &request_status(&socket)?));
    }
    loop {
        let state = text(args, &request_status(&socket)?);
        let state = match args.format {
            // Clears the terminal.
            Format::Table if io::stdout().is_terminal() => format!("\x1b[H\x1b[J{state}"),
            Format::Table => format!("{state}\n"),
            Format::Json => state,
        };
        if !try_print(&state)? {
            return Ok(());
        }
        sleep(args.interval.into());
    }
}

/// Parses `--interval`; at least [`MIN_INTERVAL`], so that the node is not polled without a pause.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = text
        .parse::<Duration>()
        .map_err(|error| error.to_string())?;
    if interval < MIN_INTERVAL {
        return Err(format!("the minimum is {MIN_INTERVAL}"));
    }
    Ok(interval)
}

pub(crate) fn request_status(socket: &Path) -> Result<Value, Failure> {
    control::status(socket).map_err(|error| match error {
        StatusError::NoSocket(_) => Failure::input(error),
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

/// The control socket of the selected node.
pub(crate) fn find_socket(node: Option<&str>, directories: &[PathBuf]) -> Result<PathBuf, Failure> {
    let Some(node) = node else {
        return only(&control::sockets(directories), directories);
    };
    let path = Path::new(node);
    let ends_in = |ending: &str| {
        path.extension()
            .is_some_and(|extension| extension == ending)
    };
    if ends_in("toml") {
        return socket_of_file(path, directories);
    }
    if node.contains('/') || ends_in("sock") {
        return Ok(node.into());
    }
    if path.is_file() {
        return Err(Failure::input(format!(
            "{node} is a file: if it is a node's configuration, its name must end in .toml; otherwise give the node's \
             TUN device (`name` in its `[node.tun]`), `udp` and its first UDP port, or its control socket"
        )));
    }
    Ok(socket_of_device(node, directories))
}

/// The control socket of the node with this configuration file.
fn socket_of_file(file: &Path, directories: &[PathBuf]) -> Result<PathBuf, Failure> {
    let refuse = |reason: &str| Err(Failure::input(format!("{}: {reason}", file.display())));
    match ControlAddress::read(file) {
        Ok(ControlAddress::Socket(socket)) => Ok(socket),
        Ok(ControlAddress::Device(device)) => Ok(socket_of_device(&device, directories)),
        Ok(ControlAddress::Off) => {
            refuse("this node has no control socket: its file has control = \"off\"")
        }
        Err(LoadError::File(FileError::WrongKind(WrongKind {
            found: FileKind::Relay,
            ..
        }))) => refuse(
            "this is the file of a relay, which has no control socket; use `polypath relay --stats FILE`",
        ),
        Err(error) => Err(Failure::input(error)),
    }
}

/// The default control socket of the node with this TUN device.
fn socket_of_device(device: &str, directories: &[PathBuf]) -> PathBuf {
    let name = format!("{device}.sock");
    let mut candidates = directories.iter().map(|directory| directory.join(&name));
    let found = candidates.clone().find(|path| path.exists());
    let first = || candidates.next().unwrap_or_else(|| name.clone().into());
    found.unwrap_or_else(first)
}

/// The only control socket with a running node, or else the only socket.
fn only(sockets: &[PathBuf], directories: &[PathBuf]) -> Result<PathBuf, Failure> {
    let running = sockets.iter().filter(|socket| control::is_answered(socket));
    let running: Vec<&PathBuf> = running.collect();
    match (&running[..], sockets) {
        ([socket], _) => Ok((*socket).clone()),
        // The request to it fails and reports that its node has exited.
        ([], [socket]) => Ok(socket.clone()),
        ([], _) => Err(Failure::run(no_node(sockets, directories))),
        (several, _) => {
            let mut message = "several nodes are running; choose one:".to_owned();
            for socket in several {
                // Writing to a string cannot fail.
                let _ = write!(
                    message,
                    "\n  polypath status {}",
                    shell_word(&socket.display().to_string())
                );
            }
            Err(Failure::input(message))
        }
    }
}

/// The message if no node is running.
fn no_node(sockets: &[PathBuf], directories: &[PathBuf]) -> String {
    if let Some(first) = sockets.first() {
        return format!(
            "no node is running: those with the sockets {} and {} more have exited; start one with `polypath node FILE`",
            first.display(),
            sockets.len() - 1
        );
    }
    let is_denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let mut closed = directories.iter();
    if let Some(closed) = closed.find(|directory| fs::read_dir(directory).is_err_and(is_denied)) {
        let closed = closed.display();
        return format!(
            "permission denied for {closed}, the directory of control sockets; use sudo, or join its group"
        );
    }
    let searched = directories.iter().map(|d| d.display().to_string());
    let searched: Vec<String> = searched.collect();
    format!(
        "there is no control socket in {}: start the node with `polypath node FILE`, or give the socket of its \
         configuration file: `polypath status SOCKET`",
        searched.join(" or ")
    )
}
