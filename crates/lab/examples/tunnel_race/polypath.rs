//! The tunnel of polypath: two nodes, each on a thread of its own.

use std::error::Error;
use std::io;
use std::path::Path;
use std::thread::JoinHandle;

use polypath_lab::namespace::Namespace;
use polypath_live::config::NodeConfig;
use polypath_live::drive::StopHandle;
use polypath_live::keys;
use polypath_live::node::{Node, Options};
use tempfile::TempDir;

use crate::{Endpoints, Tunnel};

struct Nodes {
    running: Vec<(StopHandle, JoinHandle<()>)>,
    _directory: TempDir,
}

impl Tunnel for Nodes {}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (stop, thread) in self.running.drain(..) {
            stop.stop();
            let _ = thread.join();
        }
    }
}

pub(crate) fn start(
    endpoints: &Endpoints,
    offload: bool,
) -> Result<impl Tunnel + use<>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let key = |name: &str| keys::generate(&directory.path().join(name));
    let (key_a, key_b) = (key("a.key")?.to_string(), key("b.key")?.to_string());
    let nodes = [
        open(&endpoints.a, directory.path(), [A, B], &key_b, offload)?,
        open(&endpoints.b, directory.path(), [B, A], &key_a, offload)?,
    ];
    let running = nodes.map(|mut node| {
        let stop = node.stop_handle();
        let run = move || {
            if let Err(error) = node.run() {
                eprintln!("{error}");
            }
        };
        let thread = std::thread::Builder::new().name("node".to_owned());
        thread.spawn(run).map(|thread| (stop, thread))
    });
    let running = running.into_iter().collect::<io::Result<_>>()?;
    Ok(Nodes {
        running,
        _directory: directory,
    })
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

/// Opens a node with one path to its peer.
fn open(
    namespace: &Namespace,
    directory: &Path,
    [own, peer]: [Identity; 2],
    peer_key: &str,
    offload: bool,
) -> io::Result<Node> {
    let (Identity { name, digit }, peer) = (own, peer.digit);
    let text = format!(
        "[node]\nkey_file = \"{name}.key\"\n\
         tun = {{ name = \"pp0\", addresses = [\"10.77.0.{digit}/24\"], offload = {offload} }}\n\
         [peer]\npublic_key = \"{peer_key}\"\n[policy]\nkind = \"single-path\"\n\
         [[path]]\nname = \"one\"\nlocal = \"10.1.1.{digit}:7001\"\nremote = \"10.1.1.{peer}:7001\"\n"
    );
    let path = directory.join(format!("{name}.toml"));
    std::fs::write(&path, text)?;
    let config = NodeConfig::load(&path).map_err(io::Error::other)?;
    namespace.run(|| Node::open(&config, &Options::default()).map_err(io::Error::other))
}
