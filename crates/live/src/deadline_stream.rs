//! A client's stream, from which and to which no more is read and written than is meant, and not for longer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time;

use polypath_core::time::{Duration, Time};

use crate::clock::Clock;

/// A stream whose calls can be given an end.
pub(crate) trait Timed: Read + Write {
    /// Reads and writes fail once they took so long.
    fn limit(&self, span: time::Duration) -> io::Result<()>;
}

impl Timed for UnixStream {
    fn limit(&self, span: time::Duration) -> io::Result<()> {
        self.set_read_timeout(Some(span))?;
        self.set_write_timeout(Some(span))
    }
}

impl Timed for TcpStream {
    fn limit(&self, span: time::Duration) -> io::Result<()> {
        self.set_read_timeout(Some(span))?;
        self.set_write_timeout(Some(span))
    }
}

/// A stream with a time by which all is to be done.
#[derive(Debug)]
pub(crate) struct DeadlineStream<S> {
    stream: S,
    clock: Clock,
    until: Time,
    read: Vec<u8>,
}

impl<S: Timed> DeadlineStream<S> {
    /// All is to be done within `span`.
    pub(crate) fn new(stream: S, span: Duration) -> Self {
        let clock = Clock::starting_now();
        Self {
            stream,
            clock,
            until: clock.now() + span,
            read: Vec::new(),
        }
    }

    /// What follows has another `span`.
    pub(crate) fn renew(&mut self, span: Duration) {
        self.until = self.clock.now() + span;
    }

    /// The bytes before the next `end`, which is taken as well; none where the other side has closed before.
    ///
    /// Fails with `InvalidData` beyond `most` bytes.
    pub(crate) fn read_until(&mut self, end: &[u8], most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = [0; 4096];
        loop {
            let found = self.read.windows(end.len()).position(|part| part == end);
            if let Some(len) = found.filter(|len| *len <= most) {
                let rest = self.read.split_off(len + end.len());
                let mut before = std::mem::replace(&mut self.read, rest);
                before.truncate(len);
                return Ok(Some(before));
            }
            if self.read.len() > most + end.len() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.limit()?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(len) => self.read.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(late(error)),
            }
        }
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.limit()?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => bytes = &bytes[len..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(late(error)),
            }
        }
        Ok(())
    }

    fn limit(&self) -> io::Result<()> {
        let left = self.until.since(self.clock.now());
        if left == Duration::ZERO {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream
            .limit(time::Duration::from_nanos(left.as_nanos()))
    }
}

/// The system says of a call that took too long that it would block.
fn late(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn pair() -> (DeadlineStream<UnixStream>, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        (DeadlineStream::new(near, SOON), far)
    }

    #[test]
    fn what_comes_in_pieces_is_taken_line_by_line() {
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
    fn what_is_too_long_or_too_slow_is_refused() {
        let _busy = crate::test_lock::shared();
        let (mut near, mut far) = pair();
        far.write_all(b"four\n").unwrap();
        let error = near.read_until(b"\n", 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let (mut near, far) = pair();
        let error = near.read_until(b"\n", 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // A reader that takes nothing: the kernel's buffers are full some time.
        near.renew(SOON);
        let error = near.write(&vec![0; 8 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }

    #[test]
    fn a_byte_now_and_then_does_not_renew_the_time() {
        let _busy = crate::test_lock::shared();
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
