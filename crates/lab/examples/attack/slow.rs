//! Clients that open a connection and then hardly send.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_live::clock::Clock;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// The address of a node's metrics.
pub(crate) const METRICS: &str = "127.0.0.1:9600";
/// Slow connections to the metrics endpoint, and to the control socket.
const HTTP_CLIENTS: u8 = 200;
const CONTROL_CLIENTS: usize = 64;
/// The interval at which each sends a byte and opens what was closed.
const DRIP: Duration = Duration::from_millis(500);
/// The longest time an honest client waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Slow connections, kept open until drop.
pub(crate) struct SlowClients {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SlowClients {
    /// Opens slow connections to the metrics of the node in `namespace`, from one address or if
    /// `is_spread` from as many as there are connections, and to its control socket.
    pub(crate) fn start(namespace: &Namespace, socket: &Path, is_spread: bool) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, socket) = (stop.clone(), socket.to_owned());
        let thread = namespace.run(move || {
            // A thread stays in the namespace of the one that starts it.
            Ok(thread::spawn(move || drip(&socket, is_spread, &flag)))
        })?;
        sleep(DRIP * 2);
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for SlowClients {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn drip(socket: &Path, is_spread: bool, stop: &AtomicBool) {
    let mut http: Vec<Option<TcpStream>> = (0..HTTP_CLIENTS).map(|_| None).collect();
    let mut control: Vec<Option<UnixStream>> = (0..CONTROL_CLIENTS).map(|_| None).collect();
    while !stop.load(Ordering::Relaxed) {
        for (n, slot) in (0..).zip(&mut http) {
            let digit = if is_spread { 2 + n } else { 2 };
            drip_into(slot, || connect(digit), b"G");
        }
        for slot in &mut control {
            drip_into(slot, || UnixStream::connect(socket), b"s");
        }
        sleep(DRIP);
    }
}

/// Sends a byte on an open connection, or opens a new one.
fn drip_into<S: Write>(slot: &mut Option<S>, open: impl Fn() -> io::Result<S>, byte: &[u8]) {
    if slot
        .as_mut()
        .is_none_or(|stream| stream.write_all(byte).is_err())
    {
        *slot = open().ok();
    }
}

/// A connection to the metrics endpoint from 127.0.0.`digit`.
fn connect(digit: u8) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    let local: SocketAddr = ([127, 0, 0, digit], 0).into();
    socket.bind(&SockAddr::from(local))?;
    let metrics: SocketAddr = METRICS.parse().map_err(io::Error::other)?;
    socket.connect_timeout(&SockAddr::from(metrics), Duration::from_millis(200))?;
    socket.set_write_timeout(Some(Duration::from_millis(10)))?;
    Ok(socket.into())
}

/// The time of an honest request for the metrics of the node in `namespace`, if it is answered.
pub(crate) fn scrape(namespace: &Namespace) -> Option<Duration> {
    let clock = Clock::starting_now();
    let is_answered = metrics(namespace).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"));
    is_answered.then(|| Duration::from_nanos(clock.now().0))
}

/// The answer to a request for the metrics of the node in `namespace`, with its header.
pub(crate) fn metrics(namespace: &Namespace) -> io::Result<String> {
    namespace.run(|| {
        let address = METRICS.parse().map_err(io::Error::other)?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    })
}

/// The time of `program status SOCKET`, if it succeeds.
pub(crate) fn status(program: &Path, socket: &Path) -> io::Result<Option<Duration>> {
    let clock = Clock::starting_now();
    let mut command = Command::new(program);
    command.arg("status").arg(socket);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    loop {
        let waited = Duration::from_nanos(clock.now().0);
        if let Some(status) = child.try_wait()? {
            return Ok(status.success().then_some(waited));
        }
        if waited > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(2));
    }
}
