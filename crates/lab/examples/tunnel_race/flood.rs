//! A flood of unauthenticated datagrams at a steady rate.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use polypath_live::clock::Clock;
use polypath_session::datagram::{INITIATION, INITIATION_LEN, TRANSPORT};

use crate::Endpoints;

/// Datagrams per second.
pub(crate) const RATE: u64 = 100_000;
/// The pause between bursts: short, but long enough that sleeping costs little.
const TICK: Duration = Duration::from_millis(1);
const LEN: usize = 100;

/// The target of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Nothing,
    AnotherPort,
    Node,
    /// The node, with datagrams that look like handshake initiations.
    Handshakes,
}

impl Target {
    pub(crate) const ALL: [Self; 4] = [
        Self::Nothing,
        Self::AnotherPort,
        Self::Node,
        Self::Handshakes,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no flood",
            Self::AnotherPort => "to an unread port",
            Self::Node => "to the node",
            Self::Handshakes => "handshakes to the node",
        }
    }
}

/// A running flood.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
    /// The unread port, whose queue fills immediately.
    _sink: UdpSocket,
}

impl Flood {
    pub(crate) fn start(endpoints: &Endpoints, target: Target) -> io::Result<Self> {
        let sink = endpoints.b.run(|| UdpSocket::bind("10.1.1.2:9"))?;
        let socket = endpoints.a.run(|| UdpSocket::bind("10.1.1.1:0"))?;
        socket.connect(match target {
            Target::Node | Target::Handshakes => "10.1.1.2:7001",
            Target::AnotherPort | Target::Nothing => "10.1.1.2:9",
        })?;
        let stop = Arc::new(AtomicBool::new(target == Target::Nothing));
        let flag = Arc::clone(&stop);
        let (kind, len) = match target {
            Target::Handshakes => (INITIATION, INITIATION_LEN),
            _ => (TRANSPORT, LEN),
        };
        let mut junk = vec![0; len];
        junk[0] = kind;
        let thread = thread::spawn(move || flood(&socket, &mut junk, &flag));
        Ok(Self {
            stop,
            thread,
            _sink: sink,
        })
    }

    /// Stops the flood and returns its rate in datagrams per second.
    pub(crate) fn stop(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(0.0)
    }
}

/// Sends `junk` with a new counter each time until `stop` is set; returns the rate in datagrams per
/// second.
fn flood(socket: &UdpSocket, junk: &mut [u8], stop: &AtomicBool) -> f64 {
    let (clock, mut sent) = (Clock::starting_now(), 0_u64);
    while !stop.load(Ordering::Relaxed) {
        let due = clock.now().as_secs_f64() * RATE as f64;
        while (sent as f64) < due {
            junk[1..9].copy_from_slice(&sent.to_be_bytes());
            // A datagram that the kernel refuses is lost like any other.
            let _ = socket.send(junk);
            sent += 1;
        }
        sleep(TICK);
    }
    sent as f64 / clock.now().as_secs_f64().max(1e-3)
}
