//! A thread that writes files, so that a busy disk does not delay the packet thread.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::privilege;

/// The time for which the end of a run waits for the last writes: a stuck disk must not delay it
/// forever.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A thread without privileges, started with its file open.
#[derive(Debug)]
pub(crate) struct WriterThread {
    /// Closed when the work ends, also by a panic.
    done: Receiver<Infallible>,
}

impl WriterThread {
    /// Starts `work` on a thread of this name.
    pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (running, done) = mpsc::channel();
        let run = move || {
            let _running = running;
            privilege::drop_thread_capabilities();
            work();
        };
        thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { done })
    }

    /// Waits at most [`PATIENCE`] for the end of the work; returns whether it ended.
    pub(crate) fn await_end(&self) -> bool {
        self.done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout)
    }
}
