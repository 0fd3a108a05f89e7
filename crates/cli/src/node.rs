//! `polypath node`: a node of the overlay.

use std::path::PathBuf;

use polypath_live::config::{Control, NodeConfig};
use polypath_live::node::{self, NodeError};

use crate::failure::Failure;
use crate::number::whole;
use crate::{log, output};

/// Arguments of `polypath node`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node's configuration file; `polypath schema node` prints its schema.
    config: PathBuf,
    /// Write every decision to this file, one JSON object per line. If it is a FIFO, a slow reader
    /// blocks the node.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write statistics to this file every second and at exit, as JSON. The file is replaced each
    /// time, unless it is a device.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Keep the time of the peer's newest handshake in this file, so that replayed ones get no
    /// answer after a restart, the addresses of the peer that were learned, to reach it at once, and
    /// the use of quotas. The node runs without it if it cannot be read or written, unless a path has
    /// a quota.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Record the inputs and decisions of the node's endpoint in this file for `polypath replay`,
    /// without payloads and keys. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Time zero of events, in nanoseconds of `CLOCK_MONOTONIC`, shared by the nodes of one
    /// experiment; it must be in the past.
    #[arg(long, value_name = "NS", allow_negative_numbers = true, value_parser = whole(0..=u64::MAX))]
    origin_ns: Option<u64>,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// Runs the node until a signal stops it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let config = NodeConfig::load(&args.config).map_err(Failure::input)?;
    let outputs = [
        ("--events", &args.events),
        ("--stats", &args.stats),
        ("--state", &args.state),
        ("--record", &args.record),
    ];
    let mut inputs = vec![&*args.config, &*config.node.key_file];
    inputs.extend(config.peer.preshared_key_file.as_deref());
    if let Control::Socket(control) = &config.control {
        inputs.extend(control.socket.as_deref());
    }
    output::check_distinct(&outputs, &inputs)?;
    let options = node::Options {
        events: args.events.clone(),
        stats: args.stats.clone(),
        state: args.state.clone(),
        record: args.record.clone(),
        file: Some(args.config.clone()),
        origin_ns: args.origin_ns,
    };
    start(&config, &options)
}

/// Runs the node of `config` until a signal stops it.
pub(crate) fn start(config: &NodeConfig, options: &node::Options) -> Result<(), Failure> {
    match node::run(config, options) {
        Ok(_) => Ok(()),
        Err(error @ (NodeError::Drive(_) | NodeError::Events(_))) => {
            Err(Failure::Run(error.into()))
        }
        Err(
            error @ (NodeError::Tun(_)
            | NodeError::Udp(_)
            | NodeError::UdpPort(_)
            | NodeError::Control(_)
            | NodeError::Metrics(_)),
        ) => Err(Failure::Machine(error.into())),
        Err(error) => Err(Failure::Input(error.into())),
    }
}
