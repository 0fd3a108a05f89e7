//! The tunnel of polypath: two nodes, each a process of its own.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_live::keys;
use tempfile::TempDir;

use crate::{Endpoints, Policy, Tunnel};

/// Running processes, killed on drop.
struct Nodes {
    running: Vec<Child>,
    directory: TempDir,
}

impl Tunnel for Nodes {}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.running {
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}

/// The settings of both nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeSettings {
    pub(crate) policy: Policy,
    /// Segmentation offload of their TUN devices.
    pub(crate) offload: bool,
}

/// Starts two nodes of `program`, with their TUN devices up.
pub(crate) fn start(
    endpoints: &Endpoints,
    program: &Path,
    settings: NodeSettings,
) -> Result<impl Tunnel + use<>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let key = |name: &str| keys::generate(&directory.path().join(name));
    let (key_a, key_b) = (key("a.key")?.to_string(), key("b.key")?.to_string());
    let specs = [(&endpoints.a, A, B, key_b), (&endpoints.b, B, A, key_a)];
    let mut nodes = Nodes {
        running: Vec::new(),
        directory,
    };
    for (namespace, own, peer, peer_key) in specs {
        let file = write_config(nodes.directory.path(), own, peer, &peer_key, settings)?;
        let mut command = Command::new(program);
        let log = nodes.directory.path().join(format!("{}.log", own.name));
        command.arg("node").arg(file).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(File::create(&log)?);
        let mut node = namespace.spawn(&mut command)?;
        let started = wait_for_device(namespace, own, &mut node);
        nodes.running.push(node);
        started.map_err(|error| format!("{error}; its log ends with\n{}", last_lines(&log)))?;
    }
    Ok(nodes)
}

/// A node's name and the last digit of its addresses.
#[derive(Clone, Copy)]
struct Identity {
    name: &'static str,
    digit: u8,
}

const A: Identity = Identity {
    name: "a",
    digit: 1,
};
const B: Identity = Identity {
    name: "b",
    digit: 2,
};

/// Writes the configuration of a node with one path to its peer; returns the file.
fn write_config(
    directory: &Path,
    own: Identity,
    peer: Identity,
    peer_key: &str,
    settings: NodeSettings,
) -> io::Result<PathBuf> {
    let (Identity { name, digit }, peer) = (own, peer.digit);
    let (policy, offload) = (settings.policy.kind(), settings.offload);
    let text = format!(
        "[node]\nkey_file = \"{name}.key\"\n\
         tun = {{ name = \"pp0\", addresses = [\"10.77.0.{digit}/24\"], offload = {offload} }}\n\
         [peer]\npublic_key = \"{peer_key}\"\n[policy]\nkind = \"{policy}\"\n\
         [[path]]\nname = \"one\"\nlocal = \"10.1.1.{digit}:7001\"\nremote = \"10.1.1.{peer}:7001\"\n"
    );
    let file = directory.join(format!("{name}.toml"));
    fs::write(&file, text)?;
    Ok(file)
}

/// Waits until the node has given its TUN device the address.
///
/// # Errors
/// Its `process` has ended before, or it takes more than 5 s.
fn wait_for_device(namespace: &Namespace, node: Identity, process: &mut Child) -> io::Result<()> {
    let address = Ipv4Addr::new(10, 77, 0, node.digit);
    for _ in 0..500 {
        if namespace.run(|| UdpSocket::bind((address, 0))).is_ok() {
            return Ok(());
        }
        if let Some(status) = process.try_wait()? {
            let message = format!("node {} has ended with {status}", node.name);
            return Err(io::Error::other(message));
        }
        sleep(Duration::from_millis(10));
    }
    let message = format!("node {} has no TUN device after 5 s", node.name);
    Err(io::Error::new(io::ErrorKind::TimedOut, message))
}

/// The last lines of a log.
fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
