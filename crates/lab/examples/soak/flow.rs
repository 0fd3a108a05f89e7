//! A flow that takes half of a link, and what became of it.

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

/// Payload of a datagram, in bytes: with all headers 1107 on a link.
const LEN: usize = 1000;
/// Datagrams a second: 10 of 20 Mbit/s.
const RATE: f64 = 1130.0;
/// Bytes that wait for a receiver: some seconds.
const BUFFER: usize = 16 << 20;
/// What is under way when the last was sent arrives within this.
const PATIENCE: Duration = Duration::from_secs(2);

/// The sockets of a flow.
pub(crate) struct Direction {
    from: UdpSocket,
    to: UdpSocket,
}

/// What was sent, and what came.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowResult {
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    pub(crate) repeated: u64,
    /// When packets got lost, in seconds since the flow began, and how many in a row of seconds.
    pub(crate) losses: Vec<(f64, u64)>,
}

impl FlowResult {
    pub(crate) fn lost(&self) -> u64 {
        self.sent - self.arrived
    }
}

/// The threads of a flow.
pub(crate) type Running<'scope> = (
    ScopedJoinHandle<'scope, io::Result<u64>>,
    ScopedJoinHandle<'scope, io::Result<SequenceSet>>,
);

/// Which numbers came.
#[derive(Debug, Default)]
pub(crate) struct SequenceSet {
    bits: Vec<u64>,
    repeated: u64,
}

impl Direction {
    /// The flow that begins in `from`, the end of this number.
    pub(crate) fn open(from: &Namespace, to: &Namespace, number: usize) -> io::Result<Self> {
        let address = |end: usize, port: u16| format!("10.77.0.{}:{port}", end + 1);
        let sender = from.run(|| UdpSocket::bind(address(number, 6000)))?;
        let receiver = to.run(|| UdpSocket::bind(address(1 - number, 6001)))?;
        receiver.set_read_timeout(Some(PATIENCE))?;
        // What waits for a receiver that is late is not lost on the way.
        setsockopt(&receiver, RcvBufForce, &BUFFER)?;
        sender.connect(address(1 - number, 6001))?;
        Ok(Self {
            from: sender,
            to: receiver,
        })
    }

    /// Sends at the rate until it is told to stop; the number sent.
    pub(crate) fn sender<'scope, 'env>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        clock: Clock,
        stop: &'env AtomicBool,
    ) -> ScopedJoinHandle<'scope, io::Result<u64>> {
        let socket = self.from.try_clone();
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

    /// Receives until it is told to stop and nothing comes any more.
    pub(crate) fn receiver<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        stop: &'env AtomicBool,
    ) -> ScopedJoinHandle<'scope, io::Result<SequenceSet>> {
        scope.spawn(move || {
            priority::realtime(PRIORITY)?;
            let (mut received, mut buffer) = (SequenceSet::default(), [0; LEN]);
            loop {
                match (self.to.recv(&mut buffer), buffer.first_chunk()) {
                    (Ok(LEN), Some(number)) => received.note(u64::from_be_bytes(*number)),
                    (Err(_), _) if stop.load(Ordering::Relaxed) => break Ok(received),
                    _ => {}
                }
            }
        })
    }
}

impl SequenceSet {
    fn has(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok();
        let word = word.and_then(|word| self.bits.get(word));
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    fn note(&mut self, number: u64) {
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

/// The numbers `lost`, together where less than a second lies between.
fn losses(lost: &[u64]) -> Vec<(f64, u64)> {
    let apart = |before: &u64, after: &u64| ((after - before) as f64) < RATE;
    let runs = lost.chunk_by(apart);
    runs.map(|run| (run[0] as f64 / RATE, run.len() as u64))
        .collect()
}

/// Waits for both ends of a flow.
pub(crate) fn join(
    sender: ScopedJoinHandle<'_, io::Result<u64>>,
    receiver: ScopedJoinHandle<'_, io::Result<SequenceSet>>,
) -> io::Result<FlowResult> {
    let panicked = |_: Box<dyn Any + Send>| io::Error::other("a flow panicked");
    let sent = sender.join().map_err(panicked)??;
    let received = receiver.join().map_err(panicked)??;
    let lost: Vec<u64> = (0..sent).filter(|number| !received.has(*number)).collect();
    Ok(FlowResult {
        sent,
        arrived: sent - lost.len() as u64,
        repeated: received.repeated,
        losses: losses(&lost),
    })
}
