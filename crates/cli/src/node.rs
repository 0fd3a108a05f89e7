//! `polypath node`: one end of the overlay, deployed.

use std::path::PathBuf;

use polypath_live::config::NodeConfig;
use polypath_live::node::{self, NodeError};

use crate::failure::Failure;
use crate::{log, output};

/// Arguments of `polypath node`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node's file; `polypath schema node` prints its schema.
    config: PathBuf,
    /// Write every decision to this file, one JSON object a line. Where it is a FIFO, a slow reader
    /// holds the node up.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write counters to this file each second and at the end, as JSON; it is replaced, but for a
    /// device.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Record what comes to the node's endpoint and what it decides in this file, which is
    /// replaced, for `polypath replay`. It has neither payloads nor keys.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Time zero of events in nanoseconds of `CLOCK_MONOTONIC`, shared by the nodes of one
    /// experiment; it must have passed.
    #[arg(long, value_name = "NS")]
    origin_ns: Option<u64>,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// Runs the node until it is told to stop.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let config = NodeConfig::load(&args.config).map_err(Failure::input)?;
    let outputs = [
        ("--events", &args.events),
        ("--stats", &args.stats),
        ("--record", &args.record),
    ];
    output::check_distinct(&outputs, &[&args.config, &config.node.key_file])?;
    let options = node::Options {
        events: args.events.clone(),
        stats: args.stats.clone(),
        record: args.record.clone(),
        file: Some(args.config.clone()),
        origin_ns: args.origin_ns,
    };
    match node::run(&config, &options) {
        Ok(_) => Ok(()),
        Err(error @ (NodeError::Drive(_) | NodeError::Events(_))) => {
            Err(Failure::Run(error.into()))
        }
        Err(
            error @ (NodeError::Tun(_)
            | NodeError::Udp(_)
            | NodeError::Control(_)
            | NodeError::Metrics(_)),
        ) => Err(Failure::Machine(error.into())),
        Err(error) => Err(Failure::Input(error.into())),
    }
}
