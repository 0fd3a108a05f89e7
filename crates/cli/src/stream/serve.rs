//! `polypath stream serve`: the server of a stream.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use polypath_core::units::{Bytes, Rate};
use polypath_stream::{
    Admission, FileSource, LiveSource, Server, ServerConfig, ServerCounters, ServerError,
    ServerSecurity, Source, StreamKey,
};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::report::{server_json, server_line};
use super::{identity, listening_address, program_address, runtime, until_signal};
use crate::failure::{Failure, print_message};
use crate::log;
use crate::number::whole;
use crate::output::print;
use crate::scenario::Format;

/// The interval of lines about the receivers.
const INTERVAL: Duration = Duration::from_secs(10);
/// The time that receivers have for the rest of a live source that has ended.
const REST: Duration = Duration::from_mins(1);
/// The time that connections then have for what is queued.
const FLUSH: Duration = Duration::from_secs(5);
/// The time for the reason of an end.
const LAST: Duration = Duration::from_secs(1);
/// The interval at which the end of the last receiver is noticed.
const POLL: Duration = Duration::from_millis(100);

/// The least media that is kept: as much as a receiver has in flight at low rates.
const MIN_BACKLOG: Bytes = Bytes(100_000);

/// Arguments of `polypath stream serve`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    /// The address and port to listen at, such as 0.0.0.0:7400.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_address)]
    listen: SocketAddr,
    /// A file; or live media: `-` for standard input, udp://ADDRESS:PORT for datagrams to this
    /// address, tcp://ADDRESS:PORT for one program that connects there.
    #[arg(long, value_name = "FILE|-|udp://|tcp://")]
    source: SourceArg,
    /// The private key of this machine, made by `polypath key`.
    #[arg(long, value_name = "FILE", required_unless_present = "insecure")]
    key: Option<PathBuf>,
    /// Admit the receiver with this key, printed by `polypath stream key` there.
    #[arg(long, value_name = "KEY", conflicts_with = "allow_anyone")]
    allow: Vec<StreamKey>,
    /// Admit any receiver.
    #[arg(long)]
    allow_anyone: bool,
    /// Neither encrypt nor authenticate; on loopback addresses only.
    #[arg(long, conflicts_with_all = ["key", "allow", "allow_anyone"])]
    insecure: bool,
    /// The maximum number of receivers.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole(1..=100_000_usize))]
    receivers: usize,
    /// The maximum number of connections of a receiver.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole(1..=1024_usize))]
    connections: usize,
    /// Limit each connection to this rate, headers included, such as "480 kbit/s".
    #[arg(long, value_name = "RATE")]
    connection_limit: Option<Rate>,
    /// The congestion control of the connections, such as bbr; that of the system by default.
    #[arg(long, value_name = "NAME")]
    congestion_control: Option<String>,
    /// The live media that is kept for slow receivers, such as "32 MB". A receiver further behind is
    /// refused.
    #[arg(long, value_name = "SIZE", default_value = "32 MB")]
    backlog: Bytes,
    /// The format of the counters at the end.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// The rules of the server, for `--help`.
const RULES: &str = "\
Each receiver gets a whole file, or live media from its start on, at the rate that it asks for. A \
receiver whose connections ended has 60 s to return; after a restart of the server, one that receives a file \
continues where it was.

SIGINT or SIGTERM ends the server; receivers of live media then have 5 s for what is left. So does the end \
of live media, or the failure of its source, once all receivers have the rest, or after 60 s. \
The counters are printed at the end.

Exit codes: 0 the server ran until a signal, or to the end of live media; 1 the source failed; 2 bad \
input; 3 the address cannot be used.";

/// The source on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SourceArg {
    File(PathBuf),
    Stdin,
    Udp(SocketAddr),
    Tcp(SocketAddr),
}

impl FromStr for SourceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("udp://") {
            return program_address(rest).map(Self::Udp);
        }
        if let Some(rest) = text.strip_prefix("tcp://") {
            return program_address(rest).map(Self::Tcp);
        }
        match text.split_once("://") {
            Some((scheme, _)) => Err(format!(
                "a source is a file, `-`, udp://ADDRESS:PORT or tcp://ADDRESS:PORT, not {scheme}://"
            )),
            None if text == "-" => Ok(Self::Stdin),
            None => Ok(Self::File(text.into())),
        }
    }
}

/// Serves until a signal, or to the end of live media.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.backlog < MIN_BACKLOG {
        return Err(Failure::input(format!(
            "--backlog {}: use {MIN_BACKLOG} or more, or every receiver is too slow",
            args.backlog
        )));
    }
    if args.source == SourceArg::Tcp(args.listen) {
        return Err(Failure::input(format!(
            "--listen and --source are both at {}: give them different ports",
            args.listen
        )));
    }
    let security = security(args)?;
    let backlog = usize::try_from(args.backlog.0).unwrap_or(usize::MAX);
    let live = LiveSource::new(backlog).context("drawing the name of the source")?;
    let source = match &args.source {
        SourceArg::File(path) => {
            let opened = FileSource::open(path);
            let failed = |error| Failure::input(format!("{}: {error}", path.display()));
            Source::File(opened.map_err(failed)?)
        }
        SourceArg::Stdin | SourceArg::Udp(_) | SourceArg::Tcp(_) => Source::Live(live.clone()),
    };
    let config = ServerConfig {
        listen: args.listen,
        security,
        receivers: args.receivers,
        connections: args.connections,
        connection_limit: args.connection_limit,
        congestion_control: args.congestion_control.clone(),
    };
    raise_descriptor_limit();
    let runtime = runtime()?;
    let (result, counters) = runtime.block_on(async {
        let server = Server::bind(config, source).map_err(failure_of)?;
        let address = server.address().context("reading the address")?;
        print_message(&format!("serving at {address}; SIGINT or SIGTERM ends it"));
        let counters = server.counters();
        let mut work = pin!(async {
            tokio::select! {
                () = server.serve() => Ok(()),
                () = report(&counters) => Ok(()),
                result = feed(&args.source, &live, &counters) => result,
            }
        });
        let waiting = "waiting for signals";
        let ended = until_signal(&mut work).await.context(waiting)?;
        if ended.is_none() && !matches!(args.source, SourceArg::File(_)) {
            let last = async {
                tokio::select! {
                    _ = work => {}
                    () = stop(&live, &counters) => {}
                }
            };
            // Another signal ends that.
            until_signal(last).await.context(waiting)?;
        }
        Ok::<_, Failure>((ended.unwrap_or(Ok(())), counters.clone()))
    })?;
    // Standard input may be blocked in a thread, which ends with the program.
    runtime.shutdown_background();
    let counts = counters.read();
    print(&match args.format {
        Format::Table => format!("{}\n", server_line(&counts)),
        Format::Json => format!("{:#}\n", server_json(&counts)),
    })?;
    result
}

/// Raises the limit of open files to the most that this user may have: each connection is one, and
/// shells set a low limit.
fn raise_descriptor_limit() {
    // Without it, connections beyond the limit wait, and the log says so.
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files was not raised");
    }
}

fn security(args: &Args) -> Result<ServerSecurity, Failure> {
    let Some(key) = &args.key else {
        return Ok(ServerSecurity::Insecure);
    };
    if args.allow.is_empty() && !args.allow_anyone {
        return Err(Failure::input(
            "name the receivers: --allow KEY for each (`polypath stream key FILE` prints it there), or --allow-anyone",
        ));
    }
    let admission = if args.allow_anyone {
        Admission::Anyone
    } else {
        Admission::Keys(args.allow.clone())
    };
    let identity = identity(key)?;
    print_message(&format!("receivers need --peer {}", identity.public()));
    let tls = identity.server_config(&admission).map_err(Failure::input)?;
    Ok(ServerSecurity::Tls(tls))
}

/// Reads a live source to its end, and waits for the receivers, also if the source fails; a file
/// never ends.
async fn feed(
    source: &SourceArg,
    live: &LiveSource,
    counters: &ServerCounters,
) -> Result<(), Failure> {
    let read = match source {
        SourceArg::File(_) => std::future::pending().await,
        SourceArg::Stdin => {
            let read = live.read_from(tokio::io::stdin()).await;
            read.context("reading standard input")
        }
        SourceArg::Udp(address) => {
            let socket = LiveSource::bind(*address);
            let socket = socket.map_err(|error| unusable(*address, error))?;
            let received = live.receive_from(&socket).await;
            received.context("receiving the source")
        }
        SourceArg::Tcp(address) => {
            let listener = TcpListener::bind(address).await;
            let listener = listener.map_err(|error| unusable(*address, error))?;
            let (stream, from) = listener.accept().await.context("accepting the source")?;
            // Another program is refused.
            drop(listener);
            tracing::info!(%from, "the source is connected");
            live.read_from(stream).await.context("reading the source")
        }
    };
    if !is_reached(REST, || counters.read().receivers == 0).await {
        let left = counters.read().receivers;
        tracing::warn!("the source has ended, and {left} receivers did not take all of it in time");
    }
    // Of a source that failed, they have the last packets and the reason after their streams' end.
    is_reached(FLUSH, || counters.read().connections == 0).await;
    Ok(read?)
}

/// Ends a live source: its receivers get what is left, and the reason; those that need longer only
/// the reason.
async fn stop(live: &LiveSource, counters: &ServerCounters) {
    let is_over = || counters.read().connections == 0;
    live.stop();
    if !is_reached(FLUSH, is_over).await {
        live.cut();
        is_reached(LAST, is_over).await;
    }
}

/// Whether `is_over` becomes true in this time.
async fn is_reached(within: Duration, is_over: impl Fn() -> bool) -> bool {
    let ending = async {
        while !is_over() {
            sleep(POLL).await;
        }
    };
    timeout(within, ending).await.is_ok()
}

/// Logs the counters while they change.
async fn report(counters: &ServerCounters) {
    let mut before = counters.read();
    loop {
        sleep(INTERVAL).await;
        let counts = counters.read();
        if counts != before {
            tracing::info!("{}", server_line(&counts));
        }
        before = counts;
    }
}

fn unusable(address: SocketAddr, error: std::io::Error) -> Failure {
    Failure::Machine(
        anyhow::Error::from(error).context(format!("--source: listening at {address}")),
    )
}

fn failure_of(error: ServerError) -> Failure {
    match error {
        ServerError::Insecure(_) => Failure::input(error),
        ServerError::CongestionControl { .. } | ServerError::Listen { .. } => {
            Failure::Machine(error.into())
        }
    }
}
