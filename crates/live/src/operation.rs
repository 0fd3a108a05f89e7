//! The operator's side of a running node: who asks for its state, what is to change under way, and what changes around
//! it.
//!
//! All of it happens beside the packets. One thread waits for clients of the control socket and of the metrics, for
//! `SIGHUP`, and for the kernel to say that an interface comes or goes; each client has a thread for as long as it is
//! served, of which there are few and not for long. A reload reads and checks the file here, and opens sockets here. The
//! packet thread is only asked to count and to put into force what is ready, through a mailbox that its `epoll` watches.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub(crate) use mailbox::{Desk, Mailbox, Order};
pub(crate) use reload::{Reloader, Running, listen};
pub use signal::ReloadHandle;
pub(crate) use underlay::{Underlay, WAITS};

use crate::control::{self, ControlSocket};
use crate::metrics;
use crate::notify::Notifier;
use signal::{drain, signal};

pub(crate) mod change;
pub(crate) mod mailbox;
mod reload;
mod signal;
mod underlay;

/// Clients of the control socket that are served at once, and as many of the metrics: neither takes the other's seats.
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
pub(crate) struct Operation {
    end: UnixStream,
    reload: ReloadHandle,
    thread: Option<JoinHandle<()>>,
}

struct Counter {
    listeners: Listeners,
    desk: Arc<Desk>,
    control_seats: Arc<AtomicUsize>,
    metrics_seats: Arc<AtomicUsize>,
    reloader: Option<Reloader>,
    underlay: Option<Underlay>,
    notifier: Notifier,
}

impl Operation {
    /// Waits for clients of `listeners`, reloads where a file is known, and has paths follow what they rest on, in the
    /// network namespace of the calling thread.
    pub(crate) fn start(
        listeners: Listeners,
        desk: Desk,
        reloader: Option<Reloader>,
        underlay: Option<Underlay>,
        notifier: Notifier,
    ) -> io::Result<Self> {
        let (end, ended) = UnixStream::pair()?;
        let (reload, told) = signal()?;
        let mut counter = Counter {
            listeners,
            desk: Arc::new(desk),
            control_seats: Arc::default(),
            metrics_seats: Arc::default(),
            reloader,
            underlay,
            notifier,
        };
        let thread = thread::Builder::new()
            .name("operation".to_owned())
            .spawn(move || counter.run(&ended, &told))?;
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

impl Drop for Operation {
    fn drop(&mut self) {
        let _ = self.end.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            // What it panicked of is on standard error.
            let _ = thread.join();
        }
    }
}

impl Counter {
    fn run(&mut self, ended: &UnixStream, told: &UnixStream) {
        loop {
            match self.wait(ended, told) {
                Ok([true, ..]) => return,
                Ok([_, reload, control, metrics, network]) => {
                    self.look(network);
                    if reload {
                        drain(told);
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
    fn wait(&self, ended: &UnixStream, told: &UnixStream) -> io::Result<[bool; 5]> {
        let (control, metrics) = (&self.listeners.control, &self.listeners.metrics);
        let fds = [
            Some(ended.as_fd()),
            Some(told.as_fd()),
            control.as_ref().map(AsFd::as_fd),
            metrics.as_ref().map(AsFd::as_fd),
            self.underlay.as_ref().map(AsFd::as_fd),
        ];
        let mut polled: Vec<PollFd<'_>> = fds
            .iter()
            .flatten()
            .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
            .collect();
        let idle = self.underlay.as_ref().and_then(Underlay::idle);
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
        let Some(underlay) = &mut self.underlay else {
            return;
        };
        let listening = if heard { underlay.hear() } else { Ok(()) };
        underlay.look_if_due(&self.desk);
        if let Err(error) = listening {
            tracing::error!(%error, "interfaces that come and go are not seen any more");
            self.underlay = None;
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
                self.seat(&self.metrics_seats, move |desk| {
                    metrics::serve(stream, desk)
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
        if self.control_seats.load(Ordering::Relaxed) >= MOST_CLIENTS {
            control::refuse_client(&stream);
            return;
        }
        self.seat(&self.control_seats, move |desk| {
            control::serve(stream, desk)
        });
    }

    /// Serves a client on a thread of its own, if there is a seat left.
    fn seat(
        &self,
        seats: &Arc<AtomicUsize>,
        serve: impl FnOnce(&Desk) -> io::Result<()> + Send + 'static,
    ) {
        let Some(seat) = Seat::take(seats) else {
            return;
        };
        let desk = self.desk.clone();
        let serve = move || {
            let _seat = seat;
            if let Err(error) = serve(&desk) {
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
        let adrift = self.underlay.as_ref().map(Underlay::adrift);
        let adrift = adrift.unwrap_or_default();
        let outcome = reloader.reload(&self.desk, &mut self.listeners, &adrift);
        if let (Ok(_), Some(underlay)) = (&outcome, &mut self.underlay) {
            underlay.adopt(reloader.config());
        }
        match outcome {
            Ok(changed) if changed.is_empty() => {
                tracing::info!("reloaded: the configuration is as it was");
            }
            Ok(changed) => tracing::info!(changed = changed.join(", "), "reloaded"),
            Err(why) => {
                tracing::error!("not reloaded, the node goes on as it was: {why}");
                self.desk.refuse(why);
            }
        }
        self.notifier.ready();
    }
}

/// One of the [`MOST_CLIENTS`].
struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(seats: &Arc<AtomicUsize>) -> Option<Self> {
        let taken = seats.fetch_add(1, Ordering::Relaxed);
        let seat = Self(seats.clone());
        (taken < MOST_CLIENTS).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
