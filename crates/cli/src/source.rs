//! `polypath source`: many sources over several paths on real sockets, the test program of the
//! delay-centric paper.

mod lab;
mod respond;
mod send;

use anyhow::Context;
use polypath_core::frame::OVER_IPV4;
use polypath_core::multihomed::HEADER_LEN;
use polypath_core::policy::DelayCentricConfig;
use polypath_core::units::Bytes;
use polypath_scenario::Network;
use polypath_scenario::network::{Multihomed, Senders};

use crate::failure::Failure;

/// The size of a datagram that is nothing but headers.
const LEAST_SIZE: Bytes = Bytes((OVER_IPV4 as usize + HEADER_LEN) as u64);
/// The number of datagrams that the sources of a run can send per second, with heartbeats; more would be
/// late.
const MAX_RATE: f64 = 20_000.0;

/// The subcommands of `polypath source`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run the senders of a file in real time over its emulated links, beside their simulation.
    Lab(lab::Args),
    /// Send to a responder, over paths of this machine.
    Send(send::Args),
    /// Answer the datagrams of `polypath source send` on another machine.
    Respond(respond::Args),
}

/// Runs a subcommand.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Lab(args) => lab::run(args),
        Command::Send(args) => send::run(args),
        Command::Respond(args) => respond::run(args),
    }
}

/// The traffic of sources on real sockets; fails for nodes.
fn sources_of(senders: Senders<'_>) -> Result<&Multihomed, Failure> {
    senders.traffic.multihomed().ok_or_else(|| {
        Failure::input(format!(
            "flow `{}` is a tunnel between nodes: `polypath source` runs flows of kind `multihomed`; simulate this one \
             with `polypath stability`, or deploy nodes",
            senders.flow.name
        ))
    })
}

/// Refuses senders that are nodes, and sources that the program could not run on sockets in time.
pub(crate) fn check_sources(network: &Network) -> Result<(), Failure> {
    let senders = network.senders().context("a checked network has senders")?;
    let traffic = sources_of(senders)?;
    check_sizes(senders, traffic)?;
    check_rate(senders, traffic, traffic.policy)
}

/// Refuses sources that could send more with this policy than the program can in time.
fn check_rate(
    senders: Senders<'_>,
    traffic: &Multihomed,
    policy: DelayCentricConfig,
) -> Result<(), Failure> {
    let others = traffic.ways.len().saturating_sub(1) as f64;
    let heartbeats = others / policy.shortest_heartbeat_interval().as_secs_f64();
    let of_one = 1.0 / traffic.interval.as_secs_f64() + heartbeats;
    let rate = f64::from(senders.count()) * of_one;
    if rate > MAX_RATE {
        return Err(Failure::input(format!(
            "the senders may send {rate:.0} datagrams per second, of which each has up to {heartbeats:.0} heartbeats, \
             and this program carries at most {MAX_RATE} in time: use fewer with --senders, or longer intervals of \
             heartbeats"
        )));
    }
    Ok(())
}

/// Refuses datagrams that are too small for their headers.
fn check_sizes(senders: Senders<'_>, traffic: &Multihomed) -> Result<(), Failure> {
    let sizes = [
        ("packet", traffic.packet),
        ("heartbeat", traffic.heartbeat_size()),
        ("ack", traffic.ack),
    ];
    for (key, size) in sizes {
        if size < LEAST_SIZE {
            return Err(Failure::input(format!(
                "`traffic.{key}` of flow `{}` is {size}: on real sockets use at least {LEAST_SIZE}, the headers of IPv4 \
                 and UDP and those of the program",
                senders.flow.name
            )));
        }
    }
    Ok(())
}
