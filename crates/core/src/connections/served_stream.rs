//! The sender's end of a stream: the messages on each of its connections.

mod waiting;

use alloc::collections::{BTreeMap, BTreeSet};

use super::sender::{SenderInput, SenderOutput, StreamSender};
use super::wire::{Progress, Refusal, SenderMessage};
use crate::machine::{Deadline, EarliestDeadline, Machine};
use crate::time::{Duration, Time};
use waiting::Waiting;

/// The packets that a connection takes before its socket accepts the first of them.
const QUEUE: u32 = 2;
/// The time for which a receiver may take what is on its way when the source has failed.
const LAST: Duration = Duration::from_secs(5);
/// The time for which a stream without connections waits for new ones.
const ORPHANED: Duration = Duration::from_secs(60);

/// Serves a stream to one receiver: a [`StreamSender`], the messages to the receiver, and the reasons
/// for which the stream ends.
///
/// Its driver takes packets from a source when [one is wanted](Self::wants_packet), adds a connection
/// once its hello has come, and writes the messages to it. The number of connections is for the driver
/// to limit ([`ConnectionNumbers`]).
#[derive(Clone, Debug)]
pub struct ServedStream<P> {
    sender: StreamSender<P>,
    /// The identity of the source.
    source: u64,
    connections: BTreeMap<u32, Connection>,
    /// The number of packets, once the source has ended.
    total: Option<u64>,
    /// The number of packets taken from the source, after those of an earlier server.
    taken: u64,
    waiting: Waiting,
    /// Whether the receiver ended a connection in order after it had everything.
    is_known_complete: bool,
    /// The time at which a stream without connections ends.
    orphaned: Option<Time>,
    failed: Option<SourceFailure>,
    has_ended: bool,
}

/// A connection that carries the stream.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The number of packets that its socket has not accepted.
    queued: u32,
    /// Whether an idle message was queued that its socket may not have accepted.
    has_idle: bool,
    /// Whether more messages may follow.
    is_open: bool,
}

/// A source without further packets, although it had not ended.
#[derive(Clone, Copy, Debug)]
struct SourceFailure {
    refusal: Refusal,
    /// The time until which the receiver may take what is on its way.
    last: Time,
}

/// The reason for the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamEnd {
    /// The receiver has everything.
    #[error("complete")]
    Complete,
    /// The receiver ended it.
    #[error("its receiver left")]
    Left,
    /// All connections of the receiver have ended, and it did not leave the stream.
    #[error("its receiver did not return within {} s", ORPHANED.as_secs_f64())]
    Orphaned,
    /// The source has failed.
    #[error("its source failed")]
    Source,
}

impl StreamEnd {
    /// Complete, or `otherwise`.
    const fn of(is_complete: bool, otherwise: Self) -> Self {
        if is_complete {
            Self::Complete
        } else {
            otherwise
        }
    }
}

/// An input of a served stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedInput<P> {
    /// A connection carries the stream from now on.
    Attached {
        /// The connection, by a number that no other has.
        connection: u32,
        /// The number of packets that the receiver has.
        received: u64,
    },
    /// The receiver reported its progress on a connection.
    Progress {
        /// The connection.
        connection: u32,
        /// Its credit, and the packets that arrived.
        progress: Progress,
    },
    /// The receiver wants no further packets on a connection.
    Closing(u32),
    /// The receiver named a connection as failed.
    Failed(u32),
    /// The receiver wants no more of the stream.
    Leaving,
    /// The socket of a connection accepted a packet.
    Written(u32),
    /// A connection ended.
    Ended {
        /// The connection.
        connection: u32,
        /// Whether its receiver ended it in order, after it read everything.
        in_order: bool,
    },
    /// The next packet of the source; only if [one is wanted](ServedStream::wants_packet).
    Packet(P),
    /// The source has no packet at this time, although [one is wanted](ServedStream::wants_packet).
    SourceEmpty,
    /// The source has no more packets.
    SourceEnded,
    /// The source failed.
    SourceFailed {
        /// The reason for the receiver.
        refusal: Refusal,
        /// Whether what was taken from it before may still arrive.
        waits: bool,
    },
}

/// An output of a served stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedOutput<P> {
    /// Send a message on a connection. At most [`ServedStream::MESSAGES`] wait for its socket.
    Send {
        /// The connection.
        connection: u32,
        /// The message.
        message: SenderMessage<P>,
    },
    /// No more messages follow on a connection: end its direction after those before.
    Shutdown(u32),
    /// End a connection at once.
    Stop(u32),
    /// The stream has ended, with all its connections.
    End(StreamEnd),
}

impl<P: Clone> ServedStream<P> {
    /// The messages of a connection that wait at most: packets, one each at its start and at its end,
    /// and one that the sender is idle.
    pub const MESSAGES: usize = QUEUE as usize + 3;

    /// The stream of a receiver that buffers `buffer` packets, and has the first `received` of this
    /// source at `now`.
    #[must_use]
    pub fn new(now: Time, source: u64, buffer: u32, received: u64) -> Self {
        Self {
            sender: StreamSender::new(buffer, received),
            source,
            connections: BTreeMap::new(),
            total: None,
            taken: received,
            waiting: Waiting::default(),
            is_known_complete: false,
            orphaned: Some(now + ORPHANED),
            failed: None,
            has_ended: false,
        }
    }

    /// Whether the next packet of the source should be given: what waits is then in flight, and not as
    /// much as the receiver buffers.
    #[must_use]
    pub fn wants_packet(&self) -> bool {
        self.has_source() && self.sender.wants_packet() && !self.sender.has_waiting()
    }

    /// Whether the source has neither ended nor failed.
    #[must_use]
    pub const fn has_source(&self) -> bool {
        self.total.is_none() && self.failed.is_none()
    }

    /// Whether the stream knows that its source is empty ([`ServedInput::SourceEmpty`]).
    #[must_use]
    pub const fn is_source_empty(&self) -> bool {
        self.waiting.is_source_empty()
    }

    /// The sender of the packets, for its counts.
    #[must_use]
    pub const fn sender(&self) -> &StreamSender<P> {
        &self.sender
    }

    /// Whether the receiver has all packets.
    fn is_finished(&self) -> bool {
        self.total.is_some() && self.sender.is_finished()
    }

    fn attach(
        &mut self,
        now: Time,
        connection: u32,
        received: u64,
        out: &mut impl FnMut(ServedOutput<P>),
    ) {
        self.orphaned = None;
        let attached = Connection {
            queued: 0,
            has_idle: false,
            is_open: true,
        };
        self.connections.insert(connection, attached);
        let source = self.source;
        self.send(connection, SenderMessage::Welcome { source }, out);
        if let Some(packets) = self.total {
            self.send(connection, SenderMessage::End { packets }, out);
        }
        self.wake(now, SenderInput::Received { packets: received }, out);
        // Nothing before the receiver permits it.
        let packets = 0;
        let input = SenderInput::Credit {
            connection,
            packets,
        };
        self.wake(now, input, out);
        self.set_writable(now, connection, out);
    }

    fn detach(
        &mut self,
        now: Time,
        connection: u32,
        in_order: bool,
        out: &mut impl FnMut(ServedOutput<P>),
    ) {
        let Some(ended) = self.connections.remove(&connection) else {
            // One that has ended in order, unless it is unknown.
            return self.wake(now, SenderInput::Failed(connection), out);
        };
        out(ServedOutput::Stop(connection));
        // What is sent again did not wait for the source.
        self.waiting.take_limited();
        self.is_known_complete |= in_order && self.is_finished();
        let has_delivered = in_order && !ended.is_open;
        let input = if has_delivered {
            SenderInput::Finished(connection)
        } else {
            SenderInput::Failed(connection)
        };
        self.wake(now, input, out);
        if self.connections.is_empty() {
            self.orphaned = Some(now + ORPHANED);
        }
    }

    fn on_progress(
        &mut self,
        now: Time,
        connection: u32,
        progress: Progress,
        out: &mut impl FnMut(ServedOutput<P>),
    ) {
        if self.connections.contains_key(&connection) {
            let packets = progress.credit;
            let input = SenderInput::Credit {
                connection,
                packets,
            };
            self.wake(now, input, out);
        }
        let packets = progress.received;
        self.wake(now, SenderInput::Received { packets }, out);
    }

    fn set_writable(&mut self, now: Time, connection: u32, out: &mut impl FnMut(ServedOutput<P>)) {
        if let Some(known) = self.connections.get(&connection) {
            let room = QUEUE.saturating_sub(known.queued);
            self.wake(now, SenderInput::Writable { connection, room }, out);
        }
    }

    /// Wakes the sender and performs its outputs.
    fn wake(&mut self, now: Time, input: SenderInput<P>, out: &mut impl FnMut(ServedOutput<P>)) {
        let (connections, waiting) = (&mut self.connections, &mut self.waiting);
        self.sender.handle_input(now, input, &mut |output| {
            let SenderOutput {
                connection,
                sequence,
                packet,
            } = output;
            if let Some(used) = connections.get_mut(&connection).filter(|used| used.is_open) {
                used.queued += 1;
                let message = SenderMessage::Packet {
                    sequence,
                    is_application_limited: waiting.take_limited(),
                    payload: packet,
                };
                out(ServedOutput::Send {
                    connection,
                    message,
                });
            }
        });
    }

    fn send(
        &self,
        connection: u32,
        message: SenderMessage<P>,
        out: &mut impl FnMut(ServedOutput<P>),
    ) {
        let known = self.connections.get(&connection);
        if known.is_some_and(|known| known.is_open) {
            out(ServedOutput::Send {
                connection,
                message,
            });
        }
    }

    fn send_on_all(&self, message: &SenderMessage<P>, out: &mut impl FnMut(ServedOutput<P>)) {
        for connection in self.connections.keys() {
            self.send(*connection, message.clone(), out);
        }
    }

    /// Sends no more messages on a connection.
    fn shut_down(connection: u32, known: &mut Connection, out: &mut impl FnMut(ServedOutput<P>)) {
        if core::mem::replace(&mut known.is_open, false) {
            out(ServedOutput::Shutdown(connection));
        }
    }

    /// Notes whether the sender waits for its source, and notifies the receiver after a while.
    fn wait_for_source(&mut self, now: Time, out: &mut impl FnMut(ServedOutput<P>)) {
        let sender = &self.sender;
        if !self.waiting.is_notice_due(now, || sender.has_room()) {
            return;
        }
        let accepts = |known: &Connection| known.is_open && known.queued == 0 && !known.has_idle;
        let free = self
            .connections
            .iter_mut()
            .find(|(_, known)| accepts(known));
        if let Some((&connection, known)) = free {
            known.has_idle = true;
            let message = SenderMessage::Idle {
                packets: self.taken,
            };
            out(ServedOutput::Send {
                connection,
                message,
            });
        }
    }

    /// Ends connections, and the stream, if their time has come.
    fn settle(&mut self, now: Time, out: &mut impl FnMut(ServedOutput<P>)) {
        self.wait_for_source(now, out);
        if self.is_finished() {
            // The receiver then ends its side; until it has, it may ask again for the end.
            for (connection, known) in &mut self.connections {
                Self::shut_down(*connection, known, out);
            }
            if self.is_known_complete {
                return self.end(StreamEnd::Complete, out);
            }
        }
        let is_due = |failed: &SourceFailure| self.sender.is_finished() || failed.last <= now;
        if let Some(SourceFailure { refusal, .. }) = self.failed.filter(is_due) {
            self.send_on_all(&SenderMessage::Refusal(refusal), out);
            return self.end(StreamEnd::Source, out);
        }
        if self.orphaned.is_some_and(|at| at <= now) {
            let is_complete = self.is_finished();
            self.end(StreamEnd::of(is_complete, StreamEnd::Orphaned), out);
        }
    }

    fn end(&mut self, end: StreamEnd, out: &mut impl FnMut(ServedOutput<P>)) {
        if !core::mem::replace(&mut self.has_ended, true) {
            out(ServedOutput::End(end));
        }
    }
}

impl<P: Clone> Machine for ServedStream<P> {
    type Input = ServedInput<P>;
    type Output = ServedOutput<P>;

    fn handle_input(
        &mut self,
        now: Time,
        input: ServedInput<P>,
        out: &mut impl FnMut(ServedOutput<P>),
    ) {
        match input {
            ServedInput::Attached {
                connection,
                received,
            } => self.attach(now, connection, received, out),
            ServedInput::Progress {
                connection,
                progress,
            } => self.on_progress(now, connection, progress, out),
            ServedInput::Closing(connection) => {
                if let Some(closing) = self.connections.get_mut(&connection) {
                    Self::shut_down(connection, closing, out);
                    self.wake(now, SenderInput::Closing(connection), out);
                }
            }
            ServedInput::Failed(connection) => self.detach(now, connection, false, out),
            ServedInput::Leaving => {
                let is_complete = self.is_finished();
                self.end(StreamEnd::of(is_complete, StreamEnd::Left), out);
            }
            ServedInput::Written(connection) => {
                if let Some(written) = self.connections.get_mut(&connection) {
                    written.queued = written.queued.saturating_sub(1);
                    // It was queued before a packet that was accepted, or will be.
                    written.has_idle = false;
                    self.set_writable(now, connection, out);
                }
            }
            ServedInput::Ended {
                connection,
                in_order,
            } => self.detach(now, connection, in_order, out),
            ServedInput::Packet(packet) => {
                self.taken += 1;
                self.waiting.end();
                self.wake(now, SenderInput::Packet(packet), out);
            }
            ServedInput::SourceEmpty => self.waiting.begin(),
            ServedInput::SourceEnded => {
                let packets = self.taken;
                self.waiting.end();
                self.total = Some(packets);
                self.send_on_all(&SenderMessage::End { packets }, out);
            }
            ServedInput::SourceFailed { refusal, waits } => {
                let last = if waits { now + LAST } else { now };
                self.failed = Some(SourceFailure { refusal, last });
            }
        }
        self.settle(now, out);
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(ServedOutput<P>)) {
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let mut earliest = EarliestDeadline::NONE;
        if !self.has_ended {
            earliest.add(self.orphaned, "no connection for too long");
            let failed = self.failed.map(|failed| failed.last);
            earliest.add(failed, "last packets of a source that failed");
            earliest.add(self.waiting.deadline(), "idle for a while");
        }
        earliest.deadline()
    }
}

/// The numbers of the connections of a stream, which differ, without those that its receiver named as
/// failed.
#[derive(Clone, Debug, Default)]
pub struct ConnectionNumbers(BTreeSet<u32>);

impl ConnectionNumbers {
    /// Adds a connection to at most `limit`.
    ///
    /// # Errors
    /// With [`Refusal::Connections`] if there are as many, or if another has its number.
    pub fn add(&mut self, connection: u32, limit: usize) -> Result<(), Refusal> {
        if self.0.len() < limit && self.0.insert(connection) {
            return Ok(());
        }
        Err(Refusal::Connections)
    }

    /// Removes a connection that has ended.
    pub fn remove(&mut self, connection: u32) {
        self.0.remove(&connection);
    }
}
