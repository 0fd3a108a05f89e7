//! The paths, addresses and texts of the files of two nodes.

mod text;
mod tunnel;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use ipnet::IpNet;
use polypath_core::policy::PathSet;
use polypath_core::units::Rate;
use polypath_document::{quoted, shell_word};
use serde_json::{Value, json};

use super::files::PublicKeys;
use super::{Args, Endpoint};
use crate::failure::Failure;

/// The port of the first path.
const FIRST_PORT: u16 = 7001;
/// The default number of paths, at least, where node a finds its uplinks itself, without a relay.
const DEFAULT_PATHS: usize = 2;
/// The port of a relay.
const RELAY_PORT: u16 = 7101;
/// The directory of the files on each machine: that of the system's services.
const DIRECTORY: &str = "/etc/polypath";
/// The directory of the state files: that of the system's services.
const STATE_DIRECTORY: &str = "/var/lib/polypath";

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
    has_preshared_key: bool,
}

/// The UDP ports at which a machine receives first, for its firewall.
pub(super) struct OpenPorts<'a> {
    machine: &'a str,
    ports: BTreeSet<u16>,
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
            has_preshared_key: args.preshared,
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

    /// The name of the file of the pre-shared key, if there is one.
    pub(super) fn preshared_key_file(&self) -> Option<String> {
        let (a, b) = (self.name(Side::A), self.name(Side::B));
        self.has_preshared_key.then(|| format!("{a}-{b}.psk"))
    }

    /// The machines that receive before they send, with their ports: node b on direct paths, and
    /// the relay.
    fn open_ports(&self) -> Vec<OpenPorts<'_>> {
        let direct = self.paths.iter().filter(|path| path.relay.is_none());
        let relays = self.paths.iter().filter_map(|path| path.relay);
        let all = [
            OpenPorts {
                machine: self.name(Side::B),
                ports: direct.map(|path| path.b.port()).collect(),
            },
            OpenPorts {
                machine: "relay",
                ports: relays.map(|relay| relay.port()).collect(),
            },
        ];
        let all = all.into_iter();
        all.filter(|open| !open.ports.is_empty()).collect()
    }

    /// The ports that firewalls must let pass, by machine.
    pub(super) fn open_ports_json(&self) -> Value {
        let open = self.open_ports().into_iter();
        let entries = open.map(|open| (open.machine.to_owned(), json!(open.ports)));
        Value::Object(entries.collect())
    }

    /// The names of the paths.
    pub(super) fn path_names(&self) -> Vec<&str> {
        self.paths.iter().map(|path| path.name.as_str()).collect()
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
        names.extend(self.preshared_key_file());
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
        let on = |machine: &str, command: String| NextCommand {
            machine: machine.to_owned(),
            command,
        };
        let copy = |(name, _, machine): &(&str, &str, String)| {
            let own = ["toml", "key"].map(|ending| format!("{name}.{ending}"));
            let shared = self.preshared_key_file().filter(|_| *name != "relay");
            let files = own.into_iter().chain(shared);
            let files: Vec<String> = files.map(|file| local(folder, &file)).collect();
            let target = quoted(&format!("root@{machine}:{DIRECTORY}/"));
            on("here", format!("scp -p {} {target}", files.join(" ")))
        };
        // Node b learns the addresses of its peer, and needs them after a restart.
        let learns = |name: &str| {
            let b = self.name(Side::B);
            name == b && self.paths.iter().any(|path| path.relay.is_none())
        };
        let start = |(name, command, _): &(&str, &str, String)| {
            let file = format!("{DIRECTORY}/{name}.toml");
            let run = if learns(name) {
                let state = format!("{STATE_DIRECTORY}/{name}.json");
                format!("mkdir -p {STATE_DIRECTORY} && polypath {command} {file} --state {state}")
            } else {
                format!("polypath {command} {file}")
            };
            on(name, format!("polypath check {file} && {run}"))
        };
        let mut commands: Vec<NextCommand> = owners.iter().map(copy).collect();
        commands.extend(owners.iter().map(start));
        let (a, peer) = (self.name(Side::A), self.tunnel.b[0].addr());
        commands.push(on(a, format!("ping -c 3 {peer}")));
        commands.push(on(a, format!("polypath status {}", quoted(&self.device))));
        commands
    }

    /// The written files and the next commands, for a terminal.
    pub(super) fn text(&self, folder: &Path) -> String {
        text::summary(self, folder)
    }
}

/// A file in the folder as a word of a command. `scp` takes the text before a colon for the name of
/// a machine, unless a slash precedes it.
fn local(folder: &Path, name: &str) -> String {
    let file = folder.join(name).display().to_string();
    let first = file.split('/').next().unwrap_or_default();
    if first.contains(':') {
        return shell_word(&format!("./{file}"));
    }
    shell_word(&file)
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
    let relay = args
        .relay
        .map(|relay| SocketAddr::new(relay.address, relay.port.unwrap_or(RELAY_PORT)));
    let count = path_count(args)?;
    let plan = |index| {
        let relay = relay.filter(|_| index + 1 == count);
        Ok(PathPlan {
            name: match relay {
                Some(_) => "relayed".to_owned(),
                None => format!("path{}", index + 1),
            },
            a: endpoint("--a-address", a, index)?,
            b: endpoint("--b-address", b, index)?.unwrap_or_else(unspecified),
            relay,
        })
    };
    (0..count).map(plan).collect()
}

/// The number of paths, that through the relay included.
fn path_count(args: &Args) -> Result<usize, Failure> {
    let (a, b) = (args.a_address.len(), args.b_address.len());
    let most = usize::from(PathSet::CAPACITY);
    let (option, addresses) = if a > b {
        ("--a-address", a)
    } else {
        ("--b-address", b)
    };
    let count = match args.paths {
        Some(count) => usize::from(count),
        None if args.relay.is_some() => addresses + 1,
        None if a == 0 => addresses.max(DEFAULT_PATHS),
        None => addresses,
    };
    if addresses > count {
        return Err(Failure::input(format!(
            "{option} has {addresses} addresses for --paths {count}; give at most one address for each path"
        )));
    }
    if count > most {
        return Err(Failure::input(format!(
            "there are {count} paths, and a node has at most {most}; give fewer addresses with {option}"
        )));
    }
    Ok(count)
}

fn unspecified() -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, FIRST_PORT).into()
}

/// The local address of a path: paths without an address of their own use the last one, at the
/// following ports.
fn endpoint(option: &str, all: &[Endpoint], index: usize) -> Result<Option<SocketAddr>, Failure> {
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
