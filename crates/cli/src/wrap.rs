//! `polypath wrap`: an unmodified program whose TCP connections use several connections.

mod control;
mod library;

use std::ffi::OsString;
use std::net::{Ipv6Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use polypath_core::units::Rate;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::log;
use crate::stream::{ConnectionArgs, check_rate, controller, runtime, until_signal};
use control::{Control, Wrapping};
use library::LoadMarker;

/// The port at which wrapped servers answer wrapped clients.
const PORT: u16 = 7420;

/// The time in which a program that runs loads the library.
const LOADED_WITHIN: Duration = Duration::from_secs(2);

/// Arguments of `polypath wrap`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    /// The rate at which this end wants to receive, such as "5 Mbit/s"; 1 kbit/s to 2 Gbit/s.
    #[arg(long, allow_negative_numbers = true)]
    rate: Rate,
    #[command(flatten)]
    connections: ConnectionArgs,
    /// The port at which a wrapped server answers, the same at both ends.
    #[arg(long, default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// The address at which a wrapped server answers.
    #[arg(long, default_value_t = Ipv6Addr::UNSPECIFIED.into())]
    listen: std::net::IpAddr,
    /// The program and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// The rules of wrapping, for `--help`.
const RULES: &str = "\
Wrap a client and a server, and what the client receives comes over several TCP connections at the \
wanted rate. Before each of its connections the client's end asks the port of --port at the destination: \
if nobody answers within 1 s, the program connects as it would by itself. What the client sends uses \
one connection. The server sees clients at the address of its own that they used. The bytes are those \
of the programs: what they do not encrypt is not encrypted.

Threads, non-blocking sockets, epoll, sendfile, fork and TLS work as before, since the sockets of the \
program are those of the kernel. A program that is linked statically, or that has more rights than its \
user, does not load the library, and connects as it would by itself, with a warning.

Exit codes: that of the program, 128 and its number after a signal; 2 bad input; 3 the machine lacks \
something, such as the library beside this program.";

/// Runs the program to its end, and ends with its exit code.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check_rate(args.rate)?;
    let controller = controller(args.rate, args.connections, None)?;
    let library = library::find()?;
    let folder = tempfile::tempdir().context("making a private folder")?;
    let socket = folder.path().join("control");
    let marker = LoadMarker::beside(&socket).context("writing to a private folder")?;
    let (name, arguments) = args
        .program
        .split_first()
        .context("clap requires a program")?;
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env("LD_PRELOAD", library::preload(&library))
        .env("POLYPATH_WRAP", &socket)
        .stdin(Stdio::inherit())
        .kill_on_drop(true);
    let wrapping = Wrapping {
        rate: args.rate,
        controller,
        answers: SocketAddr::new(args.listen, args.port),
    };
    let runtime = runtime()?;
    let status = runtime.block_on(async {
        let control = Control::listen(&socket, wrapping).context("listening for the program")?;
        let signals = Signals::listen().context("waiting for signals")?;
        let child = command
            .spawn()
            .map_err(|error| Failure::input(format!("{}: {error}", name.to_string_lossy())))?;
        let ended = tokio::select! {
            status = wait_with_warning(child, signals, &marker) => status,
            () = control.serve() => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        let waited = |error| Failure::run(format!("waiting for the program: {error}"));
        let status = ended.map_err(waited)?;
        // Its last bytes may be on their way; a signal ends that, too.
        until_signal(control.drain())
            .await
            .context("waiting for signals")?;
        Ok::<_, Failure>(status)
    })?;
    runtime.shutdown_background();
    drop(folder);
    if status.success() {
        return Ok(());
    }
    std::process::exit(exit_code(status));
}

/// The signals that this process does not end by. They are caught from before the program starts:
/// one that comes as soon as it runs would otherwise end this process and leave the program.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }
}

/// Waits for the program, and warns once if it does not load the library.
async fn wait_with_warning(
    child: Child,
    signals: Signals,
    marker: &LoadMarker,
) -> std::io::Result<ExitStatus> {
    let mut waiting = pin!(wait(child, signals));
    let ended = tokio::time::timeout(LOADED_WITHIN, &mut waiting).await;
    marker.warn();
    match ended {
        Ok(status) => status,
        Err(_) => waiting.await,
    }
}

/// Waits for the program, and passes SIGTERM on; the terminal sends SIGINT to both.
async fn wait(mut child: Child, mut signals: Signals) -> std::io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = child.wait() => return status,
            _ = signals.terminate.recv() => terminate_child(&child),
            _ = signals.interrupt.recv() => {}
        }
    }
}

fn terminate_child(child: &Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid {
        // It fails if the program has just ended.
        let _ = nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid),
            nix::sys::signal::Signal::SIGTERM,
        );
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    let of_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(of_signal).unwrap_or(1)
}
