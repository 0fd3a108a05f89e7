//! The control thread: it serves the operator of a running node, apart from the packet thread.
//!
//! One thread waits for clients of the control socket, for reload requests, and for the kernel's
//! notifications that interfaces change. Each client is served on a thread of its own; their number
//! ([`Connections`]) and lifetime are limited. Files are read and checked, and sockets opened,
//! here; the packet thread only counts and applies changes that are ready ([`super::commands`]).
//! Clients of the metrics are served by [`super::http`].

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{UnixCredentials, getsockopt, sockopt};

use super::commands::ControlHandle;
use super::connections::{Connection, Connections};
use super::listeners::{Listeners, Servers};
use super::reload::{self, ReloadHandle, ReloadRequests, Reloader};
use super::socket;
use crate::interfaces::monitor::InterfaceMonitor;
use crate::notify::Notifier;

/// Most clients of the control socket at a time.
const MAX_CLIENTS: usize = 16;
/// Most threads of clients at a time. Those of clients whose connections are ended can wait for the
/// packet thread, at most 2 s.
const MAX_THREADS: usize = 4 * MAX_CLIENTS;
/// Stack size of a client's thread, in bytes.
const STACK: usize = 256 << 10;
/// The pause after an `accept` that failed, for example because no file descriptor was free.
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// The control thread of a node; dropping this ends the thread.
#[derive(Debug)]
pub(crate) struct ControlThread {
    stop: UnixStream,
    reload: ReloadHandle,
    thread: Option<JoinHandle<()>>,
}

struct ControlLoop {
    servers: Servers,
    handle: Arc<ControlHandle>,
    clients: Connections<UnixCredentials, Weak<UnixStream>>,
    permits: Arc<AtomicUsize>,
    reloader: Option<Reloader>,
    monitor: Option<InterfaceMonitor>,
    notifier: Notifier,
}

/// The event sources that are ready.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one flag for each independent event source"
)]
struct Ready {
    stop: bool,
    reload: bool,
    control: bool,
    interfaces: bool,
}

impl ControlThread {
    /// Starts the thread, in the network namespace of the calling thread.
    ///
    /// Without a `reloader` reload requests have no effect; without a `monitor` paths do not follow
    /// changes of their interfaces.
    pub(crate) fn start(
        listeners: Listeners,
        handle: ControlHandle,
        reloader: Option<Reloader>,
        monitor: Option<InterfaceMonitor>,
        notifier: Notifier,
    ) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        let (reload, requests) = reload::channel()?;
        let handle = Arc::new(handle);
        let mut control_loop = ControlLoop {
            servers: listeners.serve(&handle)?,
            handle,
            clients: Connections::new(MAX_CLIENTS),
            permits: Arc::default(),
            reloader,
            monitor,
            notifier,
        };
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || control_loop.run(&stopped, &requests))?;
        Ok(Self {
            stop,
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
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            // A panic message is already on standard error.
            let _ = thread.join();
        }
    }
}

impl ControlLoop {
    fn run(&mut self, stopped: &UnixStream, requests: &ReloadRequests) {
        loop {
            match self.wait(stopped, requests) {
                Ok(Ready { stop: true, .. }) => return,
                Ok(ready) => {
                    self.follow_interfaces(ready.interfaces);
                    if ready.reload {
                        requests.drain();
                        self.reload();
                    }
                    if ready.control {
                        self.accept();
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "the control thread failed; status and reloads are unavailable");
                    return;
                }
            }
        }
    }

    /// Waits until an event source is ready or the interfaces are to be read again.
    fn wait(&self, stopped: &UnixStream, requests: &ReloadRequests) -> io::Result<Ready> {
        let fds = [
            Some(stopped.as_fd()),
            Some(requests.as_fd()),
            self.servers.control.as_ref().map(AsFd::as_fd),
            self.monitor.as_ref().map(AsFd::as_fd),
        ];
        let mut polled: Vec<PollFd<'_>> = fds
            .iter()
            .flatten()
            .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
            .collect();
        let idle = self.monitor.as_ref().and_then(InterfaceMonitor::idle);
        // Rounded up, or the loop would spin through the last part of a millisecond.
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
        let [stop, reload, control, interfaces] =
            fds.map(|fd| fd.is_some() && ready.next().unwrap_or(false));
        Ok(Ready {
            stop,
            reload,
            control,
            interfaces,
        })
    }

    fn follow_interfaces(&mut self, notified: bool) {
        let Some(monitor) = &mut self.monitor else {
            return;
        };
        let received = if notified {
            monitor.receive_notifications()
        } else {
            Ok(())
        };
        monitor.update_if_due(&self.handle);
        if let Err(error) = received {
            crate::interfaces::log::monitor_failed(&error);
            self.monitor = None;
        }
    }

    fn accept(&mut self) {
        let Some(socket) = &self.servers.control else {
            return;
        };
        match socket.accept() {
            Ok(stream) => {
                if let Err(error) = self.serve(stream) {
                    tracing::debug!(%error, "a client cannot be served");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::debug!(%error, "cannot accept a client");
                self.clients.make_room_after(&error);
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }

    /// Serves a client on a thread of its own, or refuses it where no permit is left.
    fn serve(&mut self, stream: UnixStream) -> io::Result<()> {
        let Some(permit) = ClientPermit::acquire(&self.permits) else {
            socket::refuse_client(&stream);
            return Ok(());
        };
        let process = getsockopt(&stream, sockopt::PeerCredentials)?;
        let stream = Arc::new(stream);
        let client = Arc::downgrade(&stream);
        let handle = self.handle.clone();
        let serve = move || {
            let _permit = permit;
            let served = stream.try_clone().and_then(|s| socket::serve(s, &handle));
            if let Err(error) = served {
                tracing::debug!(%error, "the connection of a client failed");
            }
        };
        let thread = thread::Builder::new().name("client".to_owned());
        thread.stack_size(STACK).spawn(serve)?;
        self.clients.add(process, client);
        Ok(())
    }

    fn reload(&mut self) {
        let Some(reloader) = &mut self.reloader else {
            return;
        };
        self.notifier.reloading();
        let unbound = self.monitor.as_ref().map(InterfaceMonitor::unbound_paths);
        let unbound = unbound.unwrap_or_default();
        let outcome = reloader.reload(&self.handle, &mut self.servers, &unbound);
        if let (Ok(_), Some(monitor)) = (&outcome, &mut self.monitor) {
            monitor.adopt(reloader.config());
        }
        reload::log_outcome(&outcome);
        if let Err(why) = outcome {
            self.handle.count_refused_reload(why);
        }
        self.notifier.ready();
    }
}

impl Connection for Weak<UnixStream> {
    fn is_ended(&self) -> bool {
        self.strong_count() == 0
    }

    fn end(&self) {
        if let Some(stream) = self.upgrade() {
            socket::refuse_client(&stream);
            // An error means that it is closed already.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// The permission to run one of [`MAX_THREADS`] threads; dropping it releases it.
struct ClientPermit(Arc<AtomicUsize>);

impl ClientPermit {
    fn acquire(permits: &Arc<AtomicUsize>) -> Option<Self> {
        let taken = permits.fetch_add(1, Ordering::Relaxed);
        let permit = Self(permits.clone());
        (taken < MAX_THREADS).then_some(permit)
    }
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
