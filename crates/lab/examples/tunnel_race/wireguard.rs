//! The tunnel of wireguard-go, configured over its socket.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_live::keys::SystemEntropy;
use polypath_session::key::{PrivateKey, PublicKey};

use crate::{Endpoints, Tunnel};

struct Daemons(Vec<Child>);

impl Tunnel for Daemons {}

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn start(endpoints: &Endpoints) -> Result<impl Tunnel + use<>, Box<dyn Error>> {
    let key = || PrivateKey::generate(&mut SystemEntropy);
    let keys = [key()?, key()?];
    let mut daemons = Daemons(Vec::new());
    for (n, namespace) in [&endpoints.a, &endpoints.b].into_iter().enumerate() {
        let name = format!("wg{}{n}", std::process::id());
        daemons.0.push(spawn(namespace, &name)?);
        configure(&name, &keys[n], &keys[1 - n].public(), 2 - n)?;
        let address = format!("10.77.0.{}/24", n + 1);
        namespace.ip(&["address", "add", &address, "dev", &name])?;
        // The tunnel MTU over a path of 1500 bytes; polypath computes its own.
        namespace.ip(&["link", "set", &name, "mtu", "1440", "up"])?;
    }
    Ok(daemons)
}

fn spawn(namespace: &Namespace, name: &str) -> io::Result<Child> {
    let mut command = Command::new("wireguard-go");
    command
        .args(["-f", name])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    namespace.spawn(&mut command).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("wireguard-go: {error}; apt-get install wireguard-go"),
        )
    })
}

/// Configures the daemon's key and its peer's key and address.
fn configure(name: &str, own: &PrivateKey, peer: &PublicKey, digit: usize) -> io::Result<()> {
    let mut socket = connect(name)?;
    let (own, peer) = (hex(own.as_bytes()), hex(&peer.0));
    write!(
        socket,
        "set=1\nprivate_key={own}\nlisten_port=7001\npublic_key={peer}\nendpoint=10.1.1.{digit}:7001\n\
         allowed_ip=10.77.0.0/24\n\n"
    )?;
    socket.shutdown(Shutdown::Write)?;
    let mut reply = String::new();
    socket.read_to_string(&mut reply)?;
    if reply.contains("errno=0") {
        Ok(())
    } else {
        Err(io::Error::other(format!("wireguard-go: {reply}")))
    }
}

/// Connects to the daemon's socket once it exists.
fn connect(name: &str) -> io::Result<UnixStream> {
    let path = format!("/var/run/wireguard/{name}.sock");
    for _ in 0..100 {
        if let Ok(socket) = UnixStream::connect(&path) {
            return Ok(socket);
        }
        sleep(Duration::from_millis(50));
    }
    Err(io::Error::other(format!(
        "wireguard-go: no socket at {path} after 5 s"
    )))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
