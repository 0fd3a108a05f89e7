//! A thread that writes to a disk beside one that must not wait for it, but at its end, and then not for ever.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::privilege;

/// How long the end waits for what is to be written last: a disk that takes nothing must not hold it up for ever.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Work on a thread of its own, without any privilege: its file is open.
#[derive(Debug)]
pub(crate) struct WriterThread {
    /// Closed by the end of the work, by a panic as well.
    done: Receiver<Infallible>,
}

impl WriterThread {
    /// Begins `work` on a thread of this name.
    pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (running, done) = mpsc::channel();
        let begin = move || {
            let _running = running;
            privilege::forget();
            work();
        };
        thread::Builder::new().name(name.to_owned()).spawn(begin)?;
        Ok(Self { done })
    }

    /// Waits for [`PATIENCE`] until the work is done, and says whether it is.
    pub(crate) fn await_end(&self) -> bool {
        self.done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout)
    }
}
