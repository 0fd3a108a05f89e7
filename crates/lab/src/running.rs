//! A program of the lab on a thread of this process.

use std::io;
use std::thread::{Builder, JoinHandle, ScopedJoinHandle};

use polypath_live::drive::StopHandle;
use polypath_live::priority;

use crate::node_pair::PRIORITY;

/// The result of a scoped thread; a panic of it continues here.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A thread that runs until it is stopped, on drop at the latest.
#[derive(Debug)]
pub(crate) struct Running<T> {
    stop: StopHandle,
    thread: Option<JoinHandle<io::Result<T>>>,
}

impl<T: Send + 'static> Running<T> {
    /// Runs `work` with a real-time priority, if the system allows it.
    pub(crate) fn start(
        name: &str,
        stop: StopHandle,
        mut work: impl FnMut() -> io::Result<T> + Send + 'static,
    ) -> io::Result<Self> {
        let builder = Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || {
            let _ = priority::realtime(PRIORITY);
            work()
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl<T> Running<T> {
    /// Ends the work soon.
    pub(crate) fn stop(&self) {
        self.stop.stop();
    }

    /// Whether the work has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the work; fails with its error.
    pub(crate) fn join(&mut self) -> io::Result<T> {
        let thread = self.thread.take().ok_or(io::ErrorKind::BrokenPipe)?;
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // It is dropped unfinished only on the way out with another error.
            let _ = thread.join();
        }
    }
}
