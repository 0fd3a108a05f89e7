//! `polypath stream get`: the receiver of a stream.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use polypath_core::connections::PlayOutConfig;
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_stream::{
    ReceiveConfig, ReceiveError, ReceiverSecurity, ReceptionReport, Sink, StreamKey, receive_until,
};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::report::{reception_json, reception_line, reception_summary};
use super::{
    ConnectionArgs, check_rate, controller, identity, interruption, program_address, runtime,
};
use crate::failure::{Failure, print_message};
use crate::log;
use crate::number::whole;
use crate::output::check_distinct;
use crate::scenario::Format;

/// The most that is wanted above the rate to refill the player's buffer, in per cent.
const REFILL: u32 = 50;

/// The pause of a player whose buffer is empty.
const PAUSE: Duration = Duration::from_secs(1);
/// The shortest patience.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);
/// The media that a player may have in store.
const BUFFER: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(3600);

/// The time in which one of several addresses of a server has to accept a connection.
const ATTEMPT: std::time::Duration = std::time::Duration::from_secs(2);

/// The interval of lines if standard error is not a terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// Arguments of `polypath stream get`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    /// The address or the name of the server, and its port.
    #[arg(value_name = "HOST:PORT")]
    server: HostPort,
    /// The rate of the media, such as "800 kbit/s" or 5Mbit/s; 1 kbit/s to 2 Gbit/s.
    #[arg(long, allow_negative_numbers = true)]
    rate: Rate,
    #[command(flatten)]
    connections: ConnectionArgs,
    /// Fixed windows of this many packets of 1316 B, which follow no throughput.
    #[arg(long, value_name = "PACKETS", value_parser = whole(1..=100_000_u32), allow_negative_numbers = true)]
    window: Option<u32>,
    /// The media that the player should have in store: while it has less, up to 1.5 times the rate is
    /// wanted, so that what a congestion took comes back. `--rate` then is the mean rate of the media.
    #[arg(long, value_name = "TIME", conflicts_with = "window")]
    buffer: Option<Duration>,
    /// The output: a new file, `-` for standard output, or udp://ADDRESS:PORT of a player.
    #[arg(long, value_name = "FILE|-|udp://", default_value = "-")]
    to: Output,
    /// The private key of this machine, made by `polypath key`.
    #[arg(
        long,
        value_name = "FILE",
        requires = "peer",
        required_unless_present = "insecure"
    )]
    key: Option<PathBuf>,
    /// The key of the server, which it prints at its start.
    #[arg(long, value_name = "KEY", requires = "key")]
    peer: Option<StreamKey>,
    /// Neither encrypt nor authenticate; for loopback addresses only.
    #[arg(long, conflicts_with_all = ["key", "peer"])]
    insecure: bool,
    /// The time for which the server may be unreachable.
    #[arg(long, value_name = "TIME", default_value = "30 s")]
    patience: Duration,
    /// Record all decisions in this file, for `polypath replay`; an existing file is replaced.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The format of the report at the end, on standard error.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// The rules of the receiver, for `--help`.
const RULES: &str = "\
The receiver sets the windows of its connections so that they carry the wanted rate together \
(MultiTCP paper): with N connections by Algorithm 1, with `auto` by Algorithms 2 and 3, with --window by none. A \
connection that ends is replaced, and no byte is lost or doubled. A rate that the path does not carry is not \
reached: the report has the one that was.

Exit codes: 0 the stream is complete; 1 it is not, or a signal ended it; 2 bad input; 3 an address \
cannot be used.";

/// A host, by its address or its name, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPort(String);

impl FromStr for HostPort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_host = |host: &str| !host.is_empty() && (!host.contains(':') || host.ends_with(']'));
        match text.rsplit_once(':') {
            Some((host, port)) if is_host(host) && port.parse::<u16>().is_ok() => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(
                "give a host and a port, such as server.example:7400, 192.0.2.1:7400 or [2001:db8::1]:7400",
            ),
        }
    }
}

impl HostPort {
    /// The first of its addresses that accepts a connection, or just the first.
    async fn resolve(&self) -> Result<SocketAddr, Failure> {
        let Self(name) = self;
        let found = lookup_host(name).await;
        let found = found.map_err(|error| Failure::input(format!("{name}: {error}")))?;
        let addresses: Vec<SocketAddr> = found.collect();
        if let [_, _, ..] = addresses[..] {
            // Such as ::1 and 127.0.0.1 of localhost, of which a server has one.
            for &address in &addresses {
                let attempt = timeout(ATTEMPT, TcpStream::connect(address));
                if attempt.await.is_ok_and(|connected| connected.is_ok()) {
                    return Ok(address);
                }
            }
        }
        let first = addresses.first().copied();
        first.ok_or_else(|| Failure::input(format!("{name}: the host has no address")))
    }
}

/// The output on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Output {
    File(PathBuf),
    Stdout,
    Udp(SocketAddr),
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("udp://") {
            return program_address(rest).map(Self::Udp);
        }
        match text.split_once("://") {
            Some((scheme, _)) => Err(format!(
                "an output is a file, `-` or udp://ADDRESS:PORT, not {scheme}://"
            )),
            None if text == "-" => Ok(Self::Stdout),
            None => Ok(Self::File(text.into())),
        }
    }
}

/// Receives the whole stream, or until a signal.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check(args)?;
    if args.to == Output::Stdout && io::stdout().is_terminal() {
        return Err(Failure::input(
            "the stream would go to the terminal: name an output by --to, or pipe it to a player",
        ));
    }
    // What a signal ends has been reported until then.
    let last = Arc::new(Mutex::new(ReceptionReport::default()));
    let observe = {
        let last = Arc::clone(&last);
        let mut lines = Lines::default();
        // Standard error then has nothing but the report and the log.
        let is_json = args.format == Format::Json;
        move |report: &ReceptionReport| {
            if !is_json {
                lines.show(report);
            }
            last.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(report);
        }
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let mut interrupted = pin!(interruption().context("waiting for signals")?);
        // A name may be looked up for long, and a pipe waits for its reader.
        let setup = async { Ok::<_, Failure>((config(args).await?, sink(&args.to).await?)) };
        let (config, sink) = tokio::select! {
            ready = setup => ready?,
            () = &mut interrupted => return Ok(Err(ReceiveError::Stopped)),
        };
        Ok::<_, Failure>(receive_until(config, sink, interrupted, observe).await)
    });
    runtime.shutdown_background();
    let ended = ended?;
    let report = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // Of a stream that never began there is only the reason.
    if args.format == Format::Json || ended.is_ok() || report.packets > 0 {
        print_report(args.format, &report, ended.as_ref().err());
    }
    ended.map(|_| ()).map_err(failure_of)
}

/// A player that keeps `buffer` in store.
fn player(buffer: Duration) -> PlayOutConfig {
    PlayOutConfig {
        prebuffer: buffer,
        rebuffer: PAUSE,
        refill: REFILL,
    }
}

fn check(args: &Args) -> Result<(), Failure> {
    check_rate(args.rate)?;
    if let Some(buffer) = args.buffer.filter(|buffer| !BUFFER.contains(buffer)) {
        return Err(Failure::input(format!(
            "--buffer {buffer}: use 100 ms to 1 h"
        )));
    }
    let to = match &args.to {
        Output::File(path) => Some(path.clone()),
        Output::Stdout | Output::Udp(_) => None,
    };
    let outputs = [("--record", &args.record), ("--to", &to)];
    let key = args.key.as_deref();
    check_distinct(&outputs, key.as_slice())?;
    if args.patience < SHORTEST_PATIENCE {
        let patience = args.patience;
        return Err(Failure::input(format!(
            "--patience {patience}: use 1 s or more, as a connection takes three round trips to open"
        )));
    }
    Ok(())
}

async fn config(args: &Args) -> Result<ReceiveConfig, Failure> {
    let controller = controller(args.rate, args.connections, args.window)?;
    let security = match (&args.key, args.peer) {
        (Some(key), Some(peer)) => {
            let tls = identity(key)?.client_config(peer);
            ReceiverSecurity::Tls(tls.map_err(Failure::input)?)
        }
        _ => ReceiverSecurity::Insecure,
    };
    Ok(ReceiveConfig {
        server: args.server.resolve().await?,
        security,
        rate: args.rate,
        controller,
        play_out: args.buffer.map(player),
        patience: args.patience,
        record: args.record.clone(),
    })
}

async fn sink(output: &Output) -> Result<Sink, Failure> {
    match output {
        Output::Stdout => Ok(Sink::stdout()),
        Output::File(path) => Sink::create(path).await.map_err(|error| {
            let name = path.display();
            Failure::input(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("{name} exists; choose another name or remove it first")
                }
                io::ErrorKind::IsADirectory => {
                    format!("{name} is a folder: name a new file in it")
                }
                _ => format!("{name}: {error}"),
            })
        }),
        Output::Udp(address) => {
            let sink = Sink::datagrams(*address).await;
            sink.with_context(|| format!("sending to {address}"))
                .map_err(Failure::Machine)
        }
    }
}

/// Lines about a running reception: each second on a terminal, else every ten.
#[derive(Debug)]
struct Lines {
    is_terminal: bool,
    /// The time of the next line since the start: a stream that fails at once has none.
    next: Duration,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
            next: Duration::from_secs(1),
        }
    }
}

impl Lines {
    fn show(&mut self, report: &ReceptionReport) {
        if report.elapsed >= self.next {
            if !self.is_terminal {
                self.next = report.elapsed + INTERVAL;
            }
            print_message(&reception_line(report));
        }
    }
}

fn print_report(format: Format, report: &ReceptionReport, error: Option<&ReceiveError>) {
    match format {
        Format::Table => print_message(&reception_summary(report)),
        Format::Json => {
            let json = reception_json(report, error);
            crate::output::print_to_stderr(&format!("{json:#}\n"));
        }
    }
}

fn failure_of(error: ReceiveError) -> Failure {
    match error {
        ReceiveError::Insecure(_) | ReceiveError::Recording { .. } => Failure::input(error),
        ReceiveError::Entropy(_) => Failure::Machine(error.into()),
        ReceiveError::Unreachable { .. }
        | ReceiveError::Wrong { .. }
        | ReceiveError::Refused { .. }
        | ReceiveError::Stopped
        | ReceiveError::Output { .. } => Failure::Run(error.into()),
    }
}
