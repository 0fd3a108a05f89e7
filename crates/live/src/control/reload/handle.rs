//! Requests to reload the configuration, from another thread or from a signal handler.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Requests that the node it belongs to reload its configuration.
#[derive(Clone, Debug)]
pub struct ReloadHandle {
    stream: Arc<UnixStream>,
}

impl ReloadHandle {
    /// Requests a reload.
    pub fn reload(&self) {
        // A full buffer means that a request is already pending.
        let _ = (&*self.stream).write(&[1]);
    }

    /// Requests a reload whenever the process receives `signal` (`SIGHUP`).
    pub fn reload_on(&self, signal: i32) -> io::Result<()> {
        let stream = self.stream.try_clone()?;
        signal_hook::low_level::pipe::register(signal, stream)?;
        Ok(())
    }
}

/// The receiving end of a [`ReloadHandle`]: readable once a reload was requested.
#[derive(Debug)]
pub(crate) struct ReloadRequests {
    stream: UnixStream,
}

impl ReloadRequests {
    /// Discards all requests received so far: several in a row cause one reload.
    pub(crate) fn drain(&self) {
        let mut bytes = [0; 64];
        while (&self.stream).read(&mut bytes).is_ok_and(|len| len > 0) {}
    }
}

impl AsFd for ReloadRequests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A handle and the receiver of its requests.
pub(crate) fn channel() -> io::Result<(ReloadHandle, ReloadRequests)> {
    let (writer, reader) = UnixStream::pair()?;
    writer.set_nonblocking(true)?;
    reader.set_nonblocking(true)?;
    let stream = Arc::new(writer);
    Ok((ReloadHandle { stream }, ReloadRequests { stream: reader }))
}
