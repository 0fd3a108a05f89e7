//! Sockets of connections: their options, and what the kernel has measured.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::libc::{self, c_int};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpSocket, TcpStream};

/// The receive buffer in bytes. It is set before the handshake: the kernel then chooses a small
/// window scale, so that windows have steps of 32 B and not of 1 kB.
const RECEIVE_BUFFER: usize = 2 << 20;
/// The maximum number of bytes that wait in a sending socket without having been sent. Packets wait
/// before the choice of their connection instead.
const UNSENT: u32 = 8 << 10;

/// The time after which a connection of a server ends whose receiver acknowledges nothing, or
/// accepts nothing, as a player that pauses does. The system's own time is some 15 minutes.
const SERVER_TIMEOUT: Duration = Duration::from_secs(120);
/// The time after which a connection of a receiver ends whose server acknowledges nothing: longer
/// than TCP waits for its third repetition (RFC 6298, at a round trip below a second), and short, as
/// what the connection carried is missing until then.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time without a segment after which a receiver asks whether the server is there, and between
/// the questions.
const ASK_EVERY: std::time::Duration = std::time::Duration::from_secs(2);

/// The socket of a connection, beside the stream that reads and writes it.
#[derive(Debug)]
pub(crate) struct ConnectionSocket(OwnedFd);

impl ConnectionSocket {
    /// A second handle of the socket of `stream`.
    pub(crate) fn of(stream: &TcpStream) -> io::Result<Self> {
        stream.as_fd().try_clone_to_owned().map(Self)
    }

    /// Limits the receiver window to `bytes`. The kernel has a minimum of one segment, and grows the
    /// window again by itself: repeat the call every 50 ms.
    pub(crate) fn set_window(&self, bytes: u32) -> io::Result<()> {
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        set_option(&self.0, [libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP], value)
    }

    /// The smoothed round-trip time; `None` before the kernel has measured one.
    #[expect(unsafe_code, reason = "no library here has this socket option")]
    pub(crate) fn rtt(&self) -> Option<Duration> {
        // SAFETY: all fields are integers, for which zero is valid.
        let mut info: libc::tcp_info = unsafe { mem::zeroed() };
        let mut len = libc::socklen_t::try_from(mem::size_of_val(&info)).ok()?;
        let fd = self.0.as_raw_fd();
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        // SAFETY: the call writes at most `len` bytes into `info`, and keeps no pointer; the
        // descriptor is open.
        let done =
            unsafe { libc::getsockopt(fd, level, option, (&raw mut info).cast(), &raw mut len) };
        let rtt = u64::from(info.tcpi_rtt);
        (done == 0 && rtt > 0).then(|| Duration::from_micros(rtt))
    }
}

/// Connects a receiver to a server.
pub(crate) async fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(
        Domain::for_address(server),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    set_receive_buffer(&socket);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&keepalive(ASK_EVERY))?;
    set_user_timeout(&socket, RECEIVER_TIMEOUT)?;
    TcpSocket::from_std_stream(socket.into())
        .connect(server)
        .await
}

/// Sets the buffer as large as is wanted, or not at all: a small one would limit the rate.
fn set_receive_buffer(socket: &Socket) {
    let forced = nix::sys::socket::sockopt::RcvBufForce;
    // Only a privileged process may exceed the system's maximum.
    let _ = nix::sys::socket::setsockopt(socket, forced, &RECEIVE_BUFFER);
}

/// Prepares an accepted connection for sending packets as soon as they are written, at most at
/// `limit`.
pub(crate) fn prepare_accepted(stream: &TcpStream, limit: Option<Rate>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_keepalive(&keepalive(std::time::Duration::from_secs(10)))?;
    if let Some(limit) = limit {
        let bytes = u32::try_from(limit.0 / 8).unwrap_or(u32::MAX);
        set_option(
            stream,
            [libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE],
            bytes.cast_signed(),
        )?;
    }
    set_user_timeout(stream, SERVER_TIMEOUT)?;
    let unsent = c_int::try_from(UNSENT).unwrap_or(c_int::MAX);
    set_option(stream, [libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT], unsent)
}

/// Resets a connection when its last handle is dropped, instead of ending it in order.
pub(crate) fn reset_when_dropped(socket: &impl AsFd) {
    // It fails if the connection has ended.
    let _ = SockRef::from(socket).set_linger(Some(std::time::Duration::ZERO));
}

/// Ends a connection whose other end acknowledges nothing for `time`, whether data or keepalive
/// probes wait for it (tcp(7), `TCP_USER_TIMEOUT`).
fn set_user_timeout(socket: &impl AsFd, time: Duration) -> io::Result<()> {
    let milliseconds = c_int::try_from(time.as_nanos() / 1_000_000).unwrap_or(c_int::MAX);
    let option = [libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT];
    set_option(socket, option, milliseconds)
}

/// Asks the other end of an idle connection at this interval; the user time-out decides when it is
/// gone.
fn keepalive(interval: std::time::Duration) -> TcpKeepalive {
    TcpKeepalive::new()
        .with_time(interval)
        .with_interval(interval)
}

#[expect(unsafe_code, reason = "no library here has these socket options")]
fn set_option(socket: &impl AsFd, [level, option]: [c_int; 2], value: c_int) -> io::Result<()> {
    let len = libc::socklen_t::try_from(mem::size_of_val(&value)).map_err(io::Error::other)?;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the call reads one `c_int`, which outlives it, and keeps no pointer; the descriptor is
    // open.
    let done = unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), len) };
    if done == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
