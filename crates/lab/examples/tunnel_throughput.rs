//! One TCP connection through one tunnel with encryption, over a pair of virtual Ethernet interfaces:
//! `cargo run --release -p polypath-lab --example tunnel_throughput [SECONDS]`, as root.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_lab::preflight;
use polypath_live::clock::Clock;
use polypath_live::config::NodeConfig;
use polypath_live::keys;
use polypath_live::node::{Node, Options};

const ADDRESS: &str = "10.77.0.1:5000";

fn main() -> Result<(), Box<dyn Error>> {
    preflight()?;
    let seconds = std::env::args()
        .nth(1)
        .map_or(Ok(10), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    let (a, b) = (Namespace::new()?, Namespace::new()?);
    a.join(&b, "p1", ["10.1.1.1/24", "10.1.1.2/24"])?;
    let key = |name: &str| keys::generate(&directory.path().join(name));
    let (key_a, key_b) = (key("a.key")?.to_string(), key("b.key")?.to_string());
    let nodes = [
        open(&a, directory.path(), [("a", 1), ("b", 2)], &key_b)?,
        open(&b, directory.path(), [("b", 2), ("a", 1)], &key_a)?,
    ];
    let stops = nodes.each_ref().map(Node::stop_handle);
    let threads = nodes.map(|mut node| std::thread::spawn(move || node.run()));
    let rate = transfer(&a, &b, Duration::from_secs(seconds))?;
    println!("{:.0} Mbit/s of TCP payload over {seconds} s", rate / 1e6);
    for (stop, thread) in stops.into_iter().zip(threads) {
        stop.stop();
        let stats = thread.join().map_err(|_| "a node panicked")??;
        println!("{}", serde_json::to_string(&stats.paths)?);
    }
    Ok(())
}

/// A node called `ends[0]` with one path to `ends[1]`; each has a name and a digit of its addresses.
fn open(
    namespace: &Namespace,
    directory: &Path,
    ends: [(&str, u8); 2],
    peer_key: &str,
) -> io::Result<Node> {
    let [(name, digit), (_, peer)] = ends;
    let text = format!(
        "[node]\nkey_file = \"{name}.key\"\n\
         tun = {{ name = \"pp0\", addresses = [\"10.77.0.{digit}/24\"] }}\n\
         [peer]\npublic_key = \"{peer_key}\"\n[policy]\nkind = \"single-path\"\n\
         [[path]]\nname = \"one\"\nlocal = \"10.1.1.{digit}:7001\"\nremote = \"10.1.1.{peer}:7001\"\n"
    );
    let path = directory.join(format!("{name}.toml"));
    std::fs::write(&path, text)?;
    let config = NodeConfig::load(&path).map_err(io::Error::other)?;
    namespace.run(|| Node::open(&config, &Options::default()).map_err(io::Error::other))
}

/// Bits of TCP payload a second from `a` to `b`.
fn transfer(a: &Namespace, b: &Namespace, span: Duration) -> io::Result<f64> {
    let listener = a.run(|| TcpListener::bind(ADDRESS))?;
    let server = std::thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let bytes = vec![7; 65_536];
        loop {
            stream.write_all(&bytes)?;
        }
    });
    let mut stream = b.run(|| TcpStream::connect(ADDRESS))?;
    let mut buffer = vec![0; 1 << 20];
    let clock = Clock::starting_now();
    let mut bytes = 0;
    while clock.now().as_secs_f64() < span.as_secs_f64() {
        bytes += stream.read(&mut buffer)?;
    }
    let rate = bytes as f64 * 8.0 / clock.now().as_secs_f64();
    // The server ends when its connection does.
    drop(stream);
    let _ = server.join();
    Ok(rate)
}
