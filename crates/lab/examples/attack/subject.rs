//! The programs under attack, and a pair of them in two namespaces.

use std::fs::{self, Permissions};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use polypath_lab::namespace::Namespace;
use polypath_live::keys::{self, SystemEntropy};
use polypath_session::key::{PrivateKey, PublicKey};
use tempfile::TempDir;

use crate::daemon::{Daemon, RunningDaemon};
use crate::inject::outside;
use crate::middle::Middle;
use crate::slow::METRICS;

/// A program under attack.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// The program `polypath` at this path.
    Polypath(PathBuf),
    /// `wireguard-go` of the machine.
    WireguardGo,
}

/// A running process, killed on drop.
pub(crate) enum Process {
    Polypath(Child),
    Wireguard(#[expect(dead_code, reason = "killed on drop")] RunningDaemon),
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Self::Polypath(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A running node or daemon that no other accepts.
pub(crate) struct Stranger {
    _process: Process,
    _directory: TempDir,
}

/// The way between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Direct,
    /// As direct, but the first node learns the address of the second.
    Learned,
    ByRelay,
    /// Through an attacker who forwards.
    ByAttacker,
}

/// Two nodes, with a relay between them or without.
pub(crate) struct Pair {
    subject: Subject,
    way: Way,
    namespaces: [Namespace; 2],
    /// The namespace of a relay or attacker.
    middle: Option<Namespace>,
    keys: [PrivateKey; 2],
    relay_key: PrivateKey,
    directory: TempDir,
    /// The ports of the nodes.
    ports: [u16; 2],
    nodes: [Option<Process>; 2],
    relay_process: Option<Process>,
    /// Whether the second node keeps its state over restarts.
    keeps_state: bool,
}

/// The last digits of the nodes' addresses in the tunnel.
const DIGITS: [u8; 2] = [1, 2];

impl Subject {
    /// Starts a node or daemon with a key that nobody knows, whose peer is `target` at `address`.
    pub(crate) fn start_stranger(
        &self,
        namespace: &Namespace,
        target: PublicKey,
        address: SocketAddrV4,
    ) -> io::Result<Stranger> {
        let directory = tempfile::tempdir()?;
        let key = generate()?;
        let path = format!("local = \"127.0.0.1:7001\"\nremote = \"{address}\"\n");
        let node = NodeSpec {
            name: "stranger",
            digit: 9,
            key: &key,
            peer: target,
            path: &path,
            endpoint: address,
            keepalive: true,
        };
        Ok(Stranger {
            _process: self.start(&node, namespace, directory.path(), None)?,
            _directory: directory,
        })
    }

    fn start(
        &self,
        node: &NodeSpec<'_>,
        namespace: &Namespace,
        directory: &Path,
        state: Option<&Path>,
    ) -> io::Result<Process> {
        match self {
            Self::WireguardGo => {
                let address = format!("10.77.0.{}/24", node.digit);
                let daemon = Daemon {
                    private_key: node.key,
                    peer: node.peer,
                    endpoint: node.endpoint,
                    address: &address,
                    keepalive: node.keepalive,
                };
                daemon.start(namespace).map(Process::Wireguard)
            }
            Self::Polypath(program) => {
                let file = node.write(directory)?;
                let mut command = Command::new(program);
                command.arg("node").arg(file);
                if let Some(state) = state {
                    command.arg("--state").arg(state);
                }
                spawn(namespace, &mut command, directory, node.name)
            }
        }
    }
}

fn generate() -> io::Result<PrivateKey> {
    PrivateKey::generate(&mut SystemEntropy).map_err(io::Error::other)
}

fn spawn(
    namespace: &Namespace,
    command: &mut Command,
    directory: &Path,
    name: &str,
) -> io::Result<Process> {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(directory.join(format!("{name}.log")))?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    namespace.spawn(command).map(Process::Polypath)
}

/// One node of a pair.
struct NodeSpec<'a> {
    name: &'a str,
    digit: u8,
    key: &'a PrivateKey,
    peer: PublicKey,
    /// The rest of its path's table.
    path: &'a str,
    /// The address to which a daemon of wireguard-go sends.
    endpoint: SocketAddrV4,
    /// Whether such a daemon connects at once.
    keepalive: bool,
}

impl NodeSpec<'_> {
    /// Writes its files to `directory` and returns the configuration.
    fn write(&self, directory: &Path) -> io::Result<PathBuf> {
        let Self {
            name,
            digit,
            peer,
            path,
            ..
        } = self;
        write_key(directory, name, self.key)?;
        let text = format!(
            "[node]\nkey_file = \"{name}.key\"\n\
             tun = {{ name = \"pp0\", addresses = [\"10.77.0.{digit}/24\"] }}\n\
             [peer]\npublic_key = \"{peer}\"\n\
             [policy]\nkind = \"single-path\"\n\
             [control]\nsocket = \"{name}.sock\"\n\
             [metrics]\nlisten = \"{METRICS}\"\n\
             [[path]]\nname = \"one\"\n{path}"
        );
        let file = directory.join(format!("{name}.toml"));
        fs::write(&file, text)?;
        Ok(file)
    }
}

fn write_key(directory: &Path, name: &str, key: &PrivateKey) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(directory.join(format!("{name}.key")))?;
    io::Write::write_all(&mut file, key.to_base64().as_bytes())
}

impl Pair {
    /// Two nodes that run; the second keeps its state over restarts if `keeps_state`.
    pub(crate) fn start(subject: &Subject, way: Way, keeps_state: bool) -> io::Result<Self> {
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let middle = match way {
            Way::Direct | Way::Learned => {
                let [a, b] = &namespaces;
                a.join(b, "p1", ["10.1.1.1/24", "10.1.1.2/24"])?;
                for (node, gateway) in [(a, "10.1.1.2"), (b, "10.1.1.1")] {
                    node.ip(&["route", "add", &outside(), "via", gateway])?;
                }
                None
            }
            Way::ByRelay | Way::ByAttacker => {
                let middle = Namespace::new()?;
                namespaces[0].join(&middle, "p1", ["10.1.1.1/24", "10.1.1.9/24"])?;
                namespaces[1].join(&middle, "p2", ["10.1.2.2/24", "10.1.2.9/24"])?;
                Some(middle)
            }
        };
        let mut pair = Self {
            subject: subject.clone(),
            way,
            namespaces,
            middle,
            keys: [generate()?, generate()?],
            relay_key: generate()?,
            directory: tempfile::tempdir()?,
            ports: [7001; 2],
            nodes: [None, None],
            relay_process: None,
            keeps_state,
        };
        pair.start_relay()?;
        pair.start_node(0)?;
        pair.start_node(1)?;
        Ok(pair)
    }

    fn start_relay(&mut self) -> io::Result<()> {
        let (Some(namespace), Subject::Polypath(program), Way::ByRelay) =
            (&self.middle, &self.subject, self.way)
        else {
            return Ok(());
        };
        let directory = self.directory.path();
        write_key(directory, "relay", &self.relay_key)?;
        // The relay that root starts becomes another user.
        let statistics = self.relay_statistics();
        for (folder, mode) in [(Some(directory), 0o711), (statistics.parent(), 0o777)] {
            let folder = folder.ok_or(io::ErrorKind::NotFound)?;
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, Permissions::from_mode(mode))?;
        }
        let [a, b] = [0, 1].map(|of: usize| self.keys[of].public());
        let text = format!(
            "[relay]\nkey_file = \"relay.key\"\n\
             [[path]]\nname = \"one\"\nlocal = \"0.0.0.0:7101\"\nrate = \"1 Gbit/s\"\n\
             nodes = [{{ name = \"a\", public_key = \"{a}\" }}, {{ name = \"b\", public_key = \"{b}\" }}]\n"
        );
        let file = directory.join("relay.toml");
        fs::write(&file, text)?;
        let mut command = Command::new(program);
        command
            .arg("relay")
            .arg(file)
            .arg("--stats")
            .arg(statistics);
        self.relay_process = Some(spawn(namespace, &mut command, directory, "relay")?);
        Ok(())
    }

    /// Kills a node, without notice to its peer.
    pub(crate) fn stop_node(&mut self, which: usize) {
        self.nodes[which] = None;
    }

    /// Gives a node another port from its next start on.
    pub(crate) fn move_node(&mut self, which: usize) {
        self.ports[which] += 1;
    }

    /// Starts or restarts a node, without notice to its peer.
    pub(crate) fn start_node(&mut self, which: usize) -> io::Result<()> {
        self.stop_node(which);
        let own = self.address(which);
        let target = self.target_of(which);
        let path = match self.way {
            Way::Learned if which == 0 => format!("local = \"{own}\"\n"),
            Way::Direct | Way::Learned | Way::ByAttacker => {
                format!("local = \"{own}\"\nremote = \"{target}\"\n")
            }
            Way::ByRelay => format!(
                "local = \"{own}\"\nrelay = {{ public_key = \"{}\", address = \"{target}\" }}\n",
                self.relay_key.public()
            ),
        };
        let node = NodeSpec {
            name: ["a", "b"][which],
            digit: DIGITS[which],
            key: &self.keys[which],
            peer: self.keys[1 - which].public(),
            path: &path,
            endpoint: target,
            keepalive: false,
        };
        let state = (which == 1 && self.keeps_state).then(|| self.file("state.json"));
        let (directory, namespace) = (self.directory.path(), &self.namespaces[which]);
        let process = (self.subject).start(&node, namespace, directory, state.as_deref())?;
        self.nodes[which] = Some(process);
        Ok(())
    }

    /// The address of a node on its path.
    pub(crate) fn address(&self, which: usize) -> SocketAddrV4 {
        let network = match self.way {
            Way::Direct | Way::Learned => 1,
            Way::ByRelay | Way::ByAttacker => [1, 2][which],
        };
        let address = Ipv4Addr::new(10, 1, network, DIGITS[which]);
        SocketAddrV4::new(address, self.ports[which])
    }

    /// The attacker who forwards between the nodes, if they use one.
    pub(crate) fn start_attacker(&self) -> io::Result<Option<Middle>> {
        let namespace = self.middle.as_ref().filter(|_| self.way == Way::ByAttacker);
        let start = |namespace| {
            let at = [0, 1].map(|which| self.target_of(which));
            Middle::start(namespace, at, [0, 1].map(|which| self.address(which)))
        };
        namespace.map(start).transpose()
    }

    /// The address to which a node sends: of its peer, or of the relay or attacker.
    pub(crate) fn target_of(&self, which: usize) -> SocketAddrV4 {
        match self.way {
            Way::Direct | Way::Learned => self.address(1 - which),
            Way::ByRelay | Way::ByAttacker => {
                SocketAddrV4::new(Ipv4Addr::new(10, 1, [1, 2][which], 9), 7101)
            }
        }
    }

    /// The public key of the receiver at [`Self::target_of`].
    pub(crate) fn target_key(&self, which: usize) -> PublicKey {
        match self.way {
            Way::Direct | Way::Learned | Way::ByAttacker => self.keys[1 - which].public(),
            Way::ByRelay => self.relay_key.public(),
        }
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.subject
    }

    pub(crate) fn way(&self) -> Way {
        self.way
    }

    pub(crate) fn namespace(&self, which: usize) -> &Namespace {
        &self.namespaces[which]
    }

    pub(crate) fn ends(&self) -> [&Namespace; 2] {
        let [a, b] = &self.namespaces;
        [a, b]
    }

    /// A file of the pair.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The statistics file of the relay.
    pub(crate) fn relay_statistics(&self) -> PathBuf {
        self.file("relay/stats.json")
    }

    /// The last lines of the nodes' logs.
    pub(crate) fn logs(&self) -> String {
        let read = |name: &str| {
            let text = fs::read_to_string(self.file(&format!("{name}.log"))).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(5)..];
            format!("{name}:\n{}\n", last.join("\n"))
        };
        ["a", "b", "relay"].map(read).concat()
    }
}

/// Writes the configuration of a node whose peer has the public key `peer`; returns the file.
pub(crate) fn write_node_with_peer(directory: &Path, peer: &str) -> io::Result<PathBuf> {
    keys::generate(&directory.join("own.key")).map_err(io::Error::other)?;
    let text = format!(
        "[node]\nkey_file = \"own.key\"\n\
         tun = {{ name = \"pp0\", addresses = [\"10.77.0.1/24\"] }}\n\
         [peer]\npublic_key = \"{peer}\"\n[policy]\nkind = \"single-path\"\n\
         [[path]]\nname = \"one\"\nlocal = \"10.1.1.1:7001\"\nremote = \"10.1.1.2:7001\"\n"
    );
    let file = directory.join("own.toml");
    fs::write(&file, text)?;
    Ok(file)
}
