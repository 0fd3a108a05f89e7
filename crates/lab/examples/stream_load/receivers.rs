//! The receivers, all on one thread.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use polypath_core::connections::{ControlConfig, ControllerConfig};
use polypath_core::units::Rate;
use polypath_stream::{ReceiveConfig, ReceiverSecurity, Sink, receive};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::servers::RunningServer;

/// The time over which the receivers start.
const STARTS: Duration = Duration::from_secs(2);
/// The bytes that a receiver of HTTP reads at once.
const CHUNK: usize = 8192;

/// The carrier of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `polypath stream` with TLS.
    Tls,
    /// `polypath stream` without.
    Plain,
    /// HTTP of nginx.
    Http,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tls => "polypath, TLS",
            Self::Plain => "polypath, not encrypted",
            Self::Http => "nginx, not encrypted",
        }
    }
}

/// The receivers of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) kind: Kind,
    pub(crate) receivers: u32,
    pub(crate) rate: Rate,
    pub(crate) connections: u32,
}

/// Receivers that run on a thread of their own.
pub(crate) struct Running {
    counters: Vec<Arc<AtomicU64>>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), String>>,
}

impl Running {
    /// The bytes that each has received.
    pub(crate) fn bytes(&self) -> Vec<u64> {
        let read = |counter: &Arc<AtomicU64>| counter.load(Ordering::Relaxed);
        self.counters.iter().map(read).collect()
    }

    /// Ends all; fails with the first error of a receiver.
    pub(crate) fn stop(self) -> Result<(), Box<dyn Error>> {
        let _ = self.stop.send(true);
        match self.thread.join() {
            Ok(result) => Ok(result?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Starts the receivers on this core.
pub(crate) fn start(
    wanted: Wanted,
    server: &RunningServer,
    core: usize,
) -> Result<Running, Box<dyn Error>> {
    let counters: Vec<Arc<AtomicU64>> = (0..wanted.receivers).map(|_| Arc::default()).collect();
    let (stop, stopped) = watch::channel(false);
    let address = server.address;
    let config = match wanted.kind {
        Kind::Http => None,
        Kind::Tls | Kind::Plain => Some(config(wanted, server)?),
    };
    let of_thread = counters.clone();
    let thread = std::thread::spawn(move || {
        let mut cores = CpuSet::new();
        let pinned = cores
            .set(core)
            .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores));
        pinned.map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(run_all(wanted, config, address, of_thread, stopped))
    });
    Ok(Running {
        counters,
        stop,
        thread,
    })
}

fn config(wanted: Wanted, server: &RunningServer) -> Result<ReceiveConfig, Box<dyn Error>> {
    let security = match &server.keys {
        Some((key, identity)) => ReceiverSecurity::Tls(identity.client_config(*key)?),
        None => ReceiverSecurity::Insecure,
    };
    let control = ControlConfig {
        guard: Rate(wanted.rate.0 / 20),
        interval: Some(polypath_core::time::Duration::from_millis(300)),
        ..ControlConfig::default()
    };
    Ok(ReceiveConfig {
        server: server.address,
        security,
        rate: wanted.rate,
        controller: ControllerConfig::AdjustWindow {
            connections: wanted.connections,
            control,
        },
        play_out: None,
        patience: polypath_core::time::Duration::from_secs(10),
        record: None,
    })
}

/// Runs all receivers until they are stopped, or one fails.
async fn run_all(
    wanted: Wanted,
    config: Option<ReceiveConfig>,
    address: SocketAddr,
    counters: Vec<Arc<AtomicU64>>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), String> {
    let mut receivers = tokio::task::JoinSet::new();
    let apart = STARTS / wanted.receivers;
    for counter in counters {
        let config = config.clone();
        receivers.spawn(async move {
            match config {
                Some(config) => {
                    let sink = Sink::bytes(Counter(counter));
                    let received = receive(config, sink, |_| {}).await;
                    received.map(|_| ()).map_err(|error| error.to_string())
                }
                None => get(address, wanted.rate, &counter)
                    .await
                    .map_err(|error| error.to_string()),
            }
        });
        sleep(apart).await;
    }
    tokio::select! {
        _ = stopped.wait_for(|stopped| *stopped) => Ok(()),
        ended = receivers.join_next() => match ended {
            Some(Ok(Err(error))) => Err(error),
            _ => Err("a receiver ended before the others".to_owned()),
        },
    }
}

/// Receives the file over HTTP at this rate.
async fn get(address: SocketAddr, rate: Rate, counter: &AtomicU64) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(b"GET /media.ts HTTP/1.0\r\nHost: localhost\r\n\r\n")
        .await?;
    let (mut buffer, mut next) = (vec![0; CHUNK], Instant::now());
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            return Ok(());
        }
        counter.fetch_add(len as u64, Ordering::Relaxed);
        next += Duration::from_secs_f64(len as f64 * 8.0 / rate.as_f64());
        sleep_until(next).await;
    }
}

/// Counts the bytes that are written to it.
struct Counter(Arc<AtomicU64>);

impl AsyncWrite for Counter {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
