//! The thread's side of an emulation.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use polypath_live::clock::Clock;
use polypath_live::drive::{self, Driver, Lateness, Token};

use super::{Emulated, Snapshot};
use crate::network::Network;

/// No packet is longer.
const BUFFER: usize = 1 << 16;
/// Tokens are numbered by network, then by gate.
const GATES: u32 = 1 << 10;
/// The token of requests from other threads.
const REQUESTS: Token = Token(u32::MAX);

/// Networks with what they share on their thread.
#[derive(Debug)]
pub(super) struct Station {
    networks: Vec<Network>,
    clock: Clock,
    lateness: Lateness,
    buffer: Vec<u8>,
    requested: UnixStream,
    replies: Sender<Vec<Snapshot>>,
}

/// Where other threads ask the station for something.
#[derive(Debug)]
pub(super) struct Requests {
    requests: UnixStream,
    replies: Receiver<Vec<Snapshot>>,
}

impl Requests {
    /// The totals of all networks.
    pub(super) fn snapshot(&self) -> io::Result<Vec<Snapshot>> {
        (&self.requests).write_all(&[1])?;
        // The other end of the channel goes away with the thread.
        self.replies
            .recv()
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Station {
    /// A station, and where other threads reach it.
    pub(super) fn new(networks: Vec<Network>, clock: Clock) -> io::Result<(Self, Requests)> {
        let (requests, requested) = UnixStream::pair()?;
        requested.set_nonblocking(true)?;
        let (sender, receiver) = channel();
        let station = Self {
            networks,
            clock,
            lateness: Lateness::default(),
            buffer: vec![0; BUFFER],
            requested,
            replies: sender,
        };
        let requests = Requests {
            requests,
            replies: receiver,
        };
        Ok((station, requests))
    }

    /// Has the driver watch every device.
    pub(super) fn watch(&self, driver: &Driver) -> io::Result<()> {
        for (network, first) in self.networks.iter().zip((0..).step_by(GATES as usize)) {
            for (gate, token) in network.gates().iter().zip(first..) {
                driver.watch(&gate.device, Token(token))?;
            }
        }
        driver.watch(&self.requested, REQUESTS)
    }

    /// What is left at the end.
    ///
    /// The lateness of packets alone would not show a stall while none is due to leave and some wait to
    /// enter; that of the thread's wakes, which the background asks for each millisecond, does.
    pub(super) fn finish(mut self, wakes: &Lateness, realtime: bool) -> Emulated {
        self.lateness.merge(wakes);
        Emulated {
            networks: self.networks,
            lateness: self.lateness,
            realtime,
        }
    }

    fn answer(&mut self, now: Time) -> io::Result<usize> {
        let requests = self.requested.read(&mut self.buffer)?;
        for _ in 0..requests {
            let snapshots = self.networks.iter_mut().map(|n| n.snapshot(now));
            // Whoever asked may be gone.
            let _ = self.replies.send(snapshots.collect::<io::Result<_>>()?);
        }
        Ok(requests)
    }
}

impl drive::Station for Station {
    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self.networks.iter().map(Network::deadline);
        deadlines.fold(None, Deadline::earlier)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for network in &mut self.networks {
            network.advance(now, self.clock, &mut self.lateness)?;
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        if token == REQUESTS {
            return self.answer(now);
        }
        let (network, gate) = (token.0 / GATES, token.0 % GATES);
        self.networks[network as usize].take(gate as usize, now, budget, &mut self.buffer)
    }
}
