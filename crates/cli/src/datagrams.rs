//! `polypath send` and `polypath recv`: a node with one UDP port, by options in place of a file.

mod path;
mod recv;
mod send;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use polypath_core::time::Duration;
use polypath_live::config::NodeConfig;
use polypath_live::node::Options;
use serde_json::Value;

use crate::failure::Failure;
use crate::number::whole;
use crate::output::print;
use crate::{log, node};
use path::PathArg;

pub(crate) use recv::Args as RecvArgs;
pub(crate) use send::Args as SendArgs;

/// The options of both ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Shared {
    /// The private key of this machine, made by `polypath key`.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The public key of the other end, printed by `polypath key` there.
    #[arg(long, value_name = "KEY")]
    peer: String,
    /// The number of the stream, the same at both ends.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = whole(1..=65_535_u16))]
    port: u16,
    /// The policy, such as duplicate-all [default: single-path with one path, in-time with several].
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// The control socket for `polypath status` and `polypath advise`, or `off` [default: udpN.sock
    /// in `/run/polypath` or `$XDG_RUNTIME_DIR/polypath`; where neither can be written, none].
    #[arg(long, value_name = "FILE|off")]
    control: Option<String>,
    /// Serve metrics at this address: Prometheus reads /metrics, an encoder /rate.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Write statistics to this file every second and at the end, as JSON.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Keep the addresses of the other end in this file, so that a restarted end reaches it at once
    /// (without it, after up to 10 s), and the time of its last handshake.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Print the file of a node that does the same with `polypath node`, and exit. --stats and --state
    /// are options of that command, too.
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// Sends until a signal.
pub(crate) fn send(args: &SendArgs) -> Result<(), Failure> {
    args.check()?;
    run(&args.shared, &args.file())
}

/// Receives until a signal.
pub(crate) fn recv(args: &RecvArgs) -> Result<(), Failure> {
    args.check()?;
    run(&args.shared, &args.file())
}

/// Runs the node of the file `text`, or prints it.
fn run(shared: &Shared, text: &str) -> Result<(), Failure> {
    let config = NodeConfig::of_file(Path::new("options"), text).map_err(|errors| {
        Failure::input(format!(
            "{errors}\nthe places are those of the file that `--print` shows"
        ))
    })?;
    if shared.print {
        return print(text);
    }
    let options = Options {
        stats: shared.stats.clone(),
        state: shared.state.clone(),
        ..Options::default()
    };
    node::start(&config, &options)
}

/// The parts of a node's file that both ends have in common.
struct NodeFile<'a> {
    shared: &'a Shared,
    /// The keys of the UDP port, besides its number.
    port: String,
    /// Those of the policy `in-time`.
    in_time: Vec<(&'static str, Option<Duration>)>,
    /// More tables.
    tables: String,
    paths: Vec<String>,
}

impl NodeFile<'_> {
    fn text(&self) -> String {
        let shared = self.shared;
        let control = match shared.control.as_deref() {
            None => String::new(),
            Some("off") => "control = \"off\"\n\n".to_owned(),
            Some(socket) => format!("[control]\nsocket = {}\n\n", string(&absolute(socket))),
        };
        let metrics = shared.metrics.map_or_else(String::new, |address| {
            format!("[metrics]\nlisten = \"{address}\"\n\n")
        });
        let policy = shared.policy(self.paths.len());
        let in_time = self.in_time.iter().filter_map(|(key, time)| {
            let time = (*time)?;
            Some(format!("{key} = \"{time}\"\n"))
        });
        format!(
            "{control}[node]\nkey_file = {}\n\n[[node.udp]]\nport = {}\n{}\n[peer]\npublic_key = {}\n\n\
             [policy]\nkind = {}\n{}\n{metrics}{}{}",
            string(&absolute(shared.key.to_string_lossy().as_ref())),
            shared.port,
            self.port,
            string(&shared.peer),
            string(policy),
            in_time.collect::<String>(),
            self.tables,
            self.paths.join("\n"),
        )
    }
}

impl Shared {
    fn policy(&self, paths: usize) -> &str {
        let default = if paths == 1 { "single-path" } else { "in-time" };
        self.policy.as_deref().unwrap_or(default)
    }

    /// Checks that an option of the policy `in-time` has an effect.
    fn check_in_time(
        &self,
        paths: &[PathArg],
        option: &str,
        value: Option<Duration>,
    ) -> Result<(), Failure> {
        let policy = self.policy(paths.len());
        if value.is_none() || policy == "in-time" {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{option} is for the policy in-time, and this is {policy}: add `--policy in-time`, or omit it"
        )))
    }
}

/// A string of TOML: those of JSON have the same notation.
fn string(text: &str) -> String {
    Value::from(text).to_string()
}

/// The file from the root on: a node's file can be in another directory.
fn absolute(file: &str) -> String {
    let absolute = std::path::absolute(file);
    absolute.map_or_else(
        |_| file.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}
