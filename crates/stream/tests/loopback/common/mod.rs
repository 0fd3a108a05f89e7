//! Servers, receivers and proxies of the tests, all on loopback.

mod raw_connection;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use polypath_core::connections::{ControlConfig, ControllerConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_live::keys::SystemEntropy;
use polypath_session::key::PrivateKey;
use polypath_stream::{
    Admission, ReceiveConfig, ReceiveError, ReceiverSecurity, ReceptionReport, Server,
    ServerConfig, ServerCounters, ServerSecurity, Sink, Source, StreamIdentity, receive,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};

pub(crate) use raw_connection::RawConnection;

/// Any free port.
pub(crate) const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Raises the limit of open files of the tests, which run at the same time in one process, as far as
/// this user may.
pub(crate) fn raise_descriptor_limit() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
}

/// A running server, which ends with its owner.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) counters: ServerCounters,
    task: JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServer {
    /// Ends the server, and returns its address once the port is free.
    pub(crate) async fn stop(mut self) -> SocketAddr {
        self.task.abort();
        let _ = (&mut self.task).await;
        self.address
    }
}

/// A new key pair.
pub(crate) fn identity() -> StreamIdentity {
    let key = PrivateKey::generate(&mut SystemEntropy).unwrap();
    StreamIdentity::of(&key).unwrap()
}

/// A server with these limits.
pub(crate) fn serve_with(config: ServerConfig, source: Source) -> TestServer {
    let server = Server::bind(config, source).unwrap();
    TestServer {
        address: server.address().unwrap(),
        counters: server.counters(),
        task: tokio::spawn(server.serve()),
    }
}

/// A server of `source` without encryption.
pub(crate) fn serve_insecure(listen: SocketAddr, source: Source) -> TestServer {
    let config = ServerConfig {
        listen,
        ..server_config(ServerSecurity::Insecure)
    };
    serve_with(config, source)
}

/// A server at any free port.
pub(crate) fn server_config(security: ServerSecurity) -> ServerConfig {
    ServerConfig {
        listen: ANY,
        security,
        receivers: 300,
        connections: 16,
        connection_limit: None,
        congestion_control: None,
    }
}

/// A server with TLS that admits anyone.
pub(crate) fn serve_tls(
    identity: &StreamIdentity,
    admission: &Admission,
    source: Source,
) -> TestServer {
    let tls = identity.server_config(admission).unwrap();
    serve_with(server_config(ServerSecurity::Tls(tls)), source)
}

/// A receiver at this rate over `connections` connections.
pub(crate) fn receiver(server: SocketAddr, rate: Rate, connections: u32) -> ReceiveConfig {
    let control = ControlConfig {
        guard: Rate(rate.0 / 20),
        // The round trip of loopback would give samples of less than a millisecond.
        interval: Some(Duration::from_millis(50)),
        ..ControlConfig::default()
    };
    ReceiveConfig {
        server,
        security: ReceiverSecurity::Insecure,
        rate,
        controller: ControllerConfig::AdjustWindow {
            connections,
            control,
        },
        play_out: None,
        patience: Duration::from_secs(10),
        record: None,
    }
}

/// Receives into memory.
pub(crate) async fn receive_all(
    config: ReceiveConfig,
) -> (Result<ReceptionReport, ReceiveError>, Vec<u8>) {
    let memory = Memory::default();
    let result = receive(config, Sink::bytes(memory.clone()), |_| {}).await;
    let bytes = std::mem::take(&mut *memory.0.lock().unwrap());
    (result, bytes)
}

/// An output in memory.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl tokio::io::AsyncWrite for Memory {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

/// A file with `len` bytes of which no two packets are equal.
pub(crate) fn file_of(folder: &Path, len: usize) -> (std::path::PathBuf, Vec<u8>) {
    let bytes: Vec<u8> = (0..len as u64)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .take(len)
        .collect();
    let path = folder.join("media.ts");
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// Forwards connections to a server, and resets them when it is asked to.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    /// The connections in the order in which they came.
    connections: Arc<Mutex<Vec<AbortHandle>>>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        Self::start(server, None).await
    }

    /// One that damages a byte of the first connection, after `after` bytes of the server.
    pub(crate) async fn damaging(server: SocketAddr, after: usize) -> Self {
        Self::start(server, Some(after)).await
    }

    async fn start(server: SocketAddr, damage: Option<usize>) -> Self {
        let listener = TcpListener::bind(ANY).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<Mutex<Vec<AbortHandle>>>::default();
        let accepted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                let mut accepted = accepted.lock().unwrap();
                let damage = damage.filter(|_| accepted.is_empty());
                let task = tokio::spawn(forward(from, server, damage));
                accepted.push(task.abort_handle());
            }
        });
        Self {
            address,
            connections,
            task,
        }
    }

    /// The number of connections that came.
    pub(crate) fn accepted(&self) -> usize {
        self.connections.lock().unwrap().len()
    }

    /// The number of connections that are open.
    pub(crate) fn open(&self) -> usize {
        let connections = self.connections.lock().unwrap();
        connections.iter().filter(|of| !of.is_finished()).count()
    }

    /// Resets every second connection, and returns their number.
    pub(crate) fn reset_half(&self) -> usize {
        let connections = self.connections.lock().unwrap();
        let reset = connections.iter().step_by(2).filter(|of| !of.is_finished());
        reset.map(AbortHandle::abort).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        for connection in self.connections.lock().unwrap().drain(..) {
            connection.abort();
        }
    }
}

async fn forward(mut from: TcpStream, to: SocketAddr, damage: Option<usize>) {
    let Ok(mut to) = TcpStream::connect(to).await else {
        return;
    };
    for socket in [&from, &to] {
        // An abort then resets, and loses what is in flight.
        let no_linger = Some(std::time::Duration::ZERO);
        socket2::SockRef::from(socket)
            .set_linger(no_linger)
            .unwrap();
    }
    let _ = match damage {
        None => copy_bidirectional(&mut from, &mut to).await.map(|_| ()),
        Some(after) => copy_damaging(&mut from, &mut to, after).await,
    };
}

/// Copies in both directions, and damages the byte after `after` of the server.
async fn copy_damaging(
    client: &mut TcpStream,
    server: &mut TcpStream,
    mut after: usize,
) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let downward = async {
        let mut chunk = [0; 4096];
        loop {
            let len = from_server.read(&mut chunk).await?;
            if len == 0 {
                return Ok(());
            }
            if let Some(byte) = chunk[..len].get_mut(after) {
                *byte ^= 1;
                after = usize::MAX;
            }
            after -= len;
            to_client.write_all(&chunk[..len]).await?;
        }
    };
    tokio::select! {
        copied = tokio::io::copy(&mut from_client, &mut to_server) => copied.map(|_| ()),
        copied = downward => copied,
    }
}
