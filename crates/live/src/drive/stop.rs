//! Ending a drive from another thread or from a signal.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Ends the drive that it belongs to.
#[derive(Clone, Debug)]
pub struct StopHandle {
    stream: Arc<UnixStream>,
}

impl StopHandle {
    /// Ends the drive, or the next one if none is running.
    pub fn stop(&self) {
        // A full socket buffer means that requests are pending already.
        let _ = (&*self.stream).write(&[1]);
    }

    /// Ends the drive when the process receives `signal` (`SIGINT`, `SIGTERM`, ...).
    pub fn stop_on(&self, signal: i32) -> io::Result<()> {
        let stream = self.stream.try_clone()?;
        signal_hook::low_level::pipe::register(signal, stream)?;
        Ok(())
    }
}

/// The receiving end of a [`StopHandle`].
#[derive(Debug)]
pub(super) struct StopListener {
    stream: UnixStream,
}

impl StopListener {
    /// Discards pending requests, so that another drive can follow.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl AsFd for StopListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A handle and its receiving end.
pub(super) fn channel() -> io::Result<(StopHandle, StopListener)> {
    let (writer, reader) = UnixStream::pair()?;
    writer.set_nonblocking(true)?;
    reader.set_nonblocking(true)?;
    let handle = StopHandle {
        stream: Arc::new(writer),
    };
    Ok((handle, StopListener { stream: reader }))
}
