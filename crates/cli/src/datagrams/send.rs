//! `polypath send`.

use std::net::SocketAddr;

use polypath_core::time::Duration;

use super::path::PathArg;
use super::{NodeFile, Shared};
use crate::failure::Failure;
use crate::stream::datagram_address;

/// Arguments of `polypath send`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RULES)]
pub(crate) struct Args {
    /// The address that the encoder sends its datagrams to, such as 127.0.0.1:5000 or `udp://127.0.0.1:5000`.
    #[arg(long, value_name = "ADDRESS", value_parser = datagram_address)]
    listen: SocketAddr,
    /// An address and port of the receiver (its `--path`), such as 198.51.100.7:7001. With several,
    /// each with its uplink before it, an interface or an address of this machine:
    /// wwan0=198.51.100.7:7001.
    #[arg(long, value_name = "PATH", required = true)]
    path: Vec<PathArg>,
    /// Send the peer's datagrams to this program, instead of to that which has sent last. Needed if
    /// --listen is not an address of loopback.
    #[arg(long, value_name = "ADDRESS", value_parser = datagram_address)]
    to: Option<SocketAddr>,
    /// The spacing of packets: cubic, which shares a path fairly and keeps queues short; damped or
    /// ad-hoc, those of the packet-spacing paper; a fixed time; or off [default: cubic under
    /// single-path, off under other policies].
    #[arg(long, value_name = "cubic|damped|ad-hoc|TIME|off", value_parser = spacing)]
    spacing: Option<Spacing>,
    /// Drop a packet that has waited for this time when its turn comes [default: 100 ms].
    #[arg(long, value_name = "TIME")]
    max_wait: Option<Duration>,
    /// The time in which a packet must arrive, with repairs, under the policy in-time.
    #[arg(long, value_name = "TIME")]
    deadline: Option<Duration>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// The rules, for `--help`.
const RULES: &str = "\
The datagrams are encrypted, and arrive at the program that `polypath recv` sends them to; its answers come \
back to the program that has sent to --listen last.

If the encoder is faster than the spacing permits, packets wait, and those that have waited for --max-wait are \
dropped. `polypath advise` prints the rate that the encoder can have.

Exit codes: 0 it ran until a signal; 1 it failed; 2 bad input; 3 an address cannot be used.";

/// The spacing on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    Off,
    Fixed(Duration),
    AdHoc,
    Damped,
    Cubic,
}

fn spacing(text: &str) -> Result<Spacing, String> {
    match text {
        "off" => Ok(Spacing::Off),
        "ad-hoc" => Ok(Spacing::AdHoc),
        "damped" => Ok(Spacing::Damped),
        "cubic" => Ok(Spacing::Cubic),
        time => match time.parse() {
            Ok(Duration::ZERO) => Err("without spacing, give off".to_owned()),
            Ok(time) => Ok(Spacing::Fixed(time)),
            Err(_) => Err(format!(
                "`{time}` is neither cubic, damped, ad-hoc or off, nor a time such as \"1.6 ms\""
            )),
        },
    }
}

impl Args {
    /// Checks what is not in the node's file.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let unnamed = self.path.iter().filter(|path| path.uplink.is_none());
        if self.path.len() > 1 && unnamed.count() > 0 {
            return Err(Failure::input(
                "--path: with several paths, give each its uplink, or all use the same: \
                 `--path eth0=198.51.100.7:7001 --path wwan0=198.51.100.7:7002`",
            ));
        }
        if self.spacing() == Spacing::Off && self.max_wait.is_some() {
            return Err(Failure::input(
                "--max-wait has no effect without spacing: omit it, or give `--spacing`",
            ));
        }
        self.shared
            .check_in_time(&self.path, "--deadline", self.deadline)
    }

    /// The file of the node.
    pub(super) fn file(&self) -> String {
        let paths = (1..).zip(&self.path);
        let to = self
            .to
            .map_or_else(String::new, |to| format!("to = \"{to}\"\n"));
        let file = NodeFile {
            shared: &self.shared,
            port: format!("listen = \"{}\"\n{to}", self.listen),
            in_time: vec![("deadline", self.deadline)],
            tables: self.spacing_table(),
            paths: paths.map(|(number, path)| path.to_peer(number)).collect(),
        };
        file.text()
    }

    /// The spacing. The adaptive ones take each loss for congestion, also those that a policy repairs
    /// or masks by copies.
    fn spacing(&self) -> Spacing {
        let is_single = self.shared.policy(self.path.len()) == "single-path";
        let default = if is_single {
            Spacing::Cubic
        } else {
            Spacing::Off
        };
        self.spacing.unwrap_or(default)
    }

    fn spacing_table(&self) -> String {
        let control = match self.spacing() {
            Spacing::Off => return String::new(),
            Spacing::Fixed(spacing) => format!("{{ kind = \"fixed\", spacing = \"{spacing}\" }}"),
            Spacing::AdHoc => "{ kind = \"ad-hoc\" }".to_owned(),
            Spacing::Damped => "{ kind = \"damped\" }".to_owned(),
            Spacing::Cubic => "{ kind = \"cubic\" }".to_owned(),
        };
        let max_wait = self
            .max_wait
            .map_or_else(String::new, |wait| format!("max_wait = \"{wait}\"\n"));
        format!("[spacing]\ncontrol = {control}\n{max_wait}\n")
    }
}
