//! `polypath advise`: the rate for an encoder, from a node that spaces its packets.

use std::thread::sleep;

use polypath_core::time::Duration;
use polypath_live::control;
use polypath_live::stats::rate_advice;

use crate::failure::Failure;
use crate::output::try_print;
use crate::status::{find_socket, interval, request_status};

/// Arguments of `polypath advise`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line has `payload_bit_per_s`, the rate of UDP payload that the spacing permits now (`null`: no limit is known, as before the first packet), \
                  and what it follows from: `rate_bit_per_s` of IP packets, `packet_bytes`, `spacing_us` and `rtt_ms`; \
                  and `waiting` packets, `wait_ms`, and those `dropped`. Let the encoder stay some percent below, and \
                  further while packets wait. A slow reader delays no packet.\n\n\
                  Exit codes: 0 the reader has closed; 1 the node does not reply, or has exited; 2 the command line is \
                  wrong, or the node does not space its packets."
)]
pub(crate) struct Args {
    /// The node: its name (TUN device, or `udp` and its first UDP port), control socket or
    /// configuration file (`.toml`) [default: the only one that runs].
    node: Option<String>,
    /// The time between two lines, at least "50ms".
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = interval)]
    interval: Duration,
}

/// Prints the advice of a node as JSON, one line at each interval, until the node exits or the reader
/// closes.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let socket = find_socket(args.node.as_deref(), &control::directories())?;
    loop {
        let state = request_status(&socket)?;
        let Some(line) = rate_advice(&state) else {
            return Err(Failure::input(
                "this node does not space its packets, so it permits any rate: ask the node that sends, or give \
                 it `[spacing]` in its file, or `polypath send --spacing`",
            ));
        };
        if !try_print(&format!("{line}\n"))? {
            return Ok(());
        }
        sleep(args.interval.into());
    }
}
