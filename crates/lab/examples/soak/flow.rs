//! A flow at half the rate of a link, with loss and duplicate accounting.

use std::any::Any;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBufForce;
use polypath_lab::namespace::Namespace;
use polypath_live::clock::Clock;
use polypath_live::priority;

use crate::PRIORITY;

/// The payload of a datagram in bytes: 1107 B on a link with all headers.
const LEN: usize = 1000;
/// Datagrams per second: 10 of 20 Mbit/s.
const RATE: f64 = 1130.0;
/// The receive buffer in bytes: some seconds.
const BUFFER: usize = 16 << 20;
/// The read timeout of the receiver, longer than a datagram is in flight.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// The sockets of a flow.
pub(crate) struct Direction {
    sender: UdpSocket,
    receiver: UdpSocket,
}

/// The counters of a finished flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowResult {
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    pub(crate) repeated: u64,
    /// The bursts of lost packets.
    pub(crate) losses: Vec<LossBurst>,
}

/// Lost packets with less than a second between any two in succession.
#[derive(Clone, Debug)]
pub(crate) struct LossBurst {
    /// The due time of the first in seconds since the start of the flow.
    pub(crate) at: f64,
    pub(crate) count: u64,
}

impl FlowResult {
    pub(crate) fn lost(&self) -> u64 {
        self.sent - self.arrived
    }
}

/// The threads of a flow.
pub(crate) struct RunningFlow<'scope> {
    /// Returns the number of datagrams sent.
    sender: ScopedJoinHandle<'scope, io::Result<u64>>,
    receiver: ScopedJoinHandle<'scope, io::Result<SequenceSet>>,
}

/// The set of received sequence numbers, and the number of duplicates.
#[derive(Debug, Default)]
pub(crate) struct SequenceSet {
    bits: Vec<u64>,
    repeated: u64,
}

impl Direction {
    /// Opens the flow from side `number` (0 or 1), whose namespace is `from`, to the other side.
    pub(crate) fn open(from: &Namespace, to: &Namespace, number: usize) -> io::Result<Self> {
        let address = |side: usize, port: u16| format!("10.77.0.{}:{port}", side + 1);
        let sender = from.run(|| UdpSocket::bind(address(number, 6000)))?;
        let receiver = to.run(|| UdpSocket::bind(address(1 - number, 6001)))?;
        receiver.set_read_timeout(Some(READ_TIMEOUT))?;
        // Datagrams that a late receiver leaves in the buffer are not lost in the network.
        setsockopt(&receiver, RcvBufForce, &BUFFER)?;
        sender.connect(address(1 - number, 6001))?;
        Ok(Self { sender, receiver })
    }

    /// Starts the threads; they run until `stop` is set.
    pub(crate) fn start<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        clock: Clock,
        stop: &'env AtomicBool,
    ) -> RunningFlow<'scope> {
        RunningFlow {
            sender: self.start_sender(scope, clock, stop),
            receiver: self.start_receiver(scope, stop),
        }
    }

    fn start_sender<'scope, 'env>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        clock: Clock,
        stop: &'env AtomicBool,
    ) -> ScopedJoinHandle<'scope, io::Result<u64>> {
        let socket = self.sender.try_clone();
        scope.spawn(move || {
            priority::realtime(PRIORITY)?;
            let (socket, mut sent, mut datagram) = (socket?, 0_u64, [0; LEN]);
            let start = clock.now().as_secs_f64();
            while !stop.load(Ordering::Relaxed) {
                datagram[..8].copy_from_slice(&sent.to_be_bytes());
                socket.send(&datagram)?;
                sent += 1;
                let due = start + sent as f64 / RATE - clock.now().as_secs_f64();
                sleep(Duration::from_secs_f64(due.max(0.0)));
            }
            Ok(sent)
        })
    }

    /// Receives until `stop` is set and a read times out.
    fn start_receiver<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        stop: &'env AtomicBool,
    ) -> ScopedJoinHandle<'scope, io::Result<SequenceSet>> {
        scope.spawn(move || {
            priority::realtime(PRIORITY)?;
            let (mut received, mut buffer) = (SequenceSet::default(), [0; LEN]);
            loop {
                match (self.receiver.recv(&mut buffer), buffer.first_chunk()) {
                    (Ok(LEN), Some(number)) => received.insert(u64::from_be_bytes(*number)),
                    (Err(_), _) if stop.load(Ordering::Relaxed) => break Ok(received),
                    _ => {}
                }
            }
        })
    }
}

impl SequenceSet {
    fn contains(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok();
        let word = word.and_then(|word| self.bits.get(word));
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    fn insert(&mut self, number: u64) {
        let (word, bit) = (
            usize::try_from(number / 64).unwrap_or(0),
            1 << (number % 64),
        );
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.repeated += u64::from(self.bits[word] & bit != 0);
        self.bits[word] |= bit;
    }
}

/// Groups lost numbers with less than a second in between into bursts.
fn loss_bursts(lost: &[u64]) -> Vec<LossBurst> {
    let is_close = |before: &u64, after: &u64| ((after - before) as f64) < RATE;
    let bursts = lost.chunk_by(is_close);
    let burst = |numbers: &[u64]| LossBurst {
        at: numbers[0] as f64 / RATE,
        count: numbers.len() as u64,
    };
    bursts.map(burst).collect()
}

impl RunningFlow<'_> {
    /// Waits for both threads.
    pub(crate) fn join(self) -> io::Result<FlowResult> {
        let panicked = |_: Box<dyn Any + Send>| io::Error::other("a flow's thread panicked");
        let sent = self.sender.join().map_err(panicked)??;
        let received = self.receiver.join().map_err(panicked)??;
        let lost: Vec<u64> = (0..sent).filter(|n| !received.contains(*n)).collect();
        Ok(FlowResult {
            sent,
            arrived: sent - lost.len() as u64,
            repeated: received.repeated,
            losses: loss_bursts(&lost),
        })
    }
}
