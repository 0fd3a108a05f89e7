//! The texts of the files, and of the summary.

use std::fmt::{Display, Write as _};
use std::path::Path;

use super::{NextCommand, OpenPorts, PathPlan, Plan, PublicKeys, Side, any_of, local};

/// The column of comments.
const COMMENTS: usize = 34;

/// Lines of TOML with comments.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn comment(&mut self, text: &str) {
        let _ = writeln!(self.0, "# {text}");
    }

    fn table(&mut self, header: &str, comment: &str) {
        self.0.push('\n');
        self.line(header, comment);
    }

    fn string(&mut self, key: &str, value: impl Display, comment: &str) {
        // A string in JSON is one in TOML, too, but for DEL, which parsing then refuses.
        let value = serde_json::Value::String(value.to_string());
        self.line(&format!("{key} = {value}"), comment);
    }

    /// A line with its comment, or below it if the line is long.
    fn line(&mut self, line: &str, comment: &str) {
        if line.len() > COMMENTS {
            self.comment(comment);
            let _ = writeln!(self.0, "{line}");
        } else {
            let _ = writeln!(self.0, "{line:COMMENTS$} # {comment}");
        }
    }
}

/// The text of the file of a node.
pub(super) fn node(plan: &Plan, side: Side, keys: &PublicKeys) -> String {
    let mut lines = Lines::default();
    let (name, peer) = (plan.name(side), plan.name(side.other()));
    lines.comment(&format!(
        "Node {name}, whose peer is node {peer}; written by `polypath init`."
    ));
    lines.comment("`polypath check` checks this file, and `polypath schema node` prints all keys.");
    if side == Side::A && plan.paths.iter().any(|path| path.a.is_none()) {
        lines.0.push('\n');
        lines.string(
            "paths",
            "auto",
            "each path uses an uplink of its own, found at run time",
        );
    }
    lines.table("[node]", "this node");
    lines.string(
        "key_file",
        plan.key_file(side),
        "its private key, relative to this file",
    );
    lines.table(
        "[node.tun]",
        "the device of the tunnel: packets routed to it reach the peer",
    );
    lines.string("name", &plan.device, "an unused interface name");
    let addresses = plan.tunnel.of(side).iter();
    let addresses: Vec<String> = addresses.map(|address| format!("\"{address}\"")).collect();
    let of_peer = plan.tunnel.of(side.other()).iter();
    let of_peer: Vec<String> = of_peer.map(|address| address.addr().to_string()).collect();
    let comment = format!("its addresses; the peer has {}", of_peer.join(" and "));
    lines.line(&format!("addresses = [{}]", addresses.join(", ")), &comment);
    lines.table("[peer]", &format!("node {peer}"));
    let (key, other) = match side {
        Side::A => (keys.b, Side::B),
        Side::B => (keys.a, Side::A),
    };
    let comment = format!("the public key of its {}", plan.key_file(other));
    lines.string("public_key", key, &comment);
    if let Some(file) = plan.preshared_key_file() {
        lines.string("preshared_key_file", file, "the same key at both nodes");
    }
    lines.table(
        "[policy]",
        "the paths of each packet; `polypath schema node` lists them",
    );
    lines.string("kind", &plan.policy, "at both nodes the same, usually");
    for path in &plan.paths {
        self::path(&mut lines, path, side, keys);
    }
    lines.0
}

fn path(lines: &mut Lines, path: &PathPlan, side: Side, keys: &PublicKeys) {
    lines.table("[[path]]", "in the same order at both nodes");
    lines.string("name", &path.name, "in logs and statistics");
    let local = match side {
        Side::A => path.a,
        Side::B => Some(path.b),
    };
    if let Some(local) = local {
        let comment = match (side, path.relay) {
            (Side::B, None) => "this machine's address and UDP port; open it in the firewall",
            _ => "this machine's own address (not that of a NAT) and UDP port",
        };
        lines.string("local", local, comment);
    }
    match (path.relay, keys.relay) {
        (Some(address), Some(key)) => {
            lines.line(
                "[path.relay]",
                "the relay that forwards this path, instead of a `remote`",
            );
            lines.string("public_key", key, "the public key of its relay.key");
            lines.string("address", address, "where it receives this path");
        }
        _ if side == Side::A => {
            lines.string("remote", path.b, "where the peer receives this path");
        }
        _ => lines.comment("no `remote`: it is learned from the peer, followed through NATs, and kept by `--state`"),
    }
}

/// The text of the relay's file, if there is a relay.
pub(super) fn relay(plan: &Plan, keys: &PublicKeys) -> Option<String> {
    let address = plan.paths.iter().find_map(|path| path.relay)?;
    let mut lines = Lines::default();
    let (a, b) = (plan.name(Side::A), plan.name(Side::B));
    lines.comment(&format!(
        "The relay between nodes {a} and {b}; written by `polypath init`."
    ));
    lines
        .comment("`polypath check` checks this file, and `polypath schema relay` prints all keys.");
    lines.table("[relay]", "this relay");
    lines.string(
        "key_file",
        "relay.key",
        "its private key, relative to this file",
    );
    lines.table("[[path]]", "a path that it forwards");
    lines.string("name", format!("{a}-{b}"), "in logs and statistics");
    let local = std::net::SocketAddr::new(any_of(address.ip()), address.port());
    lines.string(
        "local",
        local,
        "where it receives; open this UDP port in the firewall",
    );
    lines.string(
        "rate",
        plan.relay_rate,
        "the most that it forwards for each node",
    );
    lines.0.push_str("nodes = [\n");
    for (name, key) in [(a, &keys.a), (b, &keys.b)] {
        let _ = writeln!(
            lines.0,
            "  {{ name = \"{name}\", public_key = \"{key}\" }},"
        );
    }
    lines.0.push_str("]\n");
    Some(lines.0)
}

/// The written files and the next commands.
pub(super) fn summary(plan: &Plan, folder: &Path) -> String {
    let mut text = format!(
        "written to {}: {}\n",
        folder.display(),
        plan.names().join(", ")
    );
    let paths = plan.path_names();
    let _ = writeln!(text, "paths: {}", paths.join(", "));
    if let [_] = paths[..] {
        text.push_str(
            "  a single path cannot fail over: give --paths 2 or more, an address of another uplink, or --relay with a direct path\n",
        );
    }
    for side in [Side::A, Side::B] {
        let addresses = plan.tunnel.of(side).iter();
        let addresses: Vec<String> = addresses.map(|net| net.addr().to_string()).collect();
        let _ = writeln!(
            text,
            "node {} in the tunnel: {}",
            plan.name(side),
            addresses.join(", ")
        );
    }
    for OpenPorts { machine, ports } in plan.open_ports() {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let _ = writeln!(
            text,
            "open in the firewall of {machine}: UDP {}",
            ports.join(", ")
        );
    }
    text.push_str("\nNext (as root, with polypath installed and /etc/polypath on each machine):\n");
    let commands = plan.next_commands(folder);
    let width = commands
        .iter()
        .map(|next| next.machine.len())
        .max()
        .unwrap_or(0);
    for NextCommand { machine, command } in &commands {
        let _ = writeln!(
            text,
            "  {:width$}  {command}",
            format!("{machine}:"),
            width = width + 1
        );
    }
    let mut keys = vec![plan.key_file(Side::A), plan.key_file(Side::B)];
    keys.extend(plan.preshared_key_file());
    if plan.has_relay() {
        keys.push("relay.key".to_owned());
    }
    let keys: Vec<String> = keys.iter().map(|key| local(folder, key)).collect();
    let _ = writeln!(
        text,
        "\nOnce they are copied, remove the private keys here: rm {}",
        keys.join(" ")
    );
    text
}
