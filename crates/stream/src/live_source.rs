//! Live bytes, which are kept for as long as a receiver may need them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
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
/// The time for which those wait that are no whole packet of MPEG-TS, although they begin as one.
const GATHER_PART: Duration = Duration::from_millis(200);
/// The size of a packet of MPEG-TS in bytes (ISO/IEC 13818-1, 2.4.3).
const TS_PACKET: usize = 188;
/// The first byte of a packet of MPEG-TS.
const TS_SYNC: u8 = 0x47;
/// The memory that a kept packet takes beside its bytes, about.
const PACKET_COST: usize = 100;
/// The longest part of a datagram that is sent as one packet: as much as a message carries.
const MAX_DATAGRAM: usize = polypath_core::connections::wire::MAX_PAYLOAD;

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
            let waiting = Waiting::of(&buffer);
            let until = waiting.map(|waiting| waiting_since + waiting.time);
            let Some(read) = read_until(&mut input, &mut buffer, until).await else {
                self.push_from(&mut buffer, waiting.map_or(0, |waiting| waiting.len));
                continue;
            };
            match read {
                Ok(0) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
            let was_whole = waiting.is_some_and(|waiting| waiting.time == GATHER);
            if !was_whole || buffer.len() >= PAYLOAD {
                waiting_since = Instant::now();
            }
            while buffer.len() >= PAYLOAD {
                self.push_from(&mut buffer, PAYLOAD);
            }
        };
        let rest = buffer.len();
        self.push_from(&mut buffer, rest);
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

    /// Discards what receivers of a stopped source have not taken yet: they get the reason at once.
    pub fn cut(&self) {
        let mut ring = self.shared.lock();
        ring.dropped = ring.end();
        ring.packets.clear();
        ring.bytes = 0;
        let end = ring.end();
        drop(ring);
        self.shared.arrivals.send_replace(end);
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

    /// Pushes a copy of the first `len` bytes of `buffer` as a packet, if there are any: their own
    /// memory is that of all that was read.
    fn push_from(&self, buffer: &mut BytesMut, len: usize) {
        if len > 0 {
            self.push(Bytes::copy_from_slice(&buffer[..len]));
            buffer.advance(len);
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

/// Bytes that fill no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    /// The number of those that are sent after `time`.
    len: usize,
    /// The time for which they wait for more.
    time: Duration,
}

impl Waiting {
    /// Of MPEG-TS whole packets, which a player expects in a datagram, and all of another format;
    /// `None` without bytes.
    fn of(bytes: &[u8]) -> Option<Self> {
        let is_ts = bytes.chunks(TS_PACKET).all(|packet| packet[0] == TS_SYNC);
        let whole = bytes.len() / TS_PACKET * TS_PACKET;
        let (len, time) = match bytes.len() {
            0 => return None,
            _ if is_ts && whole > 0 => (whole, GATHER),
            len if is_ts => (len, GATHER_PART),
            len => (len, GATHER),
        };
        Some(Self { len, time })
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

    /// The reason for which packet `number`, from 0, is kept no more; `None` if it is, or is to come.
    fn why_gone(&self, number: u64) -> Option<SourceError> {
        let is_gone = number < self.dropped;
        is_gone.then_some(match self.end {
            Some(Ended::Stopped) => SourceError::Cut,
            _ => SourceError::TooSlow,
        })
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

    /// The error once the next packet is no longer kept.
    pub(crate) async fn behind(&mut self) -> SourceError {
        loop {
            self.arrivals.mark_unchanged();
            if let Some(why) = self.shared.lock().why_gone(self.next) {
                return why;
            }
            if self.arrivals.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// The next packet, the end, or nothing yet.
    fn take(&mut self) -> Option<Result<Option<Bytes>, SourceError>> {
        let ring = self.shared.lock();
        if let Some(why) = ring.why_gone(self.next) {
            return Some(Err(why));
        }
        let kept = usize::try_from(self.next - ring.dropped)
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

    #[test]
    fn whole_packets_of_mpeg_ts_wait_shorter_than_parts() {
        let waiting = |bytes: &[u8]| Waiting::of(bytes).map(|of| (of.len, of.time));
        assert_eq!(waiting(&[]), None);
        assert_eq!(waiting(&[1; 300]), Some((300, GATHER)));
        assert_eq!(waiting(&[TS_SYNC; 187]), Some((187, GATHER_PART)));
        assert_eq!(waiting(&[TS_SYNC; 300]), Some((188, GATHER)));
        // The second packet does not begin as one.
        let other = [&[TS_SYNC; 188][..], &[1; 100]].concat();
        assert_eq!(waiting(&other), Some((288, GATHER)));
    }

    #[tokio::test]
    async fn receivers_of_a_source_that_is_cut_learn_that_it_was_stopped() {
        let source = LiveSource::new(1 << 20).unwrap();
        let mut position = source.subscribe();
        source.push(packet(1));
        source.stop();
        source.push(packet(2));
        source.cut();
        assert!(matches!(position.behind().await, SourceError::Cut));
        assert!(matches!(position.next().await, Err(SourceError::Cut)));
        let mut after = source.subscribe();
        assert!(matches!(after.next().await, Err(SourceError::Stopped)));
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
