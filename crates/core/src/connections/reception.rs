//! The receiver's end of a stream: the messages on each of its connections.

mod interface;
mod sending;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::credit::{Credits, WindowControl};
use super::receiver::{ReceiverConfig, ReceiverInput, ReceiverOutput, SizedPacket, StreamReceiver};
use super::wire::{Hello, Progress, ReceiverMessage, Refusal, SenderMessage, StreamId};
use crate::machine::{Deadline, EarliestDeadline, Machine};
use crate::time::{Duration, Time};
pub use interface::{
    ConnectionEnd, FINISH_WITHIN, LEAVE_WITHIN, OPEN_WITHIN, Opening, ReceptionConfig,
    ReceptionCounts, ReceptionFailure, ReceptionInput, ReceptionOutput,
};
use sending::Sending;

/// The shortest patience: a connection needs three round trips to open.
const MIN_PATIENCE: Duration = Duration::from_secs(1);

/// Receives a stream: a [`StreamReceiver`] and its [`Credits`], the messages to the sender, and what
/// the ends of connections mean.
///
/// Its driver opens connections, writes the messages to them, and passes on what comes from the
/// sender and how each connection ended. A reception is [complete](Self::is_complete) once all
/// packets were delivered; its driver then states that they are safe ([`ReceptionInput::Finish`]).
#[derive(Clone, Debug)]
pub struct Reception<P> {
    stream: StreamId,
    buffer: u32,
    patience: Duration,
    receiver: StreamReceiver<P>,
    credits: Credits,
    /// The identity of the source; 0 before the first welcome.
    source: u64,
    connections: BTreeMap<u32, Connection>,
    /// The time since which no connection carries the stream, while none does.
    unreachable_since: Option<Time>,
    /// The number of packets of the stream, once it is known.
    total: Option<u64>,
    sending: Sending,
    counts: ReceptionCounts,
    /// Whether the last messages were sent.
    has_ended: bool,
    /// The outputs of the receiver that are being handled; empty between two calls.
    outputs: Vec<ReceiverOutput<P>>,
}

/// A connection of the receiver.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The wanted window in packets.
    window: u32,
    /// The credit that was given last.
    credit: u64,
    /// Whether the sender has welcomed it.
    is_open: bool,
    /// Whether the receiver wants no further packets on it.
    is_closing: bool,
}

impl<P> Reception<P> {
    /// A reception that has not started.
    #[must_use]
    pub fn new(config: &ReceptionConfig) -> Self {
        let ReceiverConfig {
            target,
            controller,
            buffer,
            ..
        } = config.receiver;
        Self {
            stream: config.stream,
            buffer,
            patience: config.patience.max(MIN_PATIENCE),
            receiver: StreamReceiver::new(&config.receiver),
            credits: Credits::new(target, controller.control().guard, buffer),
            source: 0,
            connections: BTreeMap::new(),
            unreachable_since: None,
            total: None,
            sending: Sending::default(),
            counts: ReceptionCounts::default(),
            has_ended: false,
            outputs: Vec::new(),
        }
    }

    /// Whether all packets of the stream were delivered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.total == Some(self.received())
    }

    /// The number of packets delivered.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// The receiver of the packets, for its counts.
    #[must_use]
    pub const fn receiver(&self) -> &StreamReceiver<P> {
        &self.receiver
    }

    /// The counts of connections.
    #[must_use]
    pub const fn counts(&self) -> ReceptionCounts {
        self.counts
    }

    /// The mechanism that limits the packets in flight.
    #[must_use]
    pub fn control(&self) -> WindowControl {
        self.credits.control()
    }

    /// Whether a connection is open, being opened or being closed.
    #[must_use]
    pub fn has_connections(&self) -> bool {
        !self.connections.is_empty()
    }

    /// The connections that carry the stream.
    pub fn open_connections(&self) -> impl Iterator<Item = u32> {
        let open = self.connections.iter().filter(|(_, known)| known.is_open);
        open.map(|(connection, _)| *connection)
    }

    /// The kernel's window of an open connection in packets. The kernel lets it grow by itself, so that
    /// it is set again from time to time.
    #[must_use]
    pub fn kernel_window(&self, connection: u32) -> Option<u32> {
        self.credits.kernel_window(connection)
    }

    /// Whether a round-trip time should be given before the time-out
    /// ([`StreamReceiver::is_sample_due`]).
    #[must_use]
    pub fn is_sample_due(&self, now: Time) -> bool {
        self.receiver.is_sample_due(now)
    }

    fn is_reachable(&self) -> bool {
        self.open_connections().next().is_some()
    }

    /// The time at which the reception fails unless a connection carries the stream.
    fn patience_ends(&self) -> Option<Time> {
        Some(self.unreachable_since? + self.patience)
    }

    fn on_message(
        &mut self,
        now: Time,
        connection: u32,
        message: SenderMessage<SizedPacket<P>>,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        if let Some(is_idle) = self.sending.application_limited_by(&message) {
            self.wake(now, ReceiverInput::ApplicationLimited { is_idle }, out);
        }
        match message {
            SenderMessage::Welcome { source } => self.on_welcome(now, connection, source, out),
            SenderMessage::Packet {
                sequence, payload, ..
            } => {
                self.credits.on_packet(connection);
                let input = ReceiverInput::Packet {
                    connection,
                    sequence,
                    packet: payload,
                };
                self.wake(now, input, out);
                self.give_credits(now, out);
            }
            SenderMessage::Idle { .. } => {}
            SenderMessage::End { packets } => self.total = Some(packets),
            SenderMessage::Refusal(refusal) => self.on_refused(now, connection, refusal, out),
        }
    }

    fn on_welcome(
        &mut self,
        now: Time,
        connection: u32,
        source: u64,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        let Some(opened) = self.connections.get_mut(&connection) else {
            return;
        };
        self.source = source;
        self.unreachable_since = None;
        opened.is_open = true;
        if !opened.is_closing {
            let window = opened.window;
            self.set_window(connection, window, out);
        }
        self.wake(now, ReceiverInput::Welcome(connection), out);
        self.give_credits(now, out);
    }

    fn on_refused(
        &mut self,
        now: Time,
        connection: u32,
        refusal: Refusal,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        if refusal != Refusal::Connections {
            return out(ReceptionOutput::Failed(ReceptionFailure::Refused(refusal)));
        }
        out(ReceptionOutput::Limited);
        let has_failures = self.receiver.failed().next().is_some();
        let mut others = self
            .connections
            .iter()
            .filter(|(other, _)| **other != connection);
        let is_limit =
            others.any(|(_, other)| !other.is_closing && (other.is_open || !has_failures));
        if let Some(refused) = self.connections.get_mut(&connection) {
            refused.is_closing = true;
        }
        // Otherwise the sender may not have noticed the end of those that it counts: another attempt
        // names them.
        let input = if is_limit {
            ReceiverInput::Refused(connection)
        } else {
            ReceiverInput::Ended(connection)
        };
        self.wake(now, input, out);
    }

    fn on_ended(
        &mut self,
        now: Time,
        connection: u32,
        end: ConnectionEnd,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        let Some(ended) = self.connections.remove(&connection) else {
            return;
        };
        self.credits.remove(connection);
        // One that never opened does not show that the sender is reachable.
        if ended.is_open && !self.is_reachable() {
            self.unreachable_since = Some(now);
        }
        if self.is_complete() || self.has_ended {
            return;
        }
        // A sender ends a connection in order after it was asked to, or has refused it. Another end
        // is that of a device on the way, of which the sender may not know.
        let is_known = match end {
            ConnectionEnd::InOrder => ended.is_closing,
            ConnectionEnd::Unsent => true,
            ConnectionEnd::Failed | ConnectionEnd::Permanent => false,
        };
        let input = if is_known {
            ReceiverInput::Ended(connection)
        } else {
            ReceiverInput::Failed(connection)
        };
        self.wake(now, input, out);
        if ended.is_closing {
            return;
        }
        self.counts.failed += 1;
        let was_open = ended.is_open;
        // One that was open has the key and speaks the protocol: its bytes were damaged on the way.
        out(if end == ConnectionEnd::Permanent && !was_open {
            ReceptionOutput::Failed(ReceptionFailure::Permanent)
        } else {
            ReceptionOutput::Lost {
                connection,
                was_open,
            }
        });
    }

    /// Wakes the receiver and performs its outputs.
    fn wake(
        &mut self,
        now: Time,
        input: ReceiverInput<P>,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        let mut outputs = core::mem::take(&mut self.outputs);
        self.receiver
            .handle_input(now, input, &mut |output| outputs.push(output));
        self.perform(outputs, out);
    }

    fn perform(
        &mut self,
        mut outputs: Vec<ReceiverOutput<P>>,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        for output in outputs.drain(..) {
            match output {
                ReceiverOutput::Open { connection, window } => self.open(connection, window, out),
                ReceiverOutput::SetWindow { connection, window } => {
                    self.set_window(connection, window, out);
                }
                ReceiverOutput::Close(connection) => self.close(connection, out),
                ReceiverOutput::NameFailed(connection) => self.name_failed(connection, out),
                ReceiverOutput::Deliver(packet) => out(ReceptionOutput::Deliver(packet)),
                ReceiverOutput::Refused { .. } => {
                    out(ReceptionOutput::Failed(ReceptionFailure::TooEarly));
                }
                ReceiverOutput::Controlled(_) | ReceiverOutput::Player(_) => {}
            }
        }
        self.outputs = outputs;
    }

    fn open(&mut self, connection: u32, window: u32, out: &mut impl FnMut(ReceptionOutput<P>)) {
        let opened = Connection {
            window,
            credit: 0,
            is_open: false,
            is_closing: false,
        };
        self.connections.insert(connection, opened);
        self.counts.opened += 1;
        out(ReceptionOutput::Open(Opening {
            hello: Hello {
                stream: self.stream,
                connection,
                received: self.received(),
                buffer: self.buffer,
                source: self.source,
            },
            failed: self.receiver.failed().collect(),
            // Larger than the window of credits, as that of the kernel always is.
            window: window.saturating_mul(2),
        }));
    }

    fn set_window(
        &mut self,
        connection: u32,
        window: u32,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        known.window = window;
        // Before the welcome nothing would be carried.
        if known.is_open {
            self.credits.set_window(connection, window);
            if let Some(packets) = self.credits.kernel_window(connection) {
                out(ReceptionOutput::SetWindow {
                    connection,
                    packets,
                });
            }
        }
    }

    fn close(&mut self, connection: u32, out: &mut impl FnMut(ReceptionOutput<P>)) {
        if let Some(known) = self.connections.get_mut(&connection) {
            known.is_closing = true;
            self.credits.remove(connection);
            let message = ReceiverMessage::Closing;
            out(ReceptionOutput::Send {
                connection,
                message,
            });
        }
    }

    fn name_failed(&self, failed: u32, out: &mut impl FnMut(ReceptionOutput<P>)) {
        let message = ReceiverMessage::Failed {
            stream: self.stream,
            connection: failed,
        };
        for &connection in self.connections.keys() {
            out(ReceptionOutput::Send {
                connection,
                message,
            });
        }
    }

    /// Gives the credits that are due, with the number of packets received.
    fn give_credits(&mut self, now: Time, out: &mut impl FnMut(ReceptionOutput<P>)) {
        let received = self.receiver.received();
        self.credits.set_rate(self.receiver.wanted_rate(now));
        let connections = &mut self.connections;
        self.credits.give(now, received, &mut |given| {
            if let Some(known) = connections.get_mut(&given.connection) {
                known.credit = given.packets;
                out(ReceptionOutput::Send {
                    connection: given.connection,
                    message: known.progress(received),
                });
            }
        });
    }

    /// Sends the last message on all open connections, and gives up the others.
    fn end(
        &mut self,
        last_message: impl Fn(&Connection) -> ReceiverMessage,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        self.has_ended = true;
        self.connections.retain(|&connection, known| {
            let mut send = |message| {
                out(ReceptionOutput::Send {
                    connection,
                    message,
                });
            };
            let message = last_message(known);
            send(message);
            if !known.is_open {
                // Its hello may be on the way, and would begin the stream again.
                if message != ReceiverMessage::Leaving {
                    send(ReceiverMessage::Leaving);
                }
                out(ReceptionOutput::Abandon(connection));
            }
            known.is_open
        });
    }
}

impl Connection {
    /// Its credit and the number of packets received.
    fn progress(&self, received: u64) -> ReceiverMessage {
        ReceiverMessage::Progress(Progress {
            credit: self.credit,
            received,
        })
    }
}

impl<P> Machine for Reception<P> {
    type Input = ReceptionInput<P>;
    type Output = ReceptionOutput<P>;

    fn handle_input(
        &mut self,
        now: Time,
        input: ReceptionInput<P>,
        out: &mut impl FnMut(ReceptionOutput<P>),
    ) {
        match input {
            ReceptionInput::Start => {
                self.unreachable_since = Some(now);
                self.wake(now, ReceiverInput::Start, out);
            }
            ReceptionInput::Rtt(rtt) => {
                self.credits.set_rtt(rtt);
                self.wake(now, ReceiverInput::Rtt(rtt), out);
            }
            ReceptionInput::Message {
                connection,
                message,
            } => self.on_message(now, connection, message, out),
            ReceptionInput::Ended { connection, end } => self.on_ended(now, connection, end, out),
            ReceptionInput::Finish => {
                let received = self.received();
                self.end(|known| known.progress(received), out);
            }
            ReceptionInput::Leave => self.end(|_| ReceiverMessage::Leaving, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(ReceptionOutput<P>)) {
        let mut outputs = core::mem::take(&mut self.outputs);
        self.receiver
            .handle_timeout(now, &mut |output| outputs.push(output));
        self.perform(outputs, out);
        self.give_credits(now, out);
        if self.patience_ends().is_some_and(|at| at <= now) {
            // Once: its driver ends it, or waits as long again.
            self.unreachable_since = Some(now);
            out(ReceptionOutput::Failed(ReceptionFailure::Unreachable));
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        if self.has_ended {
            return None;
        }
        let mut earliest = EarliestDeadline::NONE;
        earliest.add_deadline(self.receiver.deadline());
        earliest.add_deadline(self.credits.deadline());
        earliest.add(self.patience_ends(), "end of the patience");
        earliest.deadline()
    }
}
