//! `polypath source respond`: answers the sources of another machine.

use std::net::SocketAddr;

use anyhow::Context;
use polypath_live::clock::Clock;
use polypath_live::sources::{Responder, SourcesError};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::{Failure, print_message};
use crate::number::whole;
use crate::output::print;

/// Arguments of `polypath source respond`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The addresses and ports to answer at, one for each path: 192.0.2.1:7000 198.51.100.1:7000.
    #[arg(required = true, value_name = "ADDRESS:PORT")]
    addresses: Vec<SocketAddr>,
    /// The size of an ACK on the wire in bytes, with the headers of IP and UDP [default: the paper's
    /// 52 B, or 72 B over IPv6].
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = whole(1..=65_535_u32))]
    ack: Option<u32>,
}

/// Answers until a signal stops it, and prints its counters as JSON.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check_different(&args.addresses)?;
    let clock = Clock::starting_now();
    let mut responder = Responder::open(&args.addresses, args.ack, clock).map_err(failure_of)?;
    let stop = responder.stop_handle();
    for signal in [SIGINT, SIGTERM] {
        stop.stop_on(signal).context("installing signal handlers")?;
    }
    let addresses = responder.addresses().context("reading the addresses")?;
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    print_message(&format!(
        "answering at {}; SIGINT or SIGTERM ends it",
        addresses.join(", ")
    ));
    let report = responder.run().map_err(failure_of)?;
    let mut text = serde_json::to_string_pretty(&report).context("writing the report")?;
    text.push('\n');
    print(&text)
}

/// Refuses an address that is given twice: the second path would have no socket of its own.
fn check_different(addresses: &[SocketAddr]) -> Result<(), Failure> {
    for (index, address) in addresses.iter().enumerate() {
        if address.port() != 0 && addresses[..index].contains(address) {
            return Err(Failure::input(format!(
                "{address} is given twice: each path needs an address or port of its own"
            )));
        }
    }
    Ok(())
}

/// The failure of sources or of a responder.
pub(super) fn failure_of(error: SourcesError) -> Failure {
    match error {
        SourcesError::Udp(error) => Failure::Machine(error.into()),
        SourcesError::Size { .. } | SourcesError::Paths(_) => Failure::Input(error.into()),
        SourcesError::Drive(_) => Failure::Run(error.into()),
    }
}
