//! The HTTP server of a node: routes of axum, served by hyper over HTTP/1 on a thread of its own.
//!
//! The runtime is single-threaded, and handlers ask the packet thread through the
//! [`ControlHandle`](super::commands::ControlHandle) on blocking threads. The number of connections
//! ([`Connections`]), the time of each and the length of a request head are limited, so that slow
//! clients hold neither memory nor the node, nor keep out others.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc as tokio_mpsc, oneshot};
use tokio::task::AbortHandle;

use super::connections::{Connection, Connections};

/// The limits of a node's server.
pub(super) const LIMITS: Limits = Limits {
    clients: 64,
    head: Duration::from_secs(2),
    time: Duration::from_secs(5),
};
/// The most blocking threads, and so the most calls that may block at a time.
pub(super) const BLOCKING_THREADS: usize = 16;
/// The longest request head in bytes.
const MAX_HEAD: usize = 8192;
/// Stack size of a blocking thread, in bytes.
const STACK: usize = 256 << 10;
/// The pause after an `accept` that failed, for example because no file descriptor was free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The limits on the clients of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most connections at a time.
    pub(super) clients: usize,
    /// The longest time until the request head is complete.
    pub(super) head: Duration,
    /// The longest time of a connection, which serves one request.
    pub(super) time: Duration,
}

/// A running server; dropping this closes its listener. Requests in progress are still answered.
#[derive(Debug)]
pub(crate) struct HttpServer {
    /// Dropped to stop the server.
    stop: Option<oneshot::Sender<()>>,
    /// Disconnected once the listener is closed.
    closed: mpsc::Receiver<()>,
}

impl HttpServer {
    /// Serves `router` to the clients of `listener`, in the network namespace and with the
    /// privileges of the calling thread.
    pub(super) fn start(listener: TcpListener, router: Router, limits: Limits) -> io::Result<Self> {
        let runtime = runtime()?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let (closing, closed) = mpsc::channel();
        let serve = move || {
            runtime.block_on(async {
                let (serving, mut served) = tokio_mpsc::channel(1);
                let accepting = tokio::spawn(accept(listener, router, limits, serving));
                let _ = stopped.await;
                accepting.abort();
                let _ = accepting.await;
                drop(closing);
                // The channel closes when the last connection has ended.
                let _ = served.recv().await;
            });
        };
        thread::Builder::new()
            .name("http".to_owned())
            .spawn(serve)?;
        Ok(Self {
            stop: Some(stop),
            closed,
        })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        // Another listener may be bound to the same port next.
        let _ = self.closed.recv();
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("http-request")
        .thread_stack_size(STACK)
        .build()
}

/// Accepts clients for ever; each connection holds a clone of `serving`.
async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    limits: Limits,
    serving: tokio_mpsc::Sender<Infallible>,
) {
    let mut connections = Connections::new(limits.clients);
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let (router, serving) = (router.clone(), serving.clone());
                let task = tokio::spawn(async move {
                    serve(stream, router, limits).await;
                    drop(serving);
                });
                connections.add(source(address.ip()), task.abort_handle());
            }
            Err(error) => {
                tracing::debug!(%error, "cannot accept a client");
                connections.make_room_after(&error);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

impl Connection for AbortHandle {
    fn is_ended(&self) -> bool {
        self.is_finished()
    }

    fn end(&self) {
        tracing::debug!("the connection of a client makes room for another");
        self.abort();
    }
}

/// The source to which a client's connections count: its IPv4 address or its IPv6 network of 64
/// bits, of which a single host can have all addresses.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Serves the request of a client.
pub(super) async fn serve<S>(stream: S, router: Router, limits: Limits)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    match tokio::time::timeout(limits.time, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the connection of a client failed"),
        Err(_) => tracing::debug!("the connection of a client exceeded its time limit"),
    }
}

#[cfg(test)]
mod tests;
