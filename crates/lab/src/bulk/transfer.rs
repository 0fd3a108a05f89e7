//! The bytes of one transfer between two connected sockets.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_live::clock::Clock;
use polypath_live::priority;
use socket2::Socket;

use crate::flow::{READ_TIMEOUT, is_timeout};
use crate::node_pair::PRIORITY;
use crate::running::join;

/// The bytes that an end hands to its socket, or takes from it, at most at once.
const CHUNK: usize = 1 << 16;
/// The interval at which the receiver checks its carrier.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A transfer.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub(super) size: Bytes,
    /// The time after which it ends, complete or not.
    pub(super) timeout: Duration,
    pub(super) clock: Clock,
}

impl Transfer {
    /// Transfers from the first socket to the second, whose reads must time out; returns the bytes
    /// received and the time from the first byte offered to the last one received.
    ///
    /// Fails if a socket or `check` does, which is called often, or if the connection ends before
    /// the transfer.
    pub(super) fn run(
        self,
        [from, to]: [Socket; 2],
        check: impl FnMut() -> io::Result<()> + Send,
    ) -> io::Result<(u64, Duration)> {
        let over = AtomicBool::new(false);
        let start = self.clock.now();
        thread::scope(|scope| {
            let sending = scope.spawn(|| with_priority(|| self.send(&from, &over)));
            let receiving = scope.spawn(|| {
                let received = with_priority(|| self.receive(&to, start, check));
                over.store(true, Ordering::Relaxed);
                received
            });
            let received = join(receiving);
            join(sending).and(received)
        })
    }

    /// Sends all bytes, until the transfer is over.
    fn send(self, mut socket: &Socket, over: &AtomicBool) -> io::Result<()> {
        socket.set_write_timeout(Some(READ_TIMEOUT))?;
        let chunk = vec![0x55; CHUNK];
        let mut left = self.size.0;
        while left > 0 && !over.load(Ordering::Relaxed) {
            let len = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
            match socket.write(&chunk[..len]) {
                Ok(sent) => left -= sent as u64,
                Err(e) if is_timeout(&e) => {}
                // The receiver has the cause.
                Err(_) if over.load(Ordering::Relaxed) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        socket.shutdown(Shutdown::Write)
    }

    fn receive(
        self,
        mut socket: &Socket,
        start: Time,
        mut check: impl FnMut() -> io::Result<()>,
    ) -> io::Result<(u64, Duration)> {
        let mut chunk = vec![0; CHUNK];
        let (mut received, mut last, mut checked) = (0, start, start);
        while received < self.size.0 && self.clock.now().since(start) < self.timeout {
            match socket.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => {
                    received += len as u64;
                    last = self.clock.now();
                }
                Err(e) if is_timeout(&e) => {}
                Err(e) => return Err(e),
            }
            let now = self.clock.now();
            if now.since(checked) >= CHECK_INTERVAL {
                check()?;
                checked = now;
            }
        }
        Ok((received, last.since(start)))
    }
}

/// Runs `work` with the real-time priority of nodes, if the system allows it.
fn with_priority<T>(work: impl FnOnce() -> T) -> T {
    // Without one, other processes affect all carriers alike.
    let _ = priority::realtime(PRIORITY);
    work()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn sockets() -> [Socket; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        receiver.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        [sender.into(), receiver.into()]
    }

    fn transfer(size: u64, timeout: Duration) -> Transfer {
        Transfer {
            size: Bytes(size),
            timeout,
            clock: Clock::starting_now(),
        }
    }

    #[test]
    fn all_bytes_arrive() {
        let transfer = transfer(10_000_001, Duration::from_secs(60));
        let (received, duration) = transfer.run(sockets(), || Ok(())).unwrap();
        assert_eq!(received, 10_000_001);
        assert!(duration > Duration::ZERO && duration < Duration::from_secs(60));
    }

    #[test]
    fn a_transfer_ends_at_its_timeout_with_what_was_received() {
        // Nobody reads what is sent, so that the transfer fills its buffers.
        let ([from, _unread], [_silent, to]) = (sockets(), sockets());
        let transfer = transfer(1 << 40, Duration::from_millis(300));
        let result = transfer.run([from, to], || Ok(())).unwrap();
        assert_eq!(result, (0, Duration::ZERO));
    }

    #[test]
    fn a_connection_that_ends_and_a_failed_check_are_errors() {
        let [from, to] = sockets();
        from.shutdown(Shutdown::Both).unwrap();
        let transfer = transfer(1 << 40, Duration::from_secs(60));
        assert!(transfer.run([from, to], || Ok(())).is_err());
        let stopped = || Err(io::ErrorKind::Interrupted.into());
        let error = transfer.run(sockets(), stopped).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
