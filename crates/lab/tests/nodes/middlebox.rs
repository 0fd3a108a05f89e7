//! A middlebox on the path: forwards datagrams, can become silent, delays them or sends tampered
//! copies.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::testbed::Testbed;
use polypath_core::time::{Duration as Span, Time};
use polypath_live::clock::Clock;
use polypath_session::datagram::{RESPONSE, is_transport};

/// The address of the middlebox, to which the first node sends.
pub(crate) const ADDRESS: &str = "10.1.1.2:9000";
const NODE: &str = "10.1.1.2:7001";
/// The time after which the middlebox looks for something to do.
const POLL: Duration = Duration::from_millis(2);

/// The tampering of the middlebox, in addition to forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tampering {
    /// None.
    None,
    /// Forwards each datagram after this time.
    Delay(Span),
    /// Also sends, from another address, each datagram unchanged, truncated, modified and extended,
    /// and noise.
    Everything,
}

/// A running middlebox in the second namespace, between the two nodes.
pub(crate) struct Middlebox {
    stop: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Middlebox {
    pub(crate) fn start(testbed: &Testbed, tampering: Tampering) -> Self {
        let open = |address: &'static str| {
            let socket = testbed.b.run(|| UdpSocket::bind(address)).unwrap();
            socket.set_read_timeout(Some(POLL)).unwrap();
            socket
        };
        // Tampered datagrams come from another address, so that every reply to them is visible.
        let (socket, tampering_socket) = (open(ADDRESS), open("10.1.1.2:9001"));
        let (stop, silent) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (stopped, silenced) = (Arc::clone(&stop), Arc::clone(&silent));
        let thread = std::thread::spawn(move || {
            let node: SocketAddr = NODE.parse().unwrap();
            let mut other = None;
            let mut buffer = [0; 2048];
            let (clock, mut waiting) = (Clock::starting_now(), VecDeque::new());
            while !stopped.load(Ordering::Relaxed) {
                send_due(clock.now(), &socket, &mut waiting);
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
                if let Tampering::Delay(delay) = tampering {
                    waiting.push_back((clock.now() + delay, to, datagram.to_vec()));
                    continue;
                }
                let _ = socket.send_to(datagram, to);
                if tampering == Tampering::Everything {
                    send_tampered(&tampering_socket, to, datagram);
                }
            }
            count_replies(&tampering_socket)
        });
        Self {
            stop,
            silent,
            thread,
        }
    }

    /// Stops forwarding in both directions.
    pub(crate) fn start_silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Resumes forwarding.
    pub(crate) fn end_silence(&self) {
        self.silent.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Stops the middlebox and returns the number of replies to tampered datagrams.
    pub(crate) fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Sends the datagrams whose time has come.
fn send_due(now: Time, socket: &UdpSocket, waiting: &mut VecDeque<(Time, SocketAddr, Vec<u8>)>) {
    while let Some((_, to, datagram)) = waiting.pop_front_if(|(due, ..)| *due <= now) {
        let _ = socket.send_to(&datagram, to);
    }
}

fn send_tampered(socket: &UdpSocket, to: SocketAddr, datagram: &[u8]) {
    let mut changed = datagram.to_vec();
    let middle = changed.len() / 2;
    // A new counter, so that it is not rejected as a replay before decryption.
    if is_transport(changed[0]) {
        changed[6] ^= 0x55;
    }
    changed[middle] ^= 1;
    let longer = [datagram, &[0; 1500]].concat();
    for bytes in [datagram, &changed, &datagram[..7], &longer, b"noise"] {
        let _ = socket.send_to(bytes, to);
    }
}

/// The number of replies, but for responses: copies of an initiation get that of the original.
fn count_replies(socket: &UdpSocket) -> u64 {
    let (mut replies, mut buffer) = (0, [0; 2048]);
    while !matches!(socket.recv(&mut buffer), Err(e) if is_timeout(&e)) {
        replies += u64::from(buffer[0] != RESPONSE);
    }
    replies
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
