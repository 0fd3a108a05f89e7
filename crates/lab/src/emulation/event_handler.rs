//! The event handler of the emulation's thread, and the requests of other threads to it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use polypath_live::clock::Clock;
use polypath_live::drive::{self, Driver, Token};

use super::{EmulationLateness, EmulationResult};
use crate::network::{Network, Snapshot};

/// The maximum packet length in bytes.
const MAX_PACKET: usize = 1 << 16;
/// The number of tokens reserved for each network: token = network * TOKENS + device.
const TOKENS: u32 = 1 << 10;
// Requests of other threads, one byte each.
const SNAPSHOT: u8 = 1;
const START_COUNTING: u8 = 2;
const STOP_COUNTING: u8 = 3;
/// The token of requests from other threads.
const REQUESTS: Token = Token(u32::MAX);

/// The event handler of the emulator: all networks, and what they share on their thread.
#[derive(Debug)]
pub(super) struct EmulatorEventHandler {
    networks: Vec<Network>,
    clock: Clock,
    /// The lateness measured since the last start request.
    current: EmulationLateness,
    /// The lateness up to the stop request, if there was one.
    stopped: Option<EmulationLateness>,
    buffer: Vec<u8>,
    request_socket: UnixStream,
    replies: Sender<Vec<Snapshot>>,
}

/// The sender of requests, for other threads.
#[derive(Debug)]
pub(super) struct RequestSender {
    requests: UnixStream,
    replies: Receiver<Vec<Snapshot>>,
}

impl RequestSender {
    /// The totals of all networks.
    pub(super) fn snapshot(&self) -> io::Result<Vec<Snapshot>> {
        self.send(SNAPSHOT)?;
        // The sender is dropped when the thread ends.
        self.replies
            .recv()
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Restarts the measurement of lateness.
    pub(super) fn start_counting(&self) -> io::Result<()> {
        self.send(START_COUNTING)
    }

    /// Ends the measurement of lateness.
    pub(super) fn stop_counting(&self) -> io::Result<()> {
        self.send(STOP_COUNTING)
    }

    fn send(&self, request: u8) -> io::Result<()> {
        (&self.requests).write_all(&[request])
    }
}

impl EmulatorEventHandler {
    /// Creates the event handler and the sender of requests to it.
    pub(super) fn new(networks: Vec<Network>, clock: Clock) -> io::Result<(Self, RequestSender)> {
        let (requests, request_socket) = UnixStream::pair()?;
        request_socket.set_nonblocking(true)?;
        let (sender, receiver) = channel();
        let handler = Self {
            networks,
            clock,
            current: EmulationLateness::default(),
            stopped: None,
            buffer: vec![0; MAX_PACKET],
            request_socket,
            replies: sender,
        };
        let requests = RequestSender {
            requests,
            replies: receiver,
        };
        Ok((handler, requests))
    }

    /// Registers every device and the request socket with the driver.
    pub(super) fn watch(&self, driver: &Driver) -> io::Result<()> {
        for (network, first) in self.networks.iter().zip((0..).step_by(TOKENS as usize)) {
            for (port, token) in network.port_devices().iter().zip(first..) {
                driver.watch(&port.device, Token(token))?;
            }
        }
        driver.watch(&self.request_socket, REQUESTS)
    }

    /// Returns the networks and the measured lateness.
    pub(super) fn finish(self, realtime: bool) -> EmulationResult {
        EmulationResult {
            networks: self.networks,
            lateness: self.stopped.unwrap_or(self.current),
            realtime,
        }
    }

    fn handle_requests(&mut self, now: Time) -> io::Result<usize> {
        let mut requests = [0; 16];
        let len = self.request_socket.read(&mut requests)?;
        for request in &requests[..len] {
            match *request {
                START_COUNTING => (self.current, self.stopped) = Default::default(),
                STOP_COUNTING => self.stopped = Some(std::mem::take(&mut self.current)),
                _ => self.send_snapshots(now)?,
            }
        }
        Ok(len)
    }

    fn send_snapshots(&mut self, now: Time) -> io::Result<()> {
        let snapshots = self.networks.iter_mut().map(|n| n.snapshot(now));
        // The requester may have exited.
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
            self.current.record_wake(now.since(due.at));
        }
        for network in &mut self.networks {
            network.advance(now, self.clock, &mut self.current.packets)?;
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize> {
        if token == REQUESTS {
            return self.handle_requests(now);
        }
        let (network, device) = (token.0 / TOKENS, token.0 % TOKENS);
        self.networks[network as usize].read_device(device as usize, now, budget, &mut self.buffer)
    }
}
