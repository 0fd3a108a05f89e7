//! The servers of a node for fuzz targets: clients connect by streams of the target, and a thread
//! answers in place of the packet thread.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::io::{AsyncRead, AsyncWrite};

use super::commands::{self, Command, CommandQueue, ControlHandle};
use super::http::{self, LIMITS};
use super::{metrics, socket};
use crate::stats::{Reloads, Stats};

/// The longest time of an HTTP connection.
pub const HTTP_TIME: Duration = LIMITS.time;

/// The servers of a node that carries no packets.
#[derive(Debug)]
pub struct Servers {
    handle: Arc<ControlHandle>,
}

impl Servers {
    /// Starts the thread that answers, which ends with the process.
    pub fn start() -> io::Result<Self> {
        let (handle, queue) = commands::channel()?;
        thread::Builder::new().spawn(move || answer(queue))?;
        Ok(Self {
            handle: Arc::new(handle),
        })
    }

    /// Serves a client of the control socket until it closes the connection.
    pub fn serve_control(&self, stream: UnixStream) -> io::Result<()> {
        socket::serve(stream, &self.handle)
    }

    /// Has the counters show a reload that was refused for this reason.
    pub fn refuse_reload(&self, why: String) {
        self.handle.count_refused_reload(why);
    }

    /// Serves a client of the HTTP server.
    pub async fn serve_http<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let router = metrics::router(self.handle.clone());
        http::serve(stream, router, LIMITS).await;
    }
}

/// Counts refused reloads, and answers with them.
fn answer(mut queue: CommandQueue) {
    let mut reloads = Reloads::default();
    loop {
        let _ = poll(
            &mut [PollFd::new(queue.as_fd(), PollFlags::POLLIN)],
            PollTimeout::NONE,
        );
        while let Some(command) = queue.next() {
            match command {
                Command::Count(answer) => {
                    let version = crate::stats::VERSION;
                    let reloads = reloads.clone();
                    let _ = answer.send(Stats {
                        version,
                        reloads,
                        ..Stats::default()
                    });
                }
                Command::ReloadRefused(why) => {
                    reloads.refused += 1;
                    reloads.last_error = Some(why);
                }
                Command::Change(_) => {}
            }
        }
    }
}
