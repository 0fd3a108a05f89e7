//! Somebody on the path: forwards datagrams, falls silent, and does mischief on the side.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::testbed::Testbed;

/// Where the relay receives, and the first node is to send.
pub(crate) const ADDRESS: &str = "10.1.1.2:9000";
const NODE: &str = "10.1.1.2:7001";

/// What the relay does to datagrams besides forwarding them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tampering {
    /// Nothing.
    None,
    /// Sends each on from elsewhere as well: as it is, cut, changed, and with more bytes; and noise.
    Everything,
}

/// A relay in the second namespace, between the first node and the second.
pub(crate) struct Middlebox {
    stop: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Middlebox {
    pub(crate) fn start(testbed: &Testbed, tampering: Tampering) -> Self {
        let open = |address: &'static str| {
            let socket = testbed.b.run(|| UdpSocket::bind(address)).unwrap();
            socket
                .set_read_timeout(Some(Duration::from_millis(20)))
                .unwrap();
            socket
        };
        // The mischief comes from another address: whoever answers it answers a stranger.
        let (socket, elsewhere) = (open(ADDRESS), open("10.1.1.2:9001"));
        let (stop, silent) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (stopped, silenced) = (Arc::clone(&stop), Arc::clone(&silent));
        let thread = std::thread::spawn(move || {
            let node: SocketAddr = NODE.parse().unwrap();
            let mut other = None;
            let mut buffer = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                let datagram = &buffer[..len];
                if from != node {
                    other = Some(from);
                }
                let to = if from == node { other } else { Some(node) };
                let Some(to) = to.filter(|_| !silenced.load(Ordering::Relaxed)) else {
                    continue;
                };
                let _ = socket.send_to(datagram, to);
                if tampering == Tampering::Everything {
                    send_tampered(&elsewhere, to, datagram);
                }
            }
            count_answers(&elsewhere)
        });
        Self {
            stop,
            silent,
            thread,
        }
    }

    /// From now on nothing is forwarded, in either direction, until it is to speak.
    pub(crate) fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Forwards again.
    pub(crate) fn resume(&self) {
        self.silent.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Stops the relay and says how many answers its mischief got.
    pub(crate) fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn send_tampered(elsewhere: &UdpSocket, to: SocketAddr, datagram: &[u8]) {
    let mut changed = datagram.to_vec();
    let middle = changed.len() / 2;
    // A new counter, so that it is not refused as a replay before it is opened.
    if changed[0] == 3 {
        changed[9] ^= 0x55;
    }
    changed[middle] ^= 1;
    let longer = [datagram, &[0; 1500]].concat();
    for bytes in [datagram, &changed, &datagram[..7], &longer, b"noise"] {
        let _ = elsewhere.send_to(bytes, to);
    }
}

fn count_answers(socket: &UdpSocket) -> u64 {
    let mut answers = 0;
    while !matches!(socket.recv(&mut [0; 2048]), Err(e) if is_timeout(&e)) {
        answers += 1;
    }
    answers
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
