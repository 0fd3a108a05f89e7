//! `polypath stream`: a stream at a wanted rate over several TCP connections.

mod control;
mod get;
mod key;
mod report;
mod serve;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use polypath_live::keys;
use polypath_stream::StreamIdentity;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::log;

pub(crate) use control::{ConnectionArgs, check_rate, controller};

/// The subcommands of `polypath stream`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Serve a file or live media to any number of receivers.
    Serve(serve::Args),
    /// Receive a stream at a wanted rate over several TCP connections.
    Get(get::Args),
    /// Print the public key of this machine's streams, which the other end needs.
    Key(key::Args),
}

impl Command {
    /// The format of the log.
    pub(crate) fn log_format(&self) -> log::Format {
        match self {
            Self::Serve(args) => args.log.format(),
            Self::Get(args) => args.log.format(),
            Self::Key(_) => log::Format::default(),
        }
    }
}

/// Runs a subcommand.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Get(args) => get::run(args),
        Command::Key(args) => key::run(args),
    }
}

/// The identity of a key file, made by `polypath key`.
fn identity(file: &Path) -> Result<StreamIdentity, Failure> {
    let key = keys::load(file).map_err(Failure::input)?;
    StreamIdentity::of(&key).map_err(Failure::input)
}

/// The address and port of a program on the command line.
fn program_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(address),
        Ok(_) => Err(format!("`{text}` has port 0: give that of the program")),
        Err(_) => Err(no_address(text)),
    }
}

/// The address and port of a program's datagrams, with or without `udp://`.
pub(crate) fn datagram_address(text: &str) -> Result<SocketAddr, String> {
    let address = text.strip_prefix("udp://").unwrap_or(text);
    // As in the URLs of ffmpeg and of VLC.
    let address = address.split('?').next().unwrap_or(address);
    program_address(address.strip_prefix('@').unwrap_or(address))
}

/// The address and port to listen at, of which the system chooses the port if it is 0.
fn listening_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| no_address(text))
}

fn no_address(text: &str) -> String {
    format!("`{text}` is no address and port, such as 127.0.0.1:5000 or [2001:db8::1]:5000")
}

/// One thread carries all streams, so that a server uses one core.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("starting the runtime")?)
}

/// Runs to the end of `work`, or to SIGINT or SIGTERM: `None`.
pub(crate) async fn until_signal<T>(work: impl Future<Output = T>) -> io::Result<Option<T>> {
    let interrupted = interruption()?;
    Ok(tokio::select! {
        result = work => Some(result),
        () = interrupted => None,
    })
}

/// Waits for SIGINT or SIGTERM; those from now on count.
fn interruption() -> io::Result<impl Future<Output = ()> + Send> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
