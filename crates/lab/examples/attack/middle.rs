//! An attacker on the way between two nodes, whose datagrams it forwards with a delay.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use polypath_core::time::Time;
use polypath_lab::namespace::Namespace;
use polypath_live::clock::Clock;

use crate::initiations::INITIATION;

/// The delay in each direction: the attacker is nearer to a node than its peer is.
const DELAY: polypath_core::time::Duration = polypath_core::time::Duration::from_millis(10);
/// The interval at which a thread looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// The attacker between node 0 and node 1.
pub(crate) struct Middle {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// The initiations of node 0 in the order of time.
    recorded: Mutex<Vec<Vec<u8>>>,
    /// Those that are still to be replayed to node 1.
    replays: Mutex<Vec<Vec<u8>>>,
    /// The number of those that were.
    replayed: AtomicUsize,
}

/// One side of the attacker: where it receives from a node, and that node.
struct Side {
    socket: UdpSocket,
    node: SocketAddrV4,
}

impl Middle {
    /// Forwards between the nodes from now on: each sends to one of the addresses `at`.
    pub(crate) fn start(
        namespace: &Namespace,
        at: [SocketAddrV4; 2],
        nodes: [SocketAddrV4; 2],
    ) -> io::Result<Self> {
        let mut middle = Self {
            shared: Arc::default(),
            threads: Vec::new(),
        };
        let open = |at: SocketAddrV4| -> io::Result<UdpSocket> {
            let socket = namespace.run(|| UdpSocket::bind(at))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok(socket)
        };
        let sockets = [open(at[0])?, open(at[1])?];
        let side = |index: usize| -> io::Result<Side> {
            Ok(Side {
                socket: sockets[index].try_clone()?,
                node: nodes[index],
            })
        };
        for from in [0, 1] {
            let (near, far, shared) = (side(from)?, side(1 - from)?, middle.shared.clone());
            let (sender, delayed) = channel();
            let clock = Clock::starting_now();
            middle.threads.push(thread::spawn(move || {
                receive(from, &near, clock, &sender, &shared);
            }));
            let shared = middle.shared.clone();
            middle.threads.push(thread::spawn(move || {
                forward(&far, clock, &delayed, &shared);
            }));
        }
        Ok(middle)
    }

    /// The number of recorded initiations of node 0.
    pub(crate) fn recorded(&self) -> usize {
        lock(&self.shared.recorded).len()
    }

    /// The number of initiations replayed so far.
    pub(crate) fn replayed(&self) -> usize {
        self.shared.replayed.load(Ordering::Relaxed)
    }

    /// Replays all recorded initiations from now on, the next one each time that node 1 initiates.
    pub(crate) fn replay(&self) {
        let mut replays = lock(&self.shared.recorded).clone();
        replays.reverse();
        *lock(&self.shared.replays) = replays;
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn lock(list: &Mutex<Vec<Vec<u8>>>) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
    // A list of datagrams is valid whenever a thread panics.
    list.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Receives the datagrams of node `from`, and passes each on with the time at which it leaves.
fn receive(
    from: usize,
    near: &Side,
    clock: Clock,
    delayed: &Sender<(Time, Vec<u8>)>,
    shared: &Shared,
) {
    let mut buffer = [0; 2048];
    while !shared.stop.load(Ordering::Relaxed) {
        let Ok(len) = near.socket.recv(&mut buffer) else {
            continue;
        };
        let datagram = buffer[..len].to_vec();
        if datagram.first() == Some(&INITIATION) {
            if from == 0 {
                lock(&shared.recorded).push(datagram.clone());
            } else if let Some(replay) = lock(&shared.replays).pop() {
                // One that the kernel refuses is lost.
                let sent = near.socket.send_to(&replay, near.node);
                let sent = usize::from(sent.is_ok());
                shared.replayed.fetch_add(sent, Ordering::Relaxed);
            }
        }
        let at = clock.now() + DELAY;
        // The other thread ends at the same time.
        let _ = delayed.send((at, datagram));
    }
}

fn forward(far: &Side, clock: Clock, delayed: &Receiver<(Time, Vec<u8>)>, shared: &Shared) {
    while !shared.stop.load(Ordering::Relaxed) {
        match delayed.recv_timeout(PATIENCE) {
            Ok((at, datagram)) => {
                sleep(Duration::from_nanos(at.since(clock.now()).0));
                let _ = far.socket.send_to(&datagram, far.node);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
