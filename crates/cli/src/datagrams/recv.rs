//! `polypath recv`.

use std::net::SocketAddr;

use polypath_core::time::Duration;

use super::path::PathArg;
use super::{NodeFile, Shared};
use crate::failure::Failure;
use crate::stream::datagram_address;

/// Arguments of `polypath recv`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    /// The address that the datagrams go to, such as 127.0.0.1:6000 or `udp://127.0.0.1:6000`.
    #[arg(long, value_name = "ADDRESS", value_parser = datagram_address)]
    to: SocketAddr,
    /// An address and port of this machine at which a path arrives, such as 0.0.0.0:7001 or
    /// eth0=0.0.0.0:7001; as many as the sender has, in the same order.
    #[arg(long, value_name = "PATH", required = true)]
    path: Vec<PathArg>,
    /// Hold packets that overtake others, for at most this time, under the policy in-time. For
    /// receivers of MPEG-TS, which put nothing in order.
    #[arg(long, value_name = "TIME")]
    order: Option<Duration>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// The rules, for `--help`.
const RULES: &str = "\
Only what `polypath send` sends with the key --peer arrives; its addresses are learned. Answers of the \
program at --to go back to the sender.

Exit codes: 0 it ran until a signal; 1 it failed; 2 bad input; 3 an address cannot be used.";

impl Args {
    /// Checks what is not in the node's file.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.shared.check_in_time(&self.path, "--order", self.order)
    }

    /// The file of the node.
    pub(super) fn file(&self) -> String {
        let paths = (1..).zip(&self.path);
        let file = NodeFile {
            shared: &self.shared,
            port: format!("to = \"{}\"\n", self.to),
            in_time: vec![("order", self.order)],
            tables: String::new(),
            paths: paths
                .map(|(number, path)| path.at_this_node(number))
                .collect(),
        };
        file.text()
    }
}
