//! The thread's side of an emulation.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use polypath_live::clock::Clock;
use polypath_live::drive::{self, Driver, Token};

use super::{EmulationLateness, EmulationResult, Snapshot};
use crate::network::Network;

/// No packet is longer.
const BUFFER: usize = 1 << 16;
/// Tokens are numbered by network, then by gate.
const GATES: u32 = 1 << 10;
/// What other threads ask for, a byte each.
const SNAPSHOT: u8 = 1;
const START_COUNTING: u8 = 2;
const STOP_COUNTING: u8 = 3;
/// The token of requests from other threads.
const REQUESTS: Token = Token(u32::MAX);

/// Networks with what they share on their thread.
#[derive(Debug)]
pub(super) struct EmulatorEventHandler {
    networks: Vec<Network>,
    clock: Clock,
    counting: EmulationLateness,
    /// What was counted until other threads asked to count no more.
    counted: Option<EmulationLateness>,
    buffer: Vec<u8>,
    requested: UnixStream,
    replies: Sender<Vec<Snapshot>>,
}

/// Where other threads ask the station for something.
#[derive(Debug)]
pub(super) struct RequestSender {
    requests: UnixStream,
    replies: Receiver<Vec<Snapshot>>,
}

impl RequestSender {
    /// The totals of all networks.
    pub(super) fn snapshot(&self) -> io::Result<Vec<Snapshot>> {
        self.send(SNAPSHOT)?;
        // The other end of the channel goes away with the thread.
        self.replies
            .recv()
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Counts lateness anew from here on.
    pub(super) fn start_counting(&self) -> io::Result<()> {
        self.send(START_COUNTING)
    }

    /// Counts no lateness from here on.
    pub(super) fn stop_counting(&self) -> io::Result<()> {
        self.send(STOP_COUNTING)
    }

    fn send(&self, request: u8) -> io::Result<()> {
        (&self.requests).write_all(&[request])
    }
}

impl EmulatorEventHandler {
    /// A station, and where other threads reach it.
    pub(super) fn new(networks: Vec<Network>, clock: Clock) -> io::Result<(Self, RequestSender)> {
        let (requests, requested) = UnixStream::pair()?;
        requested.set_nonblocking(true)?;
        let (sender, receiver) = channel();
        let handler = Self {
            networks,
            clock,
            counting: EmulationLateness::default(),
            counted: None,
            buffer: vec![0; BUFFER],
            requested,
            replies: sender,
        };
        let requests = RequestSender {
            requests,
            replies: receiver,
        };
        Ok((handler, requests))
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
    pub(super) fn finish(self, realtime: bool) -> EmulationResult {
        EmulationResult {
            networks: self.networks,
            lateness: self.counted.unwrap_or(self.counting),
            realtime,
        }
    }

    fn answer(&mut self, now: Time) -> io::Result<usize> {
        let mut requests = [0; 16];
        let len = self.requested.read(&mut requests)?;
        for request in &requests[..len] {
            match *request {
                START_COUNTING => (self.counting, self.counted) = Default::default(),
                STOP_COUNTING => self.counted = Some(std::mem::take(&mut self.counting)),
                _ => self.send_snapshots(now)?,
            }
        }
        Ok(len)
    }

    fn send_snapshots(&mut self, now: Time) -> io::Result<()> {
        let snapshots = self.networks.iter_mut().map(|n| n.snapshot(now));
        // Whoever asked may be gone.
        let _ = self.replies.send(snapshots.collect::<io::Result<_>>()?);
        Ok(())
    }
}

impl drive::EventHandler for EmulatorEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self.networks.iter().map(Network::deadline);
        deadlines.fold(None, Deadline::earlier)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        if let Some(due) = drive::EventHandler::deadline(self) {
            self.counting.record_wake(now.since(due.at));
        }
        for network in &mut self.networks {
            network.advance(now, self.clock, &mut self.counting.packets)?;
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
