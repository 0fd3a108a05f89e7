//! The two ends of a carrier of a stream: the place where payloads enter, and the one where they
//! leave.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::UdpSocket;

use socket2::Socket;

use crate::flow::is_timeout;

/// The place where payloads enter.
pub(super) enum Entrance {
    /// A datagram for each.
    Datagrams(UdpSocket),
    /// One after the other in a stream of bytes.
    Stream(StreamEntrance),
}

/// The entrance of a stream of bytes; what its socket does not accept yet waits here, as in the
/// queue of an application.
pub(super) struct StreamEntrance {
    socket: Socket,
    waiting: VecDeque<u8>,
}

/// The place where payloads leave.
pub(super) enum Exit {
    /// A datagram for each.
    Datagrams(UdpSocket),
    /// Payloads of one length in a stream of bytes.
    Stream(StreamExit),
}

/// The exit of a stream of bytes.
pub(super) struct StreamExit {
    socket: Socket,
    payload: Vec<u8>,
    filled: usize,
}

impl Entrance {
    /// The entrance of a stream of bytes; fails if the socket cannot be made non-blocking.
    pub(super) fn of_stream(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let waiting = VecDeque::new();
        Ok(Self::Stream(StreamEntrance { socket, waiting }))
    }

    /// Sends a payload. A datagram that the system refuses for want of space or of a receiver is
    /// lost; other errors are returned.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        match self {
            Self::Datagrams(socket) => match socket.send(payload) {
                Err(e) if is_lost(&e) => Ok(()),
                result => result.map(drop),
            },
            Self::Stream(stream) => {
                stream.waiting.extend(payload);
                stream.flush()
            }
        }
    }

    /// Sends what waits, as far as the socket accepts it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Datagrams(_) => Ok(()),
            Self::Stream(stream) => stream.flush(),
        }
    }
}

impl StreamEntrance {
    fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let (first, _) = self.waiting.as_slices();
            match self.socket.write(first) {
                Ok(len) => drop(self.waiting.drain(..len)),
                Err(e) if is_timeout(&e) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl Exit {
    /// The exit of a stream of payloads of `len` bytes.
    pub(super) fn of_stream(socket: Socket, len: usize) -> Self {
        let payload = vec![0; len];
        Self::Stream(StreamExit {
            socket,
            payload,
            filled: 0,
        })
    }

    /// Receives a payload into `buffer` and returns its length.
    ///
    /// Fails with a timeout ([`is_timeout`]) if none arrives for a while, and with `UnexpectedEof`
    /// at the end of a stream of bytes.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Datagrams(socket) => socket.recv(buffer),
            Self::Stream(stream) => stream.receive(buffer),
        }
    }
}

impl StreamExit {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.filled < self.payload.len() {
            match self.socket.read(&mut self.payload[self.filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => self.filled += len,
            }
        }
        self.filled = 0;
        let len = self.payload.len().min(buffer.len());
        buffer[..len].copy_from_slice(&self.payload[..len]);
        Ok(len)
    }
}

fn is_lost(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock
    ) || error.raw_os_error() == Some(nix::libc::ENOBUFS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A stream of bytes over loopback.
    fn stream(payload: usize) -> (Entrance, Exit) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        receiver
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let entrance = Entrance::of_stream(sender.into()).unwrap();
        (entrance, Exit::of_stream(receiver.into(), payload))
    }

    #[test]
    fn a_stream_of_bytes_keeps_payloads_apart_also_when_its_socket_is_full() {
        const LEN: usize = 100_000;
        let (mut entrance, mut exit) = stream(LEN);
        let payload = |n: u8| vec![n; LEN];
        // More than the buffers of both sockets hold.
        for n in 0..200 {
            entrance.send(&payload(n)).unwrap();
        }
        let Entrance::Stream(waits) = &entrance else {
            panic!("no stream");
        };
        assert!(!waits.waiting.is_empty());
        let mut buffer = vec![0; LEN];
        for n in 0..200 {
            let received = loop {
                entrance.flush().unwrap();
                match exit.receive(&mut buffer) {
                    Err(e) if is_timeout(&e) => {}
                    result => break result.unwrap(),
                }
            };
            assert_eq!(received, LEN);
            assert_eq!(buffer, payload(n));
        }
        assert!(is_timeout(&exit.receive(&mut buffer).unwrap_err()));
        drop(entrance);
        let end = exit.receive(&mut buffer).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
