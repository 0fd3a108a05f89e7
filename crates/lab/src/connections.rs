//! Connections of the kernel's TCP that send without an end, served by one thread.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_sim::Side;
use socket2::Socket;

use crate::endpoints::Endpoints;
use crate::tcp;

/// The bytes that are handed to a socket, or taken from it, at most at once.
const CHUNK: usize = 1 << 16;
/// The longest wait for a socket.
const POLL: Duration = Duration::from_millis(50);
/// The time in which all connections must be established.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The bytes that each connection had received at some time.
pub(crate) type Totals = Vec<f64>;

/// The time in which a connection sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub(crate) from: Time,
    /// Its sender hands no more to its socket from here on; what waits there is still sent.
    pub(crate) until: Time,
}

/// Established connections from the server's side to the client's.
pub(crate) struct Connections {
    senders: Vec<Socket>,
    receivers: Vec<Socket>,
}

impl Connections {
    /// Establishes `number` connections to an address of the client's side.
    pub(crate) fn open(
        endpoints: &Endpoints,
        to: SocketAddr,
        number: u32,
        congestion_control: &str,
    ) -> io::Result<Self> {
        let (client, server) = (endpoints.at(Side::Client), endpoints.at(Side::Server));
        let listener = client.run(|| {
            let socket = tcp::socket(congestion_control)?;
            socket.bind(&to.into())?;
            socket.listen(number.cast_signed())?;
            socket.set_read_timeout(Some(CONNECT_TIMEOUT))?;
            io::Result::Ok(socket)
        })?;
        let connect = || {
            let socket = tcp::socket(congestion_control)?;
            socket.set_nonblocking(true)?;
            match socket.connect(&to.into()) {
                Err(e) if e.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(e),
                _ => Ok(socket),
            }
        };
        let senders = server.run(|| {
            (0..number)
                .map(|_| connect())
                .collect::<io::Result<Vec<_>>>()
        })?;
        // A handshake over a link that fades is late: accepted in the order of their ends.
        let mut accepted = Vec::new();
        for _ in 0..number {
            let (socket, from) = listener.accept()?;
            socket.set_nonblocking(true)?;
            accepted.push((from, socket));
        }
        let mut receivers = Vec::new();
        for sender in &senders {
            let own = sender.local_addr()?;
            let at = accepted.iter().position(|(from, _)| *from == own);
            let at = at.ok_or_else(|| io::Error::other("a connection of another program"))?;
            receivers.push(accepted.swap_remove(at).1);
        }
        Ok(Self { senders, receivers })
    }

    /// The number of connections.
    pub(crate) fn len(&self) -> usize {
        self.senders.len()
    }

    /// Sends on each connection in its time, and returns the bytes that each had received at each of
    /// the times of `totals_at`, the last of which ends the transfers.
    ///
    /// Fails if a socket or `check` does, which is called often.
    pub(crate) fn serve(
        &self,
        times: &[Sending],
        totals_at: &[Time],
        clock: Clock,
        check: impl Fn() -> io::Result<()>,
    ) -> io::Result<Vec<Totals>> {
        let mut buffer = vec![0x55; CHUNK];
        let mut received = vec![0; self.receivers.len()];
        let mut totals = Vec::with_capacity(totals_at.len());
        while let Some(&next_total) = totals_at.get(totals.len()) {
            check()?;
            let now = clock.now();
            if now >= next_total {
                totals.push(received.iter().map(|&bytes| bytes as f64).collect());
                continue;
            }
            let is_sending = |at: &usize| (times[*at].from..times[*at].until).contains(&now);
            let sending: Vec<usize> = (0..self.senders.len()).filter(is_sending).collect();
            let begins = times
                .iter()
                .map(|time| time.from)
                .filter(|from| *from > now);
            let next = begins.chain([next_total]).min().unwrap_or(next_total);
            let ready = self.ready(&sending, next.since(now).min(POLL))?;
            for at in ready.readable {
                received[at] += read(&self.receivers[at], &mut buffer)?;
            }
            for at in ready.writable {
                write(&self.senders[at], &buffer)?;
            }
        }
        Ok(totals)
    }

    /// Waits for any receiver with bytes, or any of the senders `sending` with room.
    fn ready(&self, sending: &[usize], wait: Duration) -> io::Result<Ready> {
        let receivers = self
            .receivers
            .iter()
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN));
        let senders = sending
            .iter()
            .map(|&at| PollFd::new(self.senders[at].as_fd(), PollFlags::POLLOUT));
        let mut fds: Vec<PollFd<'_>> = receivers.chain(senders).collect();
        // One millisecond more, since the wait is cut to whole ones.
        let timeout = u16::try_from(wait.as_nanos() / 1_000_000 + 1).unwrap_or(u16::MAX);
        match poll(&mut fds, PollTimeout::from(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let any = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let (receivers, senders) = fds.split_at(self.receivers.len());
        let of_senders = sending.iter().zip(senders);
        Ok(Ready {
            readable: (0..)
                .zip(receivers)
                .filter(|(_, fd)| any(fd))
                .map(|(at, _)| at)
                .collect(),
            writable: of_senders
                .filter(|(_, fd)| any(fd))
                .map(|(&at, _)| at)
                .collect(),
        })
    }
}

/// The connections whose receiver has bytes, and those whose sender has room.
struct Ready {
    readable: Vec<usize>,
    writable: Vec<usize>,
}

/// Reads what has arrived, at most a chunk; fails if the connection has ended.
fn read(mut socket: &Socket, buffer: &mut [u8]) -> io::Result<u64> {
    match socket.read(buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(len) => Ok(len as u64),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(e) => Err(e),
    }
}

fn write(mut socket: &Socket, chunk: &[u8]) -> io::Result<()> {
    match socket.write(chunk) {
        Err(e) if e.kind() != io::ErrorKind::WouldBlock => Err(e),
        _ => Ok(()),
    }
}
