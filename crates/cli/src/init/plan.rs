//! The paths, addresses and texts of the files of two nodes.

mod text;
mod tunnel;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use ipnet::IpNet;
use polypath_core::units::Rate;
use serde_json::{Value, json};

use super::files::PublicKeys;
use super::{Args, Endpoint};
use crate::failure::Failure;

/// The port of the first path.
const FIRST_PORT: u16 = 7001;
/// The port of a relay.
const RELAY_PORT: u16 = 7101;
/// The directory of the files on each machine: that of the system's services.
const DIRECTORY: &str = "/etc/polypath";

/// One of the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// A path between the nodes.
struct PathPlan {
    name: String,
    /// The local address of node a; `None` if it is found at run time.
    a: Option<SocketAddr>,
    /// The local address of node b.
    b: SocketAddr,
    /// The address of the relay, if the path leads through it.
    relay: Option<SocketAddr>,
}

/// A value for each node.
struct Both<T> {
    a: T,
    b: T,
}

impl<T> Both<T> {
    fn of(&self, side: Side) -> &T {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }
}

/// The configuration of two nodes.
pub(super) struct Plan {
    names: Both<String>,
    policy: String,
    device: String,
    /// The addresses of each node in the tunnel.
    tunnel: Both<Vec<IpNet>>,
    paths: Vec<PathPlan>,
    relay_rate: Rate,
}

/// A command to run next, with the machine on which it runs.
struct NextCommand {
    machine: String,
    command: String,
}

impl Plan {
    /// Completes the options with defaults.
    pub(super) fn of(args: &Args) -> Result<Self, Failure> {
        if args.a_name == args.b_name {
            let name = &args.a_name;
            return Err(Failure::input(format!(
                "--a-name and --b-name are both `{name}`; give each node a name of its own"
            )));
        }
        Ok(Self {
            names: Both {
                a: args.a_name.clone(),
                b: args.b_name.clone(),
            },
            policy: args.policy.clone(),
            device: args.device.clone(),
            tunnel: tunnel::addresses(&args.tunnel)?,
            paths: paths(args)?,
            relay_rate: args.relay_rate,
        })
    }

    pub(super) fn name(&self, side: Side) -> &str {
        self.names.of(side)
    }

    /// The name of the configuration file of a node.
    pub(super) fn file(&self, side: Side) -> String {
        format!("{}.toml", self.name(side))
    }

    /// The name of the key file of a node.
    pub(super) fn key_file(&self, side: Side) -> String {
        format!("{}.key", self.name(side))
    }

    pub(super) fn has_relay(&self) -> bool {
        self.paths.iter().any(|path| path.relay.is_some())
    }

    /// The names of all files.
    pub(super) fn names(&self) -> Vec<String> {
        let sides = [Side::A, Side::B].into_iter();
        let mut names: Vec<String> = sides
            .flat_map(|side| [self.file(side), self.key_file(side)])
            .collect();
        if self.has_relay() {
            names.extend(["relay.toml", "relay.key"].map(str::to_owned));
        }
        names
    }

    /// The text of the file of a node.
    pub(super) fn node(&self, side: Side, keys: &PublicKeys) -> String {
        text::node(self, side, keys)
    }

    /// The text of the relay's file, if there is a relay.
    pub(super) fn relay(&self, keys: &PublicKeys) -> Option<String> {
        text::relay(self, keys)
    }

    /// The addresses in the tunnel, by node.
    pub(super) fn tunnel(&self) -> Value {
        let addresses = |side| -> Vec<String> {
            let addresses = self.tunnel.of(side).iter();
            addresses.map(ToString::to_string).collect()
        };
        json!({
            self.name(Side::A): addresses(Side::A),
            self.name(Side::B): addresses(Side::B),
        })
    }

    /// The address of a node's machine in commands.
    fn machine(&self, side: Side) -> String {
        let local = self.paths.first().and_then(|path| match side {
            Side::A => path.a,
            Side::B => Some(path.b),
        });
        local.map_or_else(
            || format!("{}.example", self.name(side)),
            |at| of_scp(at.ip()),
        )
    }

    /// The commands to run next, with the machine of each.
    pub(super) fn commands(&self, folder: &Path) -> Vec<Value> {
        let commands = self.next_commands(folder).into_iter();
        let json = |next: NextCommand| json!({ "machine": next.machine, "command": next.command });
        commands.map(json).collect()
    }

    fn next_commands(&self, folder: &Path) -> Vec<NextCommand> {
        let mut owners = vec![
            (self.name(Side::A), "node", self.machine(Side::A)),
            (self.name(Side::B), "node", self.machine(Side::B)),
        ];
        if let Some(relay) = self.paths.iter().find_map(|path| path.relay) {
            owners.push(("relay", "relay", of_scp(relay.ip())));
        }
        let folder = folder.display();
        let on = |machine: &str, command: String| NextCommand {
            machine: machine.to_owned(),
            command,
        };
        let copy = |(name, _, machine): &(&str, &str, String)| {
            let files = format!("{folder}/{name}.toml {folder}/{name}.key");
            on(
                "here",
                format!("scp -p {files} root@{machine}:{DIRECTORY}/"),
            )
        };
        let start = |(name, command, _): &(&str, &str, String)| {
            let file = format!("{DIRECTORY}/{name}.toml");
            on(
                name,
                format!("polypath check {file} && polypath {command} {file}"),
            )
        };
        let mut commands: Vec<NextCommand> = owners.iter().map(copy).collect();
        commands.extend(owners.iter().map(start));
        let (a, peer) = (self.name(Side::A), self.tunnel.b[0].addr());
        commands.push(on(a, format!("ping -c 3 {peer}")));
        commands.push(on(a, format!("polypath status {}", self.device)));
        commands
    }

    /// The written files and the next commands, for a terminal.
    pub(super) fn text(&self, folder: &Path) -> String {
        text::summary(self, folder)
    }
}

/// An IP address in the argument of scp.
fn of_scp(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The direct paths, and the path through the relay.
fn paths(args: &Args) -> Result<Vec<PathPlan>, Failure> {
    let (a, b) = (&args.a_address, &args.b_address);
    if a.len() > 1 && b.len() > 1 && a.len() != b.len() {
        return Err(Failure::input(format!(
            "--a-address has {} addresses and --b-address {}; give one for each path, or a single one for all",
            a.len(),
            b.len()
        )));
    }
    let count = a.len().max(b.len());
    let mut paths = Vec::new();
    for index in 0..count {
        paths.push(PathPlan {
            name: format!("path{}", index + 1),
            a: local("--a-address", a, index)?,
            b: local("--b-address", b, index)?.unwrap_or_else(unspecified),
            relay: None,
        });
    }
    if let Some(Endpoint { address, port }) = args.relay {
        paths.push(PathPlan {
            name: "relayed".to_owned(),
            a: local("--a-address", a, count)?,
            b: local("--b-address", b, count)?.unwrap_or_else(unspecified),
            relay: Some((address, port.unwrap_or(RELAY_PORT)).into()),
        });
    }
    Ok(paths)
}

fn unspecified() -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, FIRST_PORT).into()
}

/// The local address of a path: paths without an address of their own use the last one, at the
/// following ports.
fn local(option: &str, all: &[Endpoint], index: usize) -> Result<Option<SocketAddr>, Failure> {
    let Some((number, last)) = all.iter().enumerate().take(index + 1).next_back() else {
        return Ok(None);
    };
    let offset = match last.port {
        Some(_) => index - number,
        None => index,
    };
    let first = last.port.unwrap_or(FIRST_PORT);
    let port = u16::try_from(offset)
        .ok()
        .and_then(|offset| first.checked_add(offset));
    let Some(port) = port else {
        return Err(Failure::input(format!(
            "{option}: path {} would use a port above 65535; give a lower port",
            index + 1
        )));
    };
    Ok(Some((last.address, port).into()))
}

/// The unspecified address of the family of `address`.
fn any_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests;
