//! The configuration of a relay: a TOML file, validated whole before anything is opened.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use polypath_core::units::Rate;
use polypath_document::file;
use polypath_document::{self as document, Document, Errors, FileKind, Problems};
use polypath_session::key::PublicKey;
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{check_interface, check_sockets, check_user};
use super::{LoadError, PathConfig, address, default_true, public_key};
use crate::keys;

/// The number of nodes of a path.
const NODES: usize = 2;

/// The configuration of a relay: a port for each path, and the two nodes that it connects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelayFile {
    /// This relay.
    pub relay: RelaySettings,
    /// The paths that it forwards.
    #[serde(rename = "path")]
    pub paths: Vec<RelayedPath>,
}

/// This relay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelaySettings {
    /// The file of the relay's private key, relative to the configuration file.
    pub key_file: PathBuf,
    /// The user to whom the relay, started as root, drops its privileges once all sockets are open:
    /// by default `polypath` if there is this user, else `nobody`. `"root"` keeps them.
    #[serde(default)]
    pub user: Option<String>,
}

/// A path that the relay forwards.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelayedPath {
    /// The name in logs and statistics.
    pub name: String,
    /// The address and port at which the relay receives from both nodes: `"192.0.2.9:7101"`.
    #[serde(deserialize_with = "address")]
    #[schemars(with = "String")]
    pub local: SocketAddr,
    /// The rate limit for the datagrams of each node, without IP and UDP headers: `"100 Mbit/s"`.
    pub rate: Rate,
    /// The two nodes.
    pub nodes: Vec<RelayedNode>,
    /// The interface that the path is bound to, regardless of the routing table.
    #[serde(default)]
    pub interface: Option<String>,
    /// Whether a datagram is forwarded with the DSCP with which it arrived (RFC 2474); an observer
    /// then sees the class of each packet.
    #[serde(default = "default_true")]
    pub copy_dscp: bool,
}

/// A node of a path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelayedNode {
    /// The name in logs and statistics.
    pub name: String,
    /// Its public key, as printed by `polypath key` on its machine.
    #[serde(deserialize_with = "public_key")]
    #[schemars(with = "String")]
    pub public_key: PublicKey,
}

impl Document for RelayFile {}

impl RelayFile {
    /// Loads the file `path`; relative paths in it are relative to its directory.
    ///
    /// # Errors
    /// All mistakes of the file at once, also a node's key that is the relay's own.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let text = file::read_text(path, &[FileKind::Relay])?;
        Ok(Self::of_file(path, &text)?)
    }

    /// Parses `text`, the content of the file `path`, like [`Self::load`].
    ///
    /// # Errors
    /// All mistakes of the file at once, also a node's key that is the relay's own.
    pub fn of_file(path: &Path, text: &str) -> Result<Self, Errors> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let name = path.display().to_string();
        let check_all = |file: &Self, problems: &mut Problems| {
            check(file, problems);
            check_user("relay.user", file.relay.user.as_deref(), problems);
            check_key(file, &directory.join(&file.relay.key_file), problems);
        };
        let (mut file, _) = document::read_checked(text, &name, &[], check_all)?;
        file.relay.key_file = directory.join(&file.relay.key_file);
        Ok(file)
    }

    /// Parses `text` of the file `file_name`.
    ///
    /// # Errors
    /// All mistakes of the text at once.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, Errors> {
        document::read_checked(text, file_name, &[], check).map(|(file, _)| file)
    }

    /// The JSON schema of the file.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(RelayFile).to_value()
    }
}

impl RelayedPath {
    /// The configuration of the path's socket.
    #[must_use]
    pub fn socket(&self) -> PathConfig {
        PathConfig {
            interface: self.interface.clone(),
            copy_dscp: self.copy_dscp,
            // A relay that lost marks would hide congestion from ECN-capable transports.
            copy_ecn: true,
            ..PathConfig::bound_to(&self.name, self.local)
        }
    }
}

fn check(file: &RelayFile, problems: &mut Problems) {
    if file.paths.is_empty() {
        problems.report("path", "there is no path", "give a `[[path]]` table");
    }
    let sockets = file.paths.iter();
    check_sockets(sockets.map(|p| (p.local, p.interface.as_deref())), problems);
    let mut names = BTreeSet::new();
    for (index, path) in file.paths.iter().enumerate() {
        let key = |field: &str| format!("path.{index}.{field}");
        if path.name.is_empty() {
            problems.report(&key("name"), "the name is empty", "give the path a name");
        } else if !names.insert(&path.name) {
            let message = format!("path name `{}` is used twice", path.name);
            problems.report(&key("name"), message, "rename one of them");
        }
        if path.local.port() == 0 {
            let remedy = "give the port to which the nodes send";
            problems.report(&key("local"), "the nodes cannot know this port", remedy);
        }
        if path.rate.0 == 0 {
            let remedy = "use for example \"100 Mbit/s\"";
            problems.report(&key("rate"), "a rate of 0 forwards nothing", remedy);
        }
        if let Some(name) = &path.interface {
            check_interface(&key("interface"), name, problems);
        }
        check_nodes(&path.nodes, &key("nodes"), problems);
    }
}

fn check_nodes(nodes: &[RelayedNode], key: &str, problems: &mut Problems) {
    if nodes.len() != NODES {
        let message = format!("a path connects two nodes, and {} are given", nodes.len());
        let remedy = "give two: nodes = [{ name = \"a\", public_key = \"...\" }, { ... }]";
        problems.report(key, message, remedy);
    }
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for (index, node) in nodes.iter().enumerate() {
        if node.name.is_empty() || !names.insert(&node.name) {
            let message = format!("node name `{}` is empty or used twice", node.name);
            let key = format!("{key}.{index}.name");
            problems.report(&key, message, "give each its own name");
        }
        if !keys.insert(node.public_key) {
            let key = format!("{key}.{index}.public_key");
            let remedy = "give the key printed by `polypath key` for the other node";
            problems.report(&key, "both nodes have this key", remedy);
        }
    }
}

/// Checks that no node has the relay's own key, in the file `own`.
fn check_key(file: &RelayFile, own: &Path, problems: &mut Problems) {
    let Ok(own) = keys::load(own).map(|own| own.public()) else {
        return;
    };
    for (index, path) in file.paths.iter().enumerate() {
        for (number, node) in path.nodes.iter().enumerate() {
            if node.public_key == own {
                let key = format!("path.{index}.nodes.{number}.public_key");
                let remedy = "give the key printed by `polypath key` for the node";
                problems.report(&key, "this is the relay's own key", remedy);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[relay]
key_file = "relay.key"
[[path]]
name = "one"
local = "192.0.2.9:7101"
rate = "100 Mbit/s"
nodes = [
  { name = "a", public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=" },
  { name = "b", public_key = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=" },
]
[[path]]
name = "two"
local = "192.0.2.9:7102"
rate = "1 Mbit/s"
nodes = [
  { name = "a", public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=" },
  { name = "b", public_key = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=" },
]
"#;

    #[test]
    fn a_complete_file_is_read() {
        let file = RelayFile::parse(GOOD, "relay.toml").unwrap();
        assert_eq!(file.paths.len(), 2);
        assert_eq!(file.paths[0].rate, Rate::from_mbits(100));
        assert_eq!(file.paths[1].nodes[1].name, "b");
        assert!(file.paths.iter().all(|path| path.copy_dscp));
        let key = "name = \"two\"";
        let forbidden = GOOD.replacen(key, &format!("{key}\ncopy_dscp = false"), 1);
        let file = RelayFile::parse(&forbidden, "relay.toml").unwrap();
        assert_eq!([0, 1].map(|n| file.paths[n].copy_dscp), [true, false]);
    }

    #[test]
    fn mistakes_are_reported_with_line_and_remedy() {
        let cases = [
            ("192.0.2.9:7101", "192.0.2.9:0", "relay.toml:6:", "port"),
            (
                "192.0.2.9:7102",
                "192.0.2.9:7101",
                "relay.toml:14:",
                "two paths receive",
            ),
            (
                "192.0.2.9:7102",
                "0.0.0.0:7101",
                "relay.toml:14:",
                "path.0.local is 192.0.2.9:7101, path.1.local is 0.0.0.0:7101",
            ),
            ("100 Mbit/s", "0 Mbit/s", "relay.toml:7:", "100 Mbit/s"),
            ("100 Mbit/s", "fast", "relay.toml:7:", "Mbit/s"),
            ("\"two\"", "\"one\"", "relay.toml:13:", "rename"),
            (
                "rate = \"1 Mbit/s\"",
                "rat = \"1 Mbit/s\"",
                "relay.toml:15:",
                "`rate`",
            ),
            ("name = \"b\"", "name = \"a\"", "relay.toml:10:", "own name"),
            (
                "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
                "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=",
                "relay.toml:10:",
                "both nodes",
            ),
            (
                "  { name = \"b\", public_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\" },\n",
                "",
                "relay.toml:8:",
                "two nodes",
            ),
        ];
        for (old, new, line, words) in cases {
            let text = GOOD.replacen(old, new, 1);
            assert_ne!(text, GOOD, "{old}");
            let message = RelayFile::parse(&text, "relay.toml")
                .unwrap_err()
                .to_string();
            assert!(
                message.contains(line) && message.contains(words),
                "{new}: {message}"
            );
        }
    }

    #[test]
    fn a_node_with_the_key_of_the_relay_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let key = keys::generate(&directory.path().join("relay.key")).unwrap();
        let file = directory.path().join("relay.toml");
        let old = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        std::fs::write(&file, GOOD.replacen(old, &key.to_string(), 1)).unwrap();
        let message = RelayFile::load(&file).unwrap_err().to_string();
        assert!(
            message.contains("relay.toml:9:") && message.contains("own key"),
            "{message}"
        );
        std::fs::write(&file, GOOD).unwrap();
        assert_eq!(
            RelayFile::load(&file).unwrap().relay.key_file,
            directory.path().join("relay.key")
        );
    }
}
