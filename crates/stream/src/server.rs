//! A server of streams.
//!
//! Each receiver has a task with its [`ServedStream`](polypath_core::connections::ServedStream), and
//! each connection one that reads and one that writes. What nobody has authenticated is bounded in
//! number and in time.

mod accepted;
mod service;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use polypath_core::connections::wire::{Hello, Refusal, StreamId};
use polypath_core::connections::{ConnectionNumbers, ServedInput, StreamEnd};
use polypath_core::units::Rate;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use crate::socket::prepare_accepted;
use crate::source::{Position, Source};
use crate::stream_task::{StreamEvent, StreamResult, StreamTask};

/// The connections whose handshake is not complete; the oldest makes room for another.
const MAX_PENDING: usize = 1024;
/// The time in which a new connection has to complete its handshake and to send its hello.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// The events of the connections of a stream that may wait.
const EVENTS: usize = 64;
/// The packets that are kept of a connection to a service: no receiver buffers fewer.
const SERVICE_BUFFER: u32 = 1024;
/// The maximum number of packets that a server keeps of a receiver, whatever it asks for: 22 MB of a
/// file, and more than are in flight at 500 Mbit/s over 300 ms.
const MAX_BUFFER: u32 = 16_384;
/// The pause after the system refused a connection, as while it has no descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The protection of a server's connections.
#[derive(Clone, Debug)]
pub enum ServerSecurity {
    /// TLS with the keys of this configuration.
    Tls(Arc<rustls::ServerConfig>),
    /// None; only on loopback addresses.
    Insecure,
}

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address and port to listen at.
    pub listen: SocketAddr,
    /// The protection of connections.
    pub security: ServerSecurity,
    /// The maximum number of receivers.
    pub receivers: usize,
    /// The maximum number of connections of a receiver.
    pub connections: usize,
    /// The rate to which each connection is limited, headers included, if it is.
    pub connection_limit: Option<Rate>,
    /// The congestion control of the connections, by the kernel's name; that of the system if absent.
    pub congestion_control: Option<String>,
}

/// The error of a server that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Without TLS, others could read and change the stream.
    #[error(
        "{0} is no loopback address: a server without encryption listens on 127.0.0.0/8 or ::1 only"
    )]
    Insecure(SocketAddr),
    /// The kernel refuses the congestion control.
    #[error(
        "the congestion control {name} is not available: {source}; `modprobe tcp_{name}` loads it, and \
         net.ipv4.tcp_allowed_congestion_control has those that users without rights may choose"
    )]
    CongestionControl {
        /// Its name.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The address cannot be listened at.
    #[error("listening at {address}: {source}{}", remedy(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// The counters of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// The receivers at present.
    pub receivers: usize,
    /// The receivers of streams that ended complete.
    pub completed: u64,
    /// The receivers that ended their streams before these were complete.
    pub left: u64,
    /// The receivers that did not return, or that were too slow.
    pub lost: u64,
    /// The connections that were accepted.
    pub accepted: u64,
    /// The connections that ended before their hello: another protocol, a wrong key, or too late.
    pub rejected: u64,
    /// The connections with a hello that were refused: there was no room, or the source is another.
    pub refused: u64,
    /// The connections at present, without those whose hello is missing.
    pub connections: u64,
    /// The payload bytes sent, those of packets that were sent again included.
    pub bytes: u64,
}

/// The state that the tasks of a server share.
#[derive(Debug)]
struct Shared {
    config: ServerConfig,
    source: Source,
    streams: Mutex<BTreeMap<StreamId, StreamHandle>>,
    pending: Mutex<VecDeque<AbortHandle>>,
    /// The tasks of connections and streams, which end with the server.
    tasks: Mutex<JoinSet<()>>,
    /// The connections to services, which may outlast their streams: one for each that there may be.
    services: Arc<Semaphore>,
    counters: Counters,
}

/// The task of a stream.
#[derive(Clone, Debug)]
struct StreamHandle {
    events: mpsc::Sender<StreamEvent>,
    connections: Arc<Mutex<ConnectionNumbers>>,
}

impl StreamHandle {
    /// Adds a connection to at most `limit`.
    fn add(&self, connection: u32, limit: usize) -> Result<(), Refusal> {
        lock(&self.connections).add(connection, limit)
    }

    fn remove(&self, connection: u32) {
        lock(&self.connections).remove(connection);
    }

    /// Passes an input on; returns false if the stream has ended.
    async fn send(&self, input: ServedInput<Bytes>) -> bool {
        self.events.send(StreamEvent::Input(input)).await.is_ok()
    }

    /// Ends a connection that failed for the receiver: others carry its packets, and a new one may
    /// take its place.
    async fn fail(&self, connection: u32) {
        self.send(ServedInput::Failed(connection)).await;
        // Afterwards, so that both happen or neither, where this is dropped.
        self.remove(connection);
    }
}

#[derive(Debug, Default)]
struct Counters {
    completed: AtomicU64,
    left: AtomicU64,
    lost: AtomicU64,
    accepted: AtomicU64,
    rejected: AtomicU64,
    refused: AtomicU64,
    connections: AtomicU64,
    bytes: AtomicU64,
}

impl Server {
    /// Listens; must be called in a Tokio runtime.
    pub fn bind(config: ServerConfig, source: Source) -> Result<Self, ServerError> {
        let address = config.listen;
        // The connections that a service would have without this are not protected either.
        let is_protected = match config.security {
            ServerSecurity::Tls(_) => true,
            ServerSecurity::Insecure => matches!(source, Source::Services(_)),
        };
        if !is_protected && !address.ip().is_loopback() {
            return Err(ServerError::Insecure(address));
        }
        let listener = listen(address, config.congestion_control.as_deref())?;
        let shared = Shared {
            services: Arc::new(Semaphore::new(config.receivers)),
            config,
            source,
            streams: Mutex::default(),
            pending: Mutex::default(),
            tasks: Mutex::default(),
            counters: Counters::default(),
        };
        Ok(Self {
            listener,
            shared: Arc::new(shared),
        })
    }

    /// The address and port that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// A handle that reads the counters.
    #[must_use]
    pub fn counters(&self) -> ServerCounters {
        ServerCounters(Arc::clone(&self.shared))
    }

    /// Serves until it is dropped, which ends all streams.
    pub async fn serve(self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let shared = Arc::clone(&self.shared);
        shared.counters.accepted.fetch_add(1, Ordering::Relaxed);
        if prepare_accepted(&stream, shared.config.connection_limit).is_err() {
            // It has ended already.
            return;
        }
        let task = self.shared.spawn(accepted::open(shared, stream, peer));
        let mut pending = lock(&self.shared.pending);
        pending.retain(|task| !task.is_finished());
        pending.push_back(task);
        if pending.len() > MAX_PENDING
            && let Some(oldest) = pending.pop_front()
        {
            oldest.abort();
            self.shared
                .counters
                .rejected
                .fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        lock(&self.shared.tasks).abort_all();
    }
}

/// Reads the counters of a server.
#[derive(Clone, Debug)]
pub struct ServerCounters(Arc<Shared>);

impl ServerCounters {
    /// The counters now.
    #[must_use]
    pub fn read(&self) -> ServerCounts {
        let Shared {
            streams, counters, ..
        } = &*self.0;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServerCounts {
            receivers: lock(streams).len(),
            completed: read(&counters.completed),
            left: read(&counters.left),
            lost: read(&counters.lost),
            accepted: read(&counters.accepted),
            rejected: read(&counters.rejected),
            refused: read(&counters.refused),
            connections: read(&counters.connections),
            bytes: read(&counters.bytes),
        }
    }
}

impl Shared {
    /// The stream with this name, if it is served.
    fn known(&self, stream: &StreamId) -> Option<StreamHandle> {
        lock(&self.streams).get(stream).cloned()
    }

    /// The stream of this hello, which begins with it if it is new, with the connection of the hello.
    fn stream(self: &Arc<Self>, hello: &Hello) -> Result<StreamHandle, Refusal> {
        let identity = self.source.identity();
        if hello.source != 0 && hello.source != identity {
            return Err(Refusal::Source);
        }
        let mut streams = lock(&self.streams);
        if let Some(known) = streams.get(&hello.stream) {
            known.add(hello.connection, self.config.connections)?;
            return Ok(known.clone());
        }
        if streams.len() >= self.config.receivers {
            return Err(Refusal::Full);
        }
        let source = self
            .source
            .position(hello.received)
            .ok_or(Refusal::Source)?;
        let buffer = hello.buffer.clamp(1, MAX_BUFFER);
        let served = StreamTask::new(source, identity, buffer, hello.received);
        let started = self.start(&mut streams, hello.stream, served);
        started.add(hello.connection, self.config.connections)?;
        Ok(started)
    }

    /// The stream of a connection to a service.
    fn open(self: &Arc<Self>, stream: StreamId, source: Position) -> Result<(), Refusal> {
        let mut streams = lock(&self.streams);
        if streams.len() >= self.config.receivers || streams.contains_key(&stream) {
            return Err(Refusal::Full);
        }
        let served = StreamTask::new(source, self.source.identity(), SERVICE_BUFFER, 0);
        self.start(&mut streams, stream, served);
        Ok(())
    }

    /// Starts the task of a stream.
    fn start(
        self: &Arc<Self>,
        streams: &mut BTreeMap<StreamId, StreamHandle>,
        name: StreamId,
        served: StreamTask,
    ) -> StreamHandle {
        let (events, received) = mpsc::channel(EVENTS);
        let handle = StreamHandle {
            events,
            connections: Arc::default(),
        };
        streams.insert(name, handle.clone());
        let shared = Arc::clone(self);
        self.spawn(async move {
            let end = served.serve(received).await;
            shared.remove(&name, end);
        });
        handle
    }

    /// Runs a task that ends with the server.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    fn remove(&self, stream: &StreamId, end: StreamResult) {
        let receivers = {
            let mut streams = lock(&self.streams);
            streams.remove(stream);
            streams.len()
        };
        let counter = match end {
            Ok(StreamEnd::Complete) => &self.counters.completed,
            Ok(StreamEnd::Left) => &self.counters.left,
            Ok(StreamEnd::Orphaned | StreamEnd::Source) | Err(_) => &self.counters.lost,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        match end {
            Ok(end) => tracing::info!(receivers, "a stream ended: {end}"),
            Err(error) => tracing::warn!(receivers, "a stream ended: {error}"),
        }
    }
}

/// The remedy for an address that cannot be listened at.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; choose another port or stop the program that uses it (`ss -tlpn`)"
        }
        io::ErrorKind::AddrNotAvailable => "; give an address of this machine",
        _ => "",
    }
}

fn listen(
    address: SocketAddr,
    congestion_control: Option<&str>,
) -> Result<TcpListener, ServerError> {
    let failed = |source| ServerError::Listen { address, source };
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )
    .map_err(failed)?;
    if let Some(name) = congestion_control {
        // Accepted connections have that of the listener.
        socket
            .set_tcp_congestion(name.as_bytes())
            .map_err(|source| ServerError::CongestionControl {
                name: name.to_owned(),
                source,
            })?;
    }
    listen_on(&socket, address).map_err(failed)?;
    TcpListener::from_std(socket.into()).map_err(failed)
}

fn listen_on(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    // A server that is started again listens at once.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No holder panics between two steps of a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
