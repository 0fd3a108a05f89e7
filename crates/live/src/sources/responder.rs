//! The responder: it answers each frame on the path on which it arrived.

use std::io;
use std::net::SocketAddr;

use polypath_core::machine::Deadline;
use polypath_core::multihomed::{HEADER_LEN, MultihomedDatagram, MultihomedFrame};
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;

use super::{MAX_DATAGRAM, ResponderReport, SourcesError, open, payload};
use crate::clock::Clock;
use crate::drive::{Driver, EventHandler, StopHandle, Token};
use crate::udp::{PathSocket, Received};

/// A responder whose sockets are open.
#[derive(Debug)]
pub struct Responder {
    handler: ResponderEventHandler,
    driver: Driver,
}

#[derive(Debug)]
struct ResponderEventHandler {
    sockets: Vec<PathSocket>,
    clock: Clock,
    /// The length of an answer on each path in bytes, without the headers of IP and UDP.
    answer: Vec<usize>,
    buffer: Vec<u8>,
    report: ResponderReport,
}

impl Responder {
    /// Opens a socket at each address, in the network namespace of the calling thread. An ACK or
    /// the answer to a heartbeat has `ack` bytes on the wire; without it 52 B (delay-centric paper,
    /// III), or 72 B over IPv6.
    ///
    /// # Errors
    /// If a socket cannot be opened, or `ack` is smaller than the headers.
    pub fn open(
        addresses: &[SocketAddr],
        ack: Option<u32>,
        clock: Clock,
    ) -> Result<Self, SourcesError> {
        let driver = Driver::new(clock)?;
        let mut handler = ResponderEventHandler {
            sockets: Vec::new(),
            clock,
            answer: Vec::new(),
            buffer: vec![0; MAX_DATAGRAM],
            report: ResponderReport::default(),
        };
        for (index, address) in (0..).zip(addresses) {
            let socket = open(&address.to_string(), *address)?;
            driver.watch(&socket, Token(index))?;
            let len = ack.map(|ack| payload(&socket, "ACK", ack));
            handler.answer.push(len.unwrap_or(Ok(HEADER_LEN))?);
            handler.sockets.push(socket);
        }
        Ok(Self { handler, driver })
    }

    /// The addresses of its sockets.
    ///
    /// # Errors
    /// If the system does not know one.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.handler.sockets.iter().map(PathSocket::local).collect()
    }

    /// A handle that ends [`Responder::run`] from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Answers until it is stopped, and returns its counters.
    ///
    /// # Errors
    /// If the drive loop fails.
    pub fn run(&mut self) -> Result<ResponderReport, SourcesError> {
        self.driver.run(&mut self.handler)?;
        Ok(self.handler.report.clone())
    }
}

impl ResponderEventHandler {
    fn answer(&mut self, path: usize, received: Received) {
        let datagram = &self.buffer[..received.len];
        let Ok(frame) = MultihomedDatagram::decode(datagram) else {
            self.report.rejected += 1;
            return;
        };
        let Some(answer) = frame.frame.answer(received.at) else {
            self.report.rejected += 1;
            return;
        };
        let socket = &self.sockets[path];
        if matches!(frame.frame, MultihomedFrame::Data { .. }) {
            self.report.datagrams += 1;
            self.report.bytes += u64::from(socket.headers()) + received.len as u64;
        } else {
            self.report.heartbeats += 1;
        }
        let header = MultihomedDatagram {
            frame: answer,
            ..frame
        };
        // Never longer than what it answers: the source may be forged.
        let len = self.answer[path].min(received.len);
        let answer = &mut self.buffer[..len];
        answer.fill(0);
        answer[..header.encode().len()].copy_from_slice(&header.encode());
        let sent = socket.send(answer, TrafficClass::DEFAULT, received.from);
        let late = self.clock.now().since(received.at);
        self.report.lateness.record(late);
        self.report.refused += u64::from(sent.is_err());
    }
}

impl EventHandler for ResponderEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn handle_timeout(&mut self, _: Time) -> io::Result<()> {
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, _: Time, budget: usize) -> io::Result<usize> {
        let path = token.0 as usize;
        for count in 0..budget {
            let received = self.sockets[path].receive(&mut self.buffer, self.clock)?;
            let Some(received) = received else {
                return Ok(count);
            };
            self.answer(path, received);
        }
        Ok(budget)
    }
}
