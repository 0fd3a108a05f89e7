//! The word to reload, from another thread or from a signal.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Lets the node that it belongs to read its configuration again.
#[derive(Clone, Debug)]
pub struct ReloadHandle {
    stream: Arc<UnixStream>,
}

impl ReloadHandle {
    /// Reloads.
    pub fn reload(&self) {
        // A full buffer means that the node has been told often enough.
        let _ = (&*self.stream).write(&[1]);
    }

    /// Reloads when the process receives `signal` (`SIGHUP`).
    pub fn reload_on(&self, signal: i32) -> io::Result<()> {
        let stream = self.stream.try_clone()?;
        signal_hook::low_level::pipe::register(signal, stream)?;
        Ok(())
    }
}

/// A handle and the stream that is readable once it was used.
pub(super) fn signal() -> io::Result<(ReloadHandle, UnixStream)> {
    let (writer, reader) = UnixStream::pair()?;
    writer.set_nonblocking(true)?;
    reader.set_nonblocking(true)?;
    let stream = Arc::new(writer);
    Ok((ReloadHandle { stream }, reader))
}

/// Forgets what was said: several words in a row are one.
pub(super) fn drain(mut stream: &UnixStream) {
    let mut bytes = [0; 64];
    while stream.read(&mut bytes).is_ok_and(|len| len > 0) {}
}
