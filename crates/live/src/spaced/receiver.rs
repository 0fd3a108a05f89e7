//! The receiver of several senders, on one thread.

use std::io;
use std::net::SocketAddr;

use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::TrafficClass;
use polypath_core::spacing::{
    Arrival, Message, ReceiverOutput, SpacedHeader, SpacedReceiver, decode, encode,
};
use polypath_core::time::Time;

use super::{MAX_DATAGRAM, open};
use crate::clock::Clock;
use crate::drive::{Driver, EventHandler, StopHandle, Token};
use crate::udp::{PathSocket, Received};

/// The maximum number of senders; datagrams of others are ignored.
const MAX_SENDERS: usize = 1024;

/// The packets of a sender that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrivedPackets {
    /// The address of the sender.
    pub from: SocketAddr,
    /// Packets that arrived from the time on from which they are counted, each once.
    pub packets: u64,
    /// The gaps between them.
    pub gaps: GapMoments,
    /// The sum of their one-way delays in seconds, if both ends read one clock.
    delays: f64,
}

impl ArrivedPackets {
    /// The mean one-way delay in seconds, if both ends read one clock; `None` without packets.
    #[must_use]
    pub fn mean_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays / self.packets as f64)
    }
}

/// Sums of the gaps from the arrival of a packet to that of the next number, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GapMoments {
    count: u64,
    first: f64,
    second: f64,
}

impl GapMoments {
    fn add(&mut self, gap: f64) {
        self.count += 1;
        self.first += gap;
        self.second += gap * gap;
    }

    /// Their mean and standard deviation in seconds; `None` for fewer than two.
    #[must_use]
    pub fn mean_and_deviation(&self) -> Option<(f64, f64)> {
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        let mean = self.first / count;
        let variance = (self.second - count * mean * mean) / (count - 1.0);
        Some((mean, variance.max(0.0).sqrt()))
    }
}

/// A receiver whose socket is open.
#[derive(Debug)]
pub struct SpacedReceivers {
    handler: ReceiversEventHandler,
    driver: Driver,
}

#[derive(Debug)]
struct ReceiversEventHandler {
    socket: PathSocket,
    receivers: Vec<LiveReceiver>,
    reordering: u32,
    measured_from: Time,
    clock: Clock,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct LiveReceiver {
    machine: SpacedReceiver,
    arrived: ArrivedPackets,
    /// The number and the time of the last packet.
    last: Option<(u64, Time)>,
}

impl SpacedReceivers {
    /// Opens the socket in the network namespace of the calling thread. A packet counts as lost once
    /// one has arrived that is `reordering` newer; arrivals count from `measured_from` on.
    ///
    /// # Errors
    /// If the socket cannot be opened.
    pub fn open(
        local: SocketAddr,
        reordering: u32,
        measured_from: Time,
        clock: Clock,
    ) -> io::Result<Self> {
        let driver = Driver::new(clock)?;
        let socket = open("receiver", local).map_err(io::Error::other)?;
        driver.watch(&socket, Token(0))?;
        let handler = ReceiversEventHandler {
            socket,
            receivers: Vec::new(),
            reordering,
            measured_from,
            clock,
            buffer: vec![0; MAX_DATAGRAM],
        };
        Ok(Self { handler, driver })
    }

    /// A handle that ends [`SpacedReceivers::run`] from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// The address of its socket.
    ///
    /// # Errors
    /// If the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.handler.socket.local()
    }

    /// Receives until it is stopped, and returns what arrived of each sender.
    ///
    /// # Errors
    /// If the drive loop fails.
    pub fn run(&mut self) -> io::Result<Vec<ArrivedPackets>> {
        self.driver.run(&mut self.handler)?;
        let receivers = self.handler.receivers.iter();
        Ok(receivers.map(|receiver| receiver.arrived).collect())
    }
}

impl ReceiversEventHandler {
    fn receive(&mut self, datagram: Received) {
        let Ok((message, _)) = decode(&self.buffer[..datagram.len]) else {
            return;
        };
        match message {
            Message::Packet(header) => self.receive_packet(datagram, header),
            Message::Ping(sent) => self.send(&Message::Pong(sent), datagram.from),
            Message::Feedback(_) | Message::Pong(_) | Message::RoundTrip(_) => {}
        }
    }

    fn receive_packet(&mut self, datagram: Received, header: SpacedHeader) {
        let measured_from = self.measured_from;
        let Some(receiver) = self.receiver(datagram.from) else {
            return;
        };
        let mut is_new = true;
        receiver
            .machine
            .handle_input(datagram.at, header, &mut |output| {
                is_new &= output != ReceiverOutput::Arrived(Arrival::Duplicate);
            });
        if is_new && datagram.at >= measured_from {
            receiver.count(datagram.at, header);
        }
    }

    fn receiver(&mut self, from: SocketAddr) -> Option<&mut LiveReceiver> {
        let known = self
            .receivers
            .iter()
            .position(|receiver| receiver.arrived.from == from);
        if let Some(index) = known {
            return self.receivers.get_mut(index);
        }
        if self.receivers.len() >= MAX_SENDERS {
            return None;
        }
        self.receivers.push(LiveReceiver {
            machine: SpacedReceiver::new(self.reordering),
            arrived: ArrivedPackets {
                from,
                packets: 0,
                gaps: GapMoments::default(),
                delays: 0.0,
            },
            last: None,
        });
        self.receivers.last_mut()
    }

    fn send(&self, message: &Message, to: SocketAddr) {
        let mut datagram = Vec::with_capacity(message.len());
        encode(message, &mut datagram);
        // One that the kernel refuses is as one that is lost.
        let _ = self.socket.send(&datagram, TrafficClass::DEFAULT, to);
    }
}

impl LiveReceiver {
    fn count(&mut self, now: Time, header: SpacedHeader) {
        let sequence = header.sequence;
        self.arrived.packets += 1;
        self.arrived.delays += now.since(header.sent).as_secs_f64();
        let last = self.last.replace((sequence, now));
        if let Some((_, before)) = last.filter(|(before, _)| before + 1 == sequence) {
            self.arrived.gaps.add(now.since(before).as_secs_f64());
        }
    }
}

impl EventHandler for ReceiversEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self
            .receivers
            .iter()
            .filter_map(|receiver| receiver.machine.deadline());
        deadlines.min_by_key(|deadline| deadline.at)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for index in 0..self.receivers.len() {
            let receiver = &mut self.receivers[index];
            let mut due = None;
            receiver.machine.handle_timeout(now, &mut |output| {
                if let ReceiverOutput::Feedback(feedback) = output {
                    due = Some(feedback);
                }
            });
            let to = receiver.arrived.from;
            if let Some(feedback) = due {
                self.send(&Message::Feedback(feedback), to);
            }
        }
        Ok(())
    }

    fn handle_readable(&mut self, _: Token, _: Time, budget: usize) -> io::Result<usize> {
        for count in 0..budget {
            let received = self.socket.receive(&mut self.buffer, self.clock)?;
            let Some(received) = received else {
                return Ok(count);
            };
            self.receive(received);
        }
        Ok(budget)
    }
}
