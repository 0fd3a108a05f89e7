//! `polypath init`: the files and keys of two nodes, ready to copy to their machines.

mod files;
mod plan;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context;
use ipnet::IpNet;
use polypath_core::policy::PathSet;
use polypath_core::units::Rate;
use polypath_live::config::NodeConfig;
use polypath_live::config::relay::RelayFile;
use serde_json::json;

use crate::failure::Failure;
use crate::number::whole;
use crate::output::print;
use crate::scenario::Format;

use files::NewFiles;
use plan::{Plan, Side};

/// Arguments of `polypath init`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing is overwritten, and after an error no file is left. Exit codes: 0 the files are written; 1 the \
                  result cannot be printed; 2 an option is wrong, or a file exists or cannot be written."
)]
pub(crate) struct Args {
    /// The folder for the files; it is created if it does not exist.
    #[arg(value_name = "DIR", default_value = "nodes", value_parser = folder)]
    folder: PathBuf,
    /// The number of paths, that through a relay included [default: one for each address, at least 2
    /// if node a finds its uplinks itself; and one for the relay, beside which one address is
    /// enough]. Paths beyond the addresses of a node use its last one, each at a port of its own.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=PathSet::CAPACITY))]
    paths: Option<u8>,
    /// The addresses of node a's machine, each optionally with a port: one for each path. Without
    /// any, node a finds its uplinks itself, and follows those that change.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', value_parser = endpoint)]
    a_address: Vec<Endpoint>,
    /// The addresses of node b's machine, each optionally with a port: one for each path, or a
    /// single one, at which each path has a port of its own.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', value_parser = endpoint, required = true)]
    b_address: Vec<Endpoint>,
    /// The address of a relay, which both nodes reach: adds a path through it, and its file and key.
    #[arg(long, value_name = "ADDRESS", value_parser = endpoint)]
    relay: Option<Endpoint>,
    /// The highest rate at which the relay forwards the packets of each node.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "100 Mbit/s",
        requires = "relay"
    )]
    relay_rate: Rate,
    /// The policy that selects the paths of each packet.
    #[arg(long, value_name = "POLICY", default_value = "duplicate-all")]
    policy: String,
    /// The networks inside the tunnel, of which each node has an address [default: a random network
    /// of 10.64.0.0 to 10.255.255.255 to which this machine has no route, and a random one of
    /// `fd00::/8`].
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    tunnel: Vec<IpNet>,
    /// The name of the TUN device of each node.
    #[arg(long, value_name = "NAME", default_value = "pp0")]
    device: String,
    /// The name of node a, and of its files.
    #[arg(long, value_name = "NAME", default_value = "a", value_parser = name)]
    a_name: String,
    /// The name of node b, and of its files.
    #[arg(long, value_name = "NAME", default_value = "b", value_parser = name)]
    b_name: String,
    /// Create a pre-shared key, too, which protects recorded traffic from a future quantum computer.
    #[arg(long)]
    preshared: bool,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// An address with an optional port.
#[derive(Clone, Copy, Debug)]
struct Endpoint {
    address: IpAddr,
    port: Option<u16>,
}

/// Parses an address with an optional port.
fn endpoint(text: &str) -> Result<Endpoint, String> {
    let text = text.trim();
    if let Ok(address) = text.parse() {
        return Ok(Endpoint {
            address,
            port: None,
        });
    }
    let with_port = text.parse::<SocketAddr>();
    let with_port = with_port.ok().filter(|address| address.port() != 0);
    with_port
        .map(|address| Endpoint {
            address: address.ip(),
            port: Some(address.port()),
        })
        .ok_or_else(|| {
            "write an address, such as 192.0.2.1 or 2001:db8::1, or one with its port, such as \
             192.0.2.1:7001 or [2001:db8::1]:7001"
                .to_owned()
        })
}

/// Parses the name of the folder, which the printed commands contain.
fn folder(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains(char::is_control) {
        return Err("use a name without control characters; `.` is the current folder".to_owned());
    }
    Ok(text.into())
}

/// Parses the name of a node, which is also that of its files.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text == "relay" || !text.chars().all(is_plain) {
        return Err("use letters, digits, `-` and `_`, and another name than `relay`".to_owned());
    }
    Ok(text.to_owned())
}

/// Writes the files and prints the next commands.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let plan = Plan::of(args)?;
    let mut files = NewFiles::open(&args.folder, &plan.names())?;
    let keys = files.generate_keys(&plan)?;
    let (a, b) = (plan.node(Side::A, &keys), plan.node(Side::B, &keys));
    for (side, text) in [(Side::A, &a), (Side::B, &b)] {
        let name = plan.file(side);
        NodeConfig::parse(text, &name).map_err(|error| invalid(&error))?;
        files.write(&name, text)?;
    }
    if let Some(text) = plan.relay(&keys) {
        RelayFile::parse(&text, "relay.toml").map_err(|error| invalid(&error))?;
        files.write("relay.toml", &text)?;
    }
    let commands = plan.commands(&args.folder);
    let text = match args.format {
        Format::Json => {
            let document = json!({
                "folder": args.folder,
                "files": plan.names(),
                "paths": plan.path_names(),
                "public_keys": keys.json(&plan),
                "tunnel": plan.tunnel(),
                "open_ports": plan.open_ports_json(),
                "commands": commands,
            });
            let text = serde_json::to_string_pretty(&document).context("writing the result")?;
            text + "\n"
        }
        Format::Table => plan.text(&args.folder),
    };
    print(&text)?;
    files.keep();
    Ok(())
}

/// The failure of options that give an invalid file.
fn invalid(error: &polypath_document::Errors) -> Failure {
    let problems = error.problems().iter();
    let problems: Vec<String> = problems
        .map(|problem| format!("{}; {}", problem.message, problem.remedy))
        .collect();
    Failure::input(format!(
        "the options give an invalid file, and none is written:\n{}",
        problems.join("\n")
    ))
}
