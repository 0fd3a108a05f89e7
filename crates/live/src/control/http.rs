//! The HTTP server of a node: routes of axum, served by hyper over HTTP/1 on a thread of its own.
//!
//! The runtime is single-threaded, and handlers ask the packet thread through the
//! [`ControlHandle`](super::commands::ControlHandle) on blocking threads. The number of clients,
//! the time of each connection and the length of a request head are limited, so that slow clients
//! hold neither memory nor the node.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The limits of a node's server.
pub(super) const LIMITS: Limits = Limits {
    clients: 16,
    time: Duration::from_secs(5),
};
/// The longest request head in bytes.
const MAX_HEAD: usize = 8192;
/// Stack size of a blocking thread, in bytes.
const STACK: usize = 256 << 10;
/// Pause after a failed `accept`, as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The limits on the clients of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most clients at a time; further connections are dropped.
    pub(super) clients: u32,
    /// The longest time of a connection, which serves one request.
    pub(super) time: Duration,
}

/// The permission to serve one of the clients, an extension of each request.
///
/// A handler that starts work which outlives it, as on a blocking thread, moves a clone there, so
/// that clients which disconnect cannot start more of it.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "dropping it releases the permission")]
pub(super) struct ConnectionPermit(Arc<OwnedSemaphorePermit>);

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
        let runtime = runtime(limits)?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let (closing, closed) = mpsc::channel();
        let serve = move || {
            runtime.block_on(async {
                let permits = Arc::new(Semaphore::new(limits.clients as usize));
                let accepting = tokio::spawn(accept(listener, router, limits, permits.clone()));
                let _ = stopped.await;
                accepting.abort();
                let _ = accepting.await;
                drop(closing);
                // All permits are free when the last connection has ended.
                let _ = permits.acquire_many(limits.clients).await;
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

fn runtime(limits: Limits) -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(limits.clients as usize)
        .thread_name("http-request")
        .thread_stack_size(STACK)
        .build()
}

/// Accepts clients for ever.
async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    limits: Limits,
    permits: Arc<Semaphore>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(permit) = permits.clone().try_acquire_owned() else {
                    continue;
                };
                let permit = ConnectionPermit(Arc::new(permit));
                tokio::spawn(serve(stream, router.clone(), permit, limits.time));
            }
            Err(error) => {
                tracing::debug!(%error, "cannot accept a client");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves the request of a client.
async fn serve(stream: TcpStream, router: Router, permit: ConnectionPermit, time_limit: Duration) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(permit.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(time_limit, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the connection of a client failed"),
        Err(_) => tracing::debug!("the connection of a client exceeded its time limit"),
    }
}

#[cfg(test)]
mod tests;
