//! The senders, on one thread.

use std::io;
use std::net::{IpAddr, SocketAddr};

use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::spacing::{
    Message, SenderConfig, SenderInput, SenderOutput, SpacedSender, decode, encode,
};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;

use super::{MAX_DATAGRAM, open, padded};
use crate::clock::Clock;
use crate::drive::{Driver, EventHandler, StopHandle, Token};
use crate::udp::PathSocket;

/// The packets that a sender sends in one turn at most, if it is behind its schedule.
const BURST: usize = 64;

/// A sender and the time of its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedSender {
    /// The sender, whose [`SenderConfig::line_rate`] bounds its rate.
    pub config: SenderConfig,
    /// The time of the first packet.
    pub start: Time,
}

/// The senders of a program.
#[derive(Clone, Debug)]
pub struct SpacedSendersConfig {
    /// The senders, each with a socket of its own.
    pub senders: Vec<StartedSender>,
    /// The local address.
    pub local: IpAddr,
    /// The receiver.
    pub remote: SocketAddr,
    /// The time from which packets are counted.
    pub measured_from: Time,
    /// The interval of [`SentPackets::bins`].
    pub bin: Duration,
}

/// The packets of a sender from [`SpacedSendersConfig::measured_from`] on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SentPackets {
    /// The number of packets.
    pub packets: u64,
    /// The number of packets in each interval from time zero on.
    pub bins: Vec<u64>,
    /// Packets that the kernel refused, among [`SentPackets::packets`].
    pub refused: u64,
}

/// Senders whose sockets are open.
#[derive(Debug)]
pub struct SpacedSenders {
    handler: SendersEventHandler,
    driver: Driver,
}

#[derive(Debug)]
struct SendersEventHandler {
    senders: Vec<LiveSender>,
    remote: SocketAddr,
    measured_from: Time,
    bin: Duration,
    clock: Clock,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct LiveSender {
    machine: SpacedSender,
    socket: PathSocket,
    packet: Bytes,
    sent: SentPackets,
}

impl SpacedSenders {
    /// Opens the sockets in the network namespace of the calling thread.
    ///
    /// # Errors
    /// If a socket cannot be opened.
    pub fn open(config: &SpacedSendersConfig, clock: Clock) -> io::Result<Self> {
        let driver = Driver::new(clock)?;
        let mut senders = Vec::new();
        for (index, sender) in (0..).zip(&config.senders) {
            let local = SocketAddr::new(config.local, 0);
            let socket = open(&format!("sender {index}"), local).map_err(io::Error::other)?;
            driver.watch(&socket, Token(index))?;
            let mut machine = SpacedSender::new(&sender.config, sender.start.max(Time(1)));
            machine.handle_input(Time::ZERO, SenderInput::Writable, &mut |_| {});
            senders.push(LiveSender {
                machine,
                socket,
                packet: sender.config.packet,
                sent: SentPackets::default(),
            });
        }
        let handler = SendersEventHandler {
            senders,
            remote: config.remote,
            measured_from: config.measured_from,
            bin: config.bin,
            clock,
            buffer: Vec::with_capacity(MAX_DATAGRAM),
        };
        Ok(Self { handler, driver })
    }

    /// A handle that ends [`SpacedSenders::run_until`] from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// The addresses of the sockets, in the order of the senders.
    ///
    /// # Errors
    /// If the system does not know one.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let senders = self.handler.senders.iter();
        senders.map(|sender| sender.socket.local()).collect()
    }

    /// Sends until `end`, and returns what each sender has sent.
    ///
    /// # Errors
    /// If the drive loop fails.
    pub fn run_until(&mut self, end: Time) -> io::Result<Vec<SentPackets>> {
        self.driver.run_until(&mut self.handler, end)?;
        let sent = self
            .handler
            .senders
            .iter()
            .map(|sender| sender.sent.clone());
        Ok(sent.collect())
    }
}

impl SendersEventHandler {
    fn wake(&mut self, index: usize, now: Time, wake: Wake<SenderInput>) {
        let Some(sender) = self.senders.get_mut(index) else {
            return;
        };
        let mut wake = Some(wake);
        for _ in 0..BURST {
            let Some(next) = wake.take() else { break };
            let mut message = None;
            step(&mut sender.machine, now, next, &mut |output| match output {
                SenderOutput::Transmit(header) => message = Some(Message::Packet(header)),
                SenderOutput::Ping(sent) => message = Some(Message::Ping(sent)),
                SenderOutput::FeedbackApplied { .. } | SenderOutput::FeedbackIgnored(_) => {}
            });
            let Some(message) = message else { break };
            let is_sent = send(&mut self.buffer, sender, self.remote, &message);
            if matches!(message, Message::Packet(_)) {
                sender.count(now, self.measured_from, self.bin, is_sent);
                wake = Some(Wake::Input(SenderInput::Writable));
            }
        }
    }
}

/// Sends a message with the size of a packet; returns whether the kernel took it.
fn send(buffer: &mut Vec<u8>, sender: &LiveSender, to: SocketAddr, message: &Message) -> bool {
    buffer.clear();
    encode(message, buffer);
    buffer.resize(padded(&sender.socket, sender.packet.0, buffer.len()), 0);
    // A ping has no payload: the other end would reject a longer one.
    let len = match message {
        Message::Packet(_) => buffer.len(),
        other => other.len(),
    };
    sender
        .socket
        .send(&buffer[..len], TrafficClass::DEFAULT, to)
        .is_ok()
}

impl LiveSender {
    fn count(&mut self, now: Time, from: Time, bin: Duration, is_sent: bool) {
        let number = usize::try_from(now.0 / bin.0.max(1)).unwrap_or(usize::MAX);
        if number >= self.sent.bins.len() {
            self.sent.bins.resize(number + 1, 0);
        }
        self.sent.bins[number] += 1;
        if now >= from {
            self.sent.packets += 1;
            self.sent.refused += u64::from(!is_sent);
        }
    }
}

impl EventHandler for SendersEventHandler {
    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self
            .senders
            .iter()
            .filter_map(|sender| sender.machine.deadline());
        deadlines.min_by_key(|deadline| deadline.at)
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        for index in 0..self.senders.len() {
            let deadline = self.senders[index].machine.deadline();
            if deadline.is_some_and(|deadline| deadline.at <= now) {
                self.wake(index, now, Wake::Timeout);
            }
        }
        Ok(())
    }

    fn handle_readable(&mut self, token: Token, _: Time, budget: usize) -> io::Result<usize> {
        let index = token.0 as usize;
        let mut buffer = [0; 256];
        for count in 0..budget {
            let socket = &mut self.senders[index].socket;
            let Some(received) = socket.receive(&mut buffer, self.clock)? else {
                return Ok(count);
            };
            let input = match decode(&buffer[..received.len]) {
                Ok((Message::Feedback(feedback), _)) => SenderInput::Feedback(feedback),
                Ok((Message::Pong(sent), _)) => SenderInput::Pong(sent),
                _ => continue,
            };
            let now = self.clock.now();
            self.wake(index, now, Wake::Input(input));
        }
        Ok(budget)
    }
}
