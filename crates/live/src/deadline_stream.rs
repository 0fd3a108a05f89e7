//! A stream with a deadline for all reads and writes and a limit on the length of messages.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time;

use polypath_core::time::{Duration, Time};

use crate::clock::Clock;

/// A stream whose reads and writes fail with `TimedOut` after a deadline.
#[derive(Debug)]
pub(crate) struct DeadlineStream {
    stream: UnixStream,
    clock: Clock,
    deadline: Time,
    read: Vec<u8>,
}

impl DeadlineStream {
    /// Sets the deadline to `span` from now.
    pub(crate) fn new(stream: UnixStream, span: Duration) -> Self {
        let clock = Clock::starting_now();
        Self {
            stream,
            clock,
            deadline: clock.now() + span,
            read: Vec::new(),
        }
    }

    /// Moves the deadline to `span` from now.
    pub(crate) fn renew(&mut self, span: Duration) {
        self.deadline = self.clock.now() + span;
    }

    /// Reads the bytes before the next `end`, which is consumed; `None` if the peer closes the
    /// stream first.
    ///
    /// # Errors
    /// `InvalidData` beyond `limit` bytes.
    pub(crate) fn read_until(&mut self, end: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = [0; 4096];
        loop {
            let found = self.read.windows(end.len()).position(|part| part == end);
            if let Some(len) = found.filter(|len| *len <= limit) {
                let rest = self.read.split_off(len + end.len());
                let mut before = std::mem::replace(&mut self.read, rest);
                before.truncate(len);
                return Ok(Some(before));
            }
            if self.read.len() > limit + end.len() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.apply_deadline()?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(len) => self.read.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(timed_out(error)),
            }
        }
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.apply_deadline()?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => bytes = &bytes[len..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(timed_out(error)),
            }
        }
        Ok(())
    }

    fn apply_deadline(&self) -> io::Result<()> {
        let left = self.deadline.since(self.clock.now());
        if left == Duration::ZERO {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Some(time::Duration::from_nanos(left.as_nanos()));
        self.stream.set_read_timeout(left)?;
        self.stream.set_write_timeout(left)
    }
}

/// A socket reports its timeout as `WouldBlock`.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn pair() -> (DeadlineStream, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        (DeadlineStream::new(near, SOON), far)
    }

    #[test]
    fn fragmented_input_is_read_line_by_line() {
        let (mut near, mut far) = pair();
        far.write_all(b"one\ntw").unwrap();
        assert_eq!(near.read_until(b"\n", 10).unwrap().unwrap(), b"one");
        far.write_all(b"o\n\nrest").unwrap();
        assert_eq!(near.read_until(b"\n", 3).unwrap().unwrap(), b"two");
        assert_eq!(near.read_until(b"\n", 3).unwrap().unwrap(), b"");
        drop(far);
        assert_eq!(near.read_until(b"\n", 10).unwrap(), None);
    }

    #[test]
    fn long_messages_and_slow_peers_are_errors() {
        let _lock = crate::test_lock::shared();
        let (mut near, mut far) = pair();
        far.write_all(b"four\n").unwrap();
        let error = near.read_until(b"\n", 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let (mut near, far) = pair();
        let error = near.read_until(b"\n", 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // The peer reads nothing, so the kernel's buffers fill up.
        near.renew(SOON);
        let error = near.write(&vec![0; 8 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }

    #[test]
    fn slow_input_does_not_extend_the_deadline() {
        let _lock = crate::test_lock::shared();
        let (mut near, mut far) = pair();
        let writer = std::thread::spawn(move || {
            while far.write_all(b"x").is_ok() {
                std::thread::sleep(time::Duration::from_millis(5));
            }
        });
        let error = near.read_until(b"\n", 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(near);
        writer.join().unwrap();
    }
}
