//! Daemons of wireguard-go, configured over their sockets.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_session::key::{PrivateKey, PublicKey};

/// The port at which each daemon receives.
const PORT: u16 = 7001;
/// The MTU of the tunnel over a path of 1500 bytes.
const MTU: &str = "1440";

/// The configuration of a daemon with one peer.
pub(crate) struct Daemon<'a> {
    /// Its private key.
    pub(crate) private_key: &'a PrivateKey,
    /// The key of its peer.
    pub(crate) peer: PublicKey,
    /// The address of its peer.
    pub(crate) endpoint: SocketAddrV4,
    /// Its own address in the tunnel, with the prefix length.
    pub(crate) address: &'a str,
    /// Whether it connects at once, without a packet to send.
    pub(crate) keepalive: bool,
}

/// A running daemon, killed on drop.
pub(crate) struct RunningDaemon(Child);

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon<'_> {
    /// Starts the daemon in `namespace`, with its device up.
    pub(crate) fn start(&self, namespace: &Namespace) -> io::Result<RunningDaemon> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // The directory of the sockets is that of the machine: a name is used once.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("wg{}n{number}", std::process::id());
        let daemon = RunningDaemon(spawn(namespace, &name)?);
        self.configure(&name)?;
        namespace.ip(&["address", "add", self.address, "dev", &name])?;
        namespace.ip(&["link", "set", &name, "mtu", MTU, "up"])?;
        Ok(daemon)
    }

    fn configure(&self, name: &str) -> io::Result<()> {
        let mut socket = connect(name)?;
        let (own, peer) = (hex(self.private_key.as_bytes()), hex(&self.peer.0));
        let keepalive = u32::from(self.keepalive);
        write!(
            socket,
            "set=1\nprivate_key={own}\nlisten_port={PORT}\npublic_key={peer}\nendpoint={}\n\
             persistent_keepalive_interval={keepalive}\nallowed_ip=10.77.0.0/24\n\n",
            self.endpoint
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

/// Connects to the daemon's socket once it exists.
fn connect(name: &str) -> io::Result<UnixStream> {
    let path = format!("/var/run/wireguard/{name}.sock");
    for _ in 0..500 {
        if let Ok(socket) = UnixStream::connect(&path) {
            return Ok(socket);
        }
        sleep(Duration::from_millis(10));
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
