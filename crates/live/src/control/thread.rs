//! The operator's side of a running node: who asks for its state, what is to change under way, and what changes around
//! it.
//!
//! All of it happens beside the packets. One thread waits for clients of the control socket and of the metrics, for
//! `SIGHUP`, and for the kernel to say that an interface comes or goes; each client has a thread for as long as it is
//! served, of which there are few and not for long. A reload reads and checks the file here, and opens sockets here. The
//! packet thread is only asked to count and to put into force what is ready, through a queue that its `epoll` watches.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::commands::ControlHandle;
use super::metrics;
use super::reload::{self, ReloadHandle, ReloadRequests, Reloader};
use super::socket::{self, ControlSocket};
use crate::interfaces::monitor::InterfaceMonitor;
use crate::notify::Notifier;

/// Clients of the control socket that are served at once, and as many of the metrics: neither takes the other's permits.
const MOST_CLIENTS: usize = 16;
/// Bytes of the stack of a client's thread.
const STACK: usize = 256 << 10;
/// How long nobody is let in where that failed, as without descriptors.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// What a node listens at.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) control: Option<ControlSocket>,
    pub(crate) metrics: Option<TcpListener>,
}

/// The thread that waits for the operator; it ends with this.
#[derive(Debug)]
pub(crate) struct ControlThread {
    end: UnixStream,
    reload: ReloadHandle,
    thread: Option<JoinHandle<()>>,
}

struct ControlLoop {
    listeners: Listeners,
    handle: Arc<ControlHandle>,
    control_permits: Arc<AtomicUsize>,
    metrics_permits: Arc<AtomicUsize>,
    reloader: Option<Reloader>,
    monitor: Option<InterfaceMonitor>,
    notifier: Notifier,
}

impl ControlThread {
    /// Waits for clients of `listeners`, reloads where a file is known, and has paths follow what they rest on, in the
    /// network namespace of the calling thread.
    pub(crate) fn start(
        listeners: Listeners,
        handle: ControlHandle,
        reloader: Option<Reloader>,
        monitor: Option<InterfaceMonitor>,
        notifier: Notifier,
    ) -> io::Result<Self> {
        let (end, ended) = UnixStream::pair()?;
        let (reload, requests) = reload::channel()?;
        let mut control_loop = ControlLoop {
            listeners,
            handle: Arc::new(handle),
            control_permits: Arc::default(),
            metrics_permits: Arc::default(),
            reloader,
            monitor,
            notifier,
        };
        let thread = thread::Builder::new()
            .name("control_thread".to_owned())
            .spawn(move || control_loop.run(&ended, &requests))?;
        Ok(Self {
            end,
            reload,
            thread: Some(thread),
        })
    }

    pub(crate) fn reload_handle(&self) -> ReloadHandle {
        self.reload.clone()
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        let _ = self.end.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            // What it panicked of is on standard error.
            let _ = thread.join();
        }
    }
}

impl ControlLoop {
    fn run(&mut self, ended: &UnixStream, requests: &ReloadRequests) {
        loop {
            match self.wait(ended, requests) {
                Ok([true, ..]) => return,
                Ok([_, reload, control, metrics, network]) => {
                    self.look(network);
                    if reload {
                        requests.drain();
                        self.reload();
                    }
                    if control || metrics {
                        self.let_in(control, metrics);
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "the node cannot be asked any more");
                    return;
                }
            }
        }
    }

    /// What is ready of: the end, a reload, a client of the control socket, one of the metrics, news of the network.
    fn wait(&self, ended: &UnixStream, requests: &ReloadRequests) -> io::Result<[bool; 5]> {
        let (control, metrics) = (&self.listeners.control, &self.listeners.metrics);
        let fds = [
            Some(ended.as_fd()),
            Some(requests.as_fd()),
            control.as_ref().map(AsFd::as_fd),
            metrics.as_ref().map(AsFd::as_fd),
            self.monitor.as_ref().map(AsFd::as_fd),
        ];
        let mut polled: Vec<PollFd<'_>> = fds
            .iter()
            .flatten()
            .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
            .collect();
        let idle = self.monitor.as_ref().and_then(InterfaceMonitor::idle);
        // Rounded up, or the last part of a millisecond would be spent awake.
        let idle = idle.map(|idle| idle.as_nanos().div_ceil(1_000_000));
        let timeout = idle.map_or(PollTimeout::NONE, |idle| {
            PollTimeout::try_from(idle).unwrap_or(PollTimeout::MAX)
        });
        match poll(&mut polled, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut ready = polled
            .iter()
            .map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
        Ok(fds.map(|fd| fd.is_some() && ready.next().unwrap_or(false)))
    }

    fn look(&mut self, heard: bool) {
        let Some(monitor) = &mut self.monitor else {
            return;
        };
        let listening = if heard { monitor.hear() } else { Ok(()) };
        monitor.look_if_due(&self.handle);
        if let Err(error) = listening {
            tracing::error!(%error, "interfaces that come and go are not seen any more");
            self.monitor = None;
        }
    }

    fn let_in(&self, control: bool, metrics: bool) {
        let mut entered = Ok(());
        if control && let Some(socket) = &self.listeners.control {
            entered = entered.and(socket.accept().map(|stream| self.serve_control(stream)));
        }
        if metrics && let Some(listener) = &self.listeners.metrics {
            let accepted = listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                Ok(stream)
            });
            entered = entered.and(accepted.map(|stream| {
                self.seat(&self.metrics_permits, move |handle| {
                    metrics::serve(stream, handle)
                });
            }));
        }
        match entered {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                tracing::debug!(%error, "a client could not be let in");
                thread::sleep(PAUSE);
            }
            _ => {}
        }
    }

    fn serve_control(&self, stream: UnixStream) {
        if self.control_permits.load(Ordering::Relaxed) >= MOST_CLIENTS {
            socket::refuse_client(&stream);
            return;
        }
        self.seat(&self.control_permits, move |handle| {
            socket::serve(stream, handle)
        });
    }

    /// Serves a client on a thread of its own, if there is a seat left.
    fn seat(
        &self,
        permits: &Arc<AtomicUsize>,
        serve: impl FnOnce(&ControlHandle) -> io::Result<()> + Send + 'static,
    ) {
        let Some(seat) = ClientPermit::take(permits) else {
            return;
        };
        let handle = self.handle.clone();
        let serve = move || {
            let _seat = seat;
            if let Err(error) = serve(&handle) {
                tracing::debug!(%error, "a client was not served to its end");
            }
        };
        let thread = thread::Builder::new().name("client".to_owned());
        if let Err(error) = thread.stack_size(STACK).spawn(serve) {
            tracing::debug!(%error, "no thread for a client");
        }
    }

    fn reload(&mut self) {
        let Some(reloader) = &mut self.reloader else {
            return;
        };
        self.notifier.reloading();
        let adrift = self.monitor.as_ref().map(InterfaceMonitor::adrift);
        let adrift = adrift.unwrap_or_default();
        let outcome = reloader.reload(&self.handle, &mut self.listeners, &adrift);
        if let (Ok(_), Some(monitor)) = (&outcome, &mut self.monitor) {
            monitor.adopt(reloader.config());
        }
        match outcome {
            Ok(changed) if changed.is_empty() => {
                tracing::info!("reloaded: the configuration is as it was");
            }
            Ok(changed) => tracing::info!(changed = changed.join(", "), "reloaded"),
            Err(why) => {
                tracing::error!("not reloaded, the node goes on as it was: {why}");
                self.handle.refuse(why);
            }
        }
        self.notifier.ready();
    }
}

/// One of the [`MOST_CLIENTS`].
struct ClientPermit(Arc<AtomicUsize>);

impl ClientPermit {
    fn take(permits: &Arc<AtomicUsize>) -> Option<Self> {
        let taken = permits.fetch_add(1, Ordering::Relaxed);
        let seat = Self(permits.clone());
        (taken < MOST_CLIENTS).then_some(seat)
    }
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
