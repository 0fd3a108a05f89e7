//! Live bytes, which are kept for as long as a receiver may need them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use polypath_live::udp::enlarge_receive_buffer;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::source::{PAYLOAD, SourceError};

/// The packets of a live source that are kept for receivers.
#[derive(Clone, Debug)]
pub struct LiveSource {
    shared: Arc<Shared>,
    identity: u64,
}

/// The place of a receiver in a live source.
#[derive(Debug)]
pub(crate) struct LivePosition {
    shared: Arc<Shared>,
    /// The number of packets that came, to wait for more.
    arrivals: watch::Receiver<u64>,
    next: u64,
}

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    arrivals: watch::Sender<u64>,
}

#[derive(Debug)]
struct Ring {
    packets: VecDeque<Bytes>,
    /// The number of packets that came before the first one kept.
    dropped: u64,
    bytes: usize,
    /// The number of bytes that are kept.
    backlog: usize,
    end: Option<Ended>,
}

/// The end of a live source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Complete,
    Failed,
    Stopped,
}

/// The time for which bytes that fill no packet wait for more.
const GATHER: Duration = Duration::from_millis(20);
/// The size of a packet of MPEG-TS in bytes, and its first byte (ISO/IEC 13818-1, 2.4.3).
const TS_PACKET: (usize, u8) = (188, 0x47);

impl LiveSource {
    /// A source without packets, which keeps the last `backlog` bytes for slow receivers.
    ///
    /// # Errors
    /// Fails if the random source of the system does.
    pub fn new(backlog: usize) -> Result<Self, getrandom::Error> {
        let mut identity = [0; 8];
        getrandom::fill(&mut identity)?;
        let ring = Ring {
            packets: VecDeque::new(),
            dropped: 0,
            bytes: 0,
            backlog,
            end: None,
        };
        Ok(Self {
            shared: Arc::new(Shared {
                ring: Mutex::new(ring),
                arrivals: watch::Sender::new(0),
            }),
            identity: u64::from_be_bytes(identity).max(1),
        })
    }

    /// Reads bytes to their end, in packets of seven packets of MPEG-TS; of less, but whole ones, if
    /// no more come within 20 ms.
    ///
    /// # Errors
    /// Fails if reading does; the stream of all receivers then fails, too.
    pub async fn read_from(&self, mut input: impl AsyncRead + Unpin) -> std::io::Result<()> {
        let mut buffer = BytesMut::new();
        let mut waiting_since = Instant::now();
        let result = loop {
            buffer.reserve(16 * PAYLOAD);
            let waiting = sendable(&buffer);
            let until = (waiting > 0).then_some(waiting_since + GATHER);
            let Some(read) = read_until(&mut input, &mut buffer, until).await else {
                self.push(buffer.split_to(waiting).freeze());
                continue;
            };
            match read {
                Ok(0) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
            if waiting == 0 || buffer.len() >= PAYLOAD {
                waiting_since = Instant::now();
            }
            while buffer.len() >= PAYLOAD {
                self.push(buffer.split_to(PAYLOAD).freeze());
            }
        };
        if result.is_ok() && !buffer.is_empty() {
            self.push(buffer.freeze());
        }
        self.end(if result.is_ok() {
            Ended::Complete
        } else {
            Ended::Failed
        });
        result
    }

    /// A socket at this address for [`receive_from`](Self::receive_from), with room for what comes at
    /// once: a key frame is some hundred datagrams, and the system's default holds 90. Without
    /// `CAP_NET_ADMIN` it is the most that the system permits. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn bind(address: SocketAddr) -> std::io::Result<UdpSocket> {
        let socket = std::net::UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        enlarge_receive_buffer(&socket)?;
        UdpSocket::from_std(socket)
    }

    /// Receives datagrams, of which each becomes a packet, until the task is dropped.
    ///
    /// # Errors
    /// Fails if the socket does.
    pub async fn receive_from(&self, socket: &UdpSocket) -> std::io::Result<()> {
        // The maximum of a UDP datagram. Packets are copied: each would keep all of it.
        let mut buffer = vec![0; 1 << 16];
        loop {
            let len = match socket.recv(&mut buffer).await {
                Ok(len) => len,
                Err(error) => {
                    self.end(Ended::Failed);
                    return Err(error);
                }
            };
            for packet in buffer[..len].chunks(MAX_DATAGRAM) {
                self.push(Bytes::copy_from_slice(packet));
            }
        }
    }

    /// Ends the source: receivers get what has come, and then the reason.
    pub fn stop(&self) {
        self.end(Ended::Stopped);
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The position after the newest packet.
    pub(crate) fn subscribe(&self) -> LivePosition {
        let arrivals = self.shared.arrivals.subscribe();
        let next = self.shared.lock().end();
        LivePosition {
            shared: Arc::clone(&self.shared),
            arrivals,
            next,
        }
    }

    fn push(&self, packet: Bytes) {
        let mut ring = self.shared.lock();
        if ring.end.is_some() {
            return;
        }
        ring.bytes += packet.len() + PACKET_COST;
        ring.packets.push_back(packet);
        while ring.bytes > ring.backlog
            && let Some(dropped) = ring.packets.pop_front()
        {
            ring.bytes -= dropped.len() + PACKET_COST;
            ring.dropped += 1;
        }
        let end = ring.end();
        drop(ring);
        self.shared.arrivals.send_replace(end);
    }

    fn end(&self, ended: Ended) {
        let mut ring = self.shared.lock();
        ring.end.get_or_insert(ended);
        let end = ring.end();
        drop(ring);
        // Wakes the receivers, though the number is the same.
        self.shared.arrivals.send_replace(end);
    }
}

/// The memory that a kept packet takes beside its bytes, about.
const PACKET_COST: usize = 100;
/// The longest part of a datagram that is sent as one packet: as much as a message carries.
const MAX_DATAGRAM: usize = polypath_core::connections::wire::MAX_PAYLOAD;

/// Reads more bytes into `buffer`; `None` if there are none by `until`.
async fn read_until(
    input: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    until: Option<Instant>,
) -> Option<std::io::Result<usize>> {
    let read = input.read_buf(buffer);
    match until {
        Some(until) => timeout_at(until, read).await.ok(),
        None => Some(read.await),
    }
}

/// The number of bytes of `waiting` that may be sent as a packet: those of whole packets of MPEG-TS,
/// which a player expects in a datagram, and all of another format.
fn sendable(waiting: &[u8]) -> usize {
    let (size, first) = TS_PACKET;
    if waiting.first() == Some(&first) {
        waiting.len() / size * size
    } else {
        waiting.len()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ring> {
        // A panic elsewhere leaves whole packets.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// The number of packets that came.
    fn end(&self) -> u64 {
        self.dropped + self.packets.len() as u64
    }
}

impl LivePosition {
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        loop {
            // Before the look, or a packet that comes in between would wake nobody.
            self.arrivals.mark_unchanged();
            if let Some(next) = self.take() {
                return next;
            }
            if self.arrivals.changed().await.is_err() {
                return Err(SourceError::Failed);
            }
        }
    }

    /// Ends when the next packet is no longer kept.
    pub(crate) async fn behind(&mut self) {
        loop {
            self.arrivals.mark_unchanged();
            if self.next < self.shared.lock().dropped {
                return;
            }
            if self.arrivals.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// The next packet, the end, or nothing yet.
    fn take(&mut self) -> Option<Result<Option<Bytes>, SourceError>> {
        let ring = self.shared.lock();
        let Some(offset) = self.next.checked_sub(ring.dropped) else {
            return Some(Err(SourceError::TooSlow));
        };
        let kept = usize::try_from(offset)
            .ok()
            .and_then(|at| ring.packets.get(at));
        if let Some(packet) = kept {
            self.next += 1;
            return Some(Ok(Some(packet.clone())));
        }
        match ring.end? {
            Ended::Complete => Some(Ok(None)),
            Ended::Failed => Some(Err(SourceError::Failed)),
            Ended::Stopped => Some(Err(SourceError::Stopped)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8) -> Bytes {
        Bytes::from(vec![number; 100])
    }

    #[tokio::test]
    async fn receivers_get_what_comes_after_their_start() {
        let source = LiveSource::new(2000).unwrap();
        source.push(packet(1));
        let mut position = source.subscribe();
        source.push(packet(2));
        assert_eq!(position.next().await.unwrap(), Some(packet(2)));
        let later = {
            let source = source.clone();
            tokio::spawn(async move { source.push(packet(3)) })
        };
        assert_eq!(position.next().await.unwrap(), Some(packet(3)));
        later.await.unwrap();
        source.end(Ended::Complete);
        assert_eq!(position.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_receiver_that_is_behind_the_backlog_is_too_slow() {
        let source = LiveSource::new(450).unwrap();
        let mut position = source.subscribe();
        for number in 0..3 {
            source.push(packet(number));
        }
        assert!(matches!(position.next().await, Err(SourceError::TooSlow)));
    }

    #[tokio::test]
    async fn a_burst_of_datagrams_waits_for_its_reader() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = LiveSource::bind(any).unwrap();
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: only root may have a large receive buffer");
            return;
        }
        let sender = std::net::UdpSocket::bind(any).unwrap();
        let to = socket.local_addr().unwrap();
        for _ in 0..400 {
            sender.send_to(&[7; PAYLOAD], to).unwrap();
        }
        let source = LiveSource::new(1 << 20).unwrap();
        let mut position = source.subscribe();
        let receiving = tokio::spawn(async move { source.receive_from(&socket).await });
        for number in 0..400 {
            let next = tokio::time::timeout(std::time::Duration::from_secs(10), position.next());
            assert!(next.await.is_ok(), "{number} of 400 datagrams came");
        }
        receiving.abort();
    }

    #[tokio::test]
    async fn bytes_are_divided_into_packets_and_the_rest() {
        let source = LiveSource::new(1 << 20).unwrap();
        let mut position = source.subscribe();
        let bytes = vec![7; 2 * PAYLOAD + 5];
        source.read_from(bytes.as_slice()).await.unwrap();
        let mut lengths = Vec::new();
        while let Some(packet) = position.next().await.unwrap() {
            lengths.push(packet.len());
        }
        assert_eq!(lengths, [PAYLOAD, PAYLOAD, 5]);
    }

    /// Of MPEG-TS whole packets are sent, and of another format everything.
    #[tokio::test(start_paused = true)]
    async fn bytes_that_fill_no_packet_wait_for_a_short_time() {
        use tokio::io::AsyncWriteExt;

        for (first, at_first, later) in [(0x47, 3 * 188, 6 * 188), (0, 600, 1200)] {
            let source = LiveSource::new(1 << 20).unwrap();
            let mut position = source.subscribe();
            let (mut program, input) = tokio::io::duplex(10_000);
            let reading = tokio::spawn(async move { source.read_from(input).await });
            let began = Instant::now();
            program.write_all(&[first; 600]).await.unwrap();
            let packet = position.next().await.unwrap().unwrap();
            assert_eq!((packet.len(), began.elapsed()), (at_first, GATHER));
            // What follows soon goes with it.
            for _ in 0..4 {
                program.write_all(&[first; 300]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(4)).await;
            }
            assert_eq!(position.next().await.unwrap().unwrap().len(), later);
            drop(program);
            let rest = position.next().await.unwrap();
            let rest = rest.map_or(0, |rest| rest.len());
            assert_eq!(at_first + later + rest, 600 + 4 * 300);
            reading.await.unwrap().unwrap();
        }
    }
}
