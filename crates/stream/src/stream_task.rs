//! The stream of one receiver at the server: its packets, and the connections that carry them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use polypath_core::connections::wire::{Progress, Refusal, SenderMessage};
use polypath_core::connections::{SenderInput, SenderOutput, StreamSender};
use polypath_core::machine::Machine;
use polypath_core::time::Time;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::channel::FromSender;
use crate::source::{Position, SourceError};

/// The packets that a connection takes before its socket accepts the first of them.
const QUEUE: u32 = 2;
/// The messages of a connection that may wait: the packets, and one at its start and at its end.
pub(crate) const MESSAGES: usize = QUEUE as usize + 2;
/// The time for which a receiver may take what is on its way when the source has failed.
const LAST: Duration = Duration::from_secs(5);
/// The time for which a stream without connections waits for new ones.
const ORPHANED: Duration = Duration::from_mins(1);

/// An event of a stream.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// A connection carries the stream from now on.
    Attached {
        connection: u32,
        /// The number of packets that the receiver has.
        received: u64,
        /// The queue of its messages.
        messages: mpsc::Sender<FromSender>,
        /// Ends the connection at once.
        stop: oneshot::Sender<()>,
    },
    /// The receiver reported its progress on a connection.
    Progress { connection: u32, progress: Progress },
    /// The receiver wants no further packets on a connection.
    Closing(u32),
    /// A connection failed for the receiver.
    Failed(u32),
    /// The receiver wants no more of the stream.
    Leaving,
    /// The socket of a connection accepted a packet.
    Written(u32),
    /// A connection ended.
    Ended {
        connection: u32,
        /// Whether its receiver ended it in order, after it read everything.
        in_order: bool,
    },
}

/// The stream of one receiver.
pub(crate) struct ServedStream {
    machine: StreamSender<Bytes>,
    source: Position,
    identity: u64,
    connections: BTreeMap<u32, Connection>,
    /// The number of packets, once the source has ended.
    total: Option<u64>,
    /// The number of packets taken from the source, after those of an earlier server.
    taken: u64,
    /// Whether the receiver ended a connection in order after it had everything.
    is_known_complete: bool,
    /// The time at which a stream without connections ends.
    orphaned: Option<Instant>,
    /// The error of a source that has ended, and the time until which the receiver may take what is
    /// on its way.
    failed: Option<(SourceError, Instant)>,
}

struct Connection {
    /// `None` once no more messages follow.
    messages: Option<mpsc::Sender<FromSender>>,
    queued: u32,
    /// Ends the connection at once.
    stop: oneshot::Sender<()>,
}

/// The reason for the end of a stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    /// The receiver has everything.
    #[error("complete")]
    Complete,
    /// The receiver ended it.
    #[error("its receiver left")]
    Left,
    /// All connections of the receiver have ended, and it did not leave the stream.
    #[error("its receiver did not return within {} s", ORPHANED.as_secs())]
    Orphaned,
    /// The source has no more packets for it.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl ServedStream {
    /// The stream of a receiver that buffers `buffer` packets, and has the first `received`.
    pub(crate) fn new(source: Position, identity: u64, buffer: u32, received: u64) -> Self {
        Self {
            machine: StreamSender::new(buffer, received),
            source,
            identity,
            connections: BTreeMap::new(),
            total: None,
            taken: received,
            is_known_complete: false,
            orphaned: Some(Instant::now() + ORPHANED),
            failed: None,
        }
    }

    /// Serves the stream to its end; the events of all its connections come from `events`.
    pub(crate) async fn serve(mut self, mut events: mpsc::Receiver<StreamEvent>) -> StreamEnd {
        loop {
            if self.is_finished() {
                // The receiver then ends its side; until it has, it may ask again for the end.
                self.end_connections();
                if self.is_known_complete {
                    return StreamEnd::Complete;
                }
            }
            if let Some(error) = self.take_error() {
                self.refuse(refusal_of(&error));
                return StreamEnd::Source(error);
            }
            let wants_packet = self.machine.wants_packet() && !self.machine.has_waiting();
            let orphaned = self.orphaned.unwrap_or_else(Instant::now);
            let last = self
                .failed
                .as_ref()
                .map_or_else(Instant::now, |(_, last)| *last);
            tokio::select! {
                event = events.recv() => match event {
                    Some(StreamEvent::Leaving) => return StreamEnd::Left,
                    Some(event) => self.handle_event(event),
                    None => return StreamEnd::Orphaned,
                },
                packet = next(&mut self.source, wants_packet),
                    if self.total.is_none() && self.failed.is_none() =>
                {
                    match packet {
                        Ok(Some(packet)) => {
                            self.taken += 1;
                            self.wake(SenderInput::Packet(packet));
                        }
                        Ok(None) => self.end(),
                        Err(error) => self.fail(error),
                    }
                }
                () = sleep_until(last), if self.failed.is_some() => {}
                () = sleep_until(orphaned), if self.orphaned.is_some() => {
                    if self.is_finished() {
                        return StreamEnd::Complete;
                    }
                    return StreamEnd::Orphaned;
                }
            }
        }
    }

    /// Notes the end of the source: what was taken from it before still arrives, but for a receiver
    /// that is too slow.
    fn fail(&mut self, error: SourceError) {
        let last = match error {
            SourceError::TooSlow | SourceError::Cut => Instant::now(),
            _ => Instant::now() + LAST,
        };
        self.failed = Some((error, last));
    }

    /// The error of the source, once the receiver has what came before, or has had time for it.
    fn take_error(&mut self) -> Option<SourceError> {
        let is_due = |last: Instant| self.machine.is_finished() || last <= Instant::now();
        self.failed
            .take_if(|(_, last)| is_due(*last))
            .map(|(error, _)| error)
    }

    /// Whether the receiver has all packets.
    fn is_finished(&self) -> bool {
        self.total.is_some() && self.machine.is_finished()
    }

    /// Sends no more on any connection.
    fn end_connections(&mut self) {
        for connection in self.connections.values_mut() {
            connection.messages = None;
        }
    }

    fn handle_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Attached {
                connection,
                received,
                messages,
                stop,
            } => {
                let attached = Connection {
                    messages: Some(messages),
                    queued: 0,
                    stop,
                };
                self.attach(connection, received, attached);
            }
            StreamEvent::Progress {
                connection,
                progress,
            } => {
                if self.connections.contains_key(&connection) {
                    let packets = progress.credit;
                    self.wake(SenderInput::Credit {
                        connection,
                        packets,
                    });
                }
                let packets = progress.received;
                self.wake(SenderInput::Received { packets });
            }
            StreamEvent::Closing(connection) => {
                if let Some(closing) = self.connections.get_mut(&connection) {
                    closing.messages = None;
                    self.wake(SenderInput::Closing(connection));
                }
            }
            StreamEvent::Failed(connection) => self.detach(connection, false),
            // It ends the stream.
            StreamEvent::Leaving => {}
            StreamEvent::Written(connection) => {
                if let Some(written) = self.connections.get_mut(&connection) {
                    written.queued = written.queued.saturating_sub(1);
                    self.set_writable(connection);
                }
            }
            StreamEvent::Ended {
                connection,
                in_order,
            } => self.detach(connection, in_order),
        }
    }

    fn attach(&mut self, connection: u32, received: u64, attached: Connection) {
        self.orphaned = None;
        let source = self.identity;
        attached.send(SenderMessage::Welcome { source });
        if let Some(packets) = self.total {
            attached.send(SenderMessage::End { packets });
        }
        self.connections.insert(connection, attached);
        self.wake(SenderInput::Received { packets: received });
        // Nothing before the receiver permits it.
        let packets = 0;
        self.wake(SenderInput::Credit {
            connection,
            packets,
        });
        self.set_writable(connection);
    }

    fn detach(&mut self, connection: u32, in_order: bool) {
        let Some(ended) = self.connections.remove(&connection) else {
            return;
        };
        // It goes nowhere if the connection ended by itself.
        let _ = ended.stop.send(());
        self.is_known_complete |= in_order && self.is_finished();
        let has_delivered = in_order && ended.messages.is_none();
        self.wake(if has_delivered {
            SenderInput::Finished(connection)
        } else {
            SenderInput::Failed(connection)
        });
        if self.connections.is_empty() {
            self.orphaned = Some(Instant::now() + ORPHANED);
        }
    }

    fn set_writable(&mut self, connection: u32) {
        let Some(known) = self.connections.get(&connection) else {
            return;
        };
        let room = QUEUE.saturating_sub(known.queued);
        self.wake(SenderInput::Writable { connection, room });
    }

    fn wake(&mut self, input: SenderInput<Bytes>) {
        let connections = &mut self.connections;
        // The machine has no timers and does not use the time.
        self.machine
            .handle_input(Time::ZERO, input, &mut |output| send(connections, output));
    }

    fn end(&mut self) {
        let packets = self.taken;
        self.total = Some(packets);
        self.announce(&SenderMessage::End { packets });
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.announce(&SenderMessage::Refusal(refusal));
    }

    fn announce(&mut self, message: &FromSender) {
        for connection in self.connections.values() {
            connection.send(message.clone());
        }
    }
}

impl Connection {
    /// Queues a message. There is room for as many as the machine may send, and for those at the
    /// start and at the end; if the writer has ended, the end of the connection follows.
    fn send(&self, message: FromSender) {
        if let Some(messages) = &self.messages {
            let _ = messages.try_send(message);
        }
    }
}

/// The next packet, if one is wanted; otherwise only the error of a receiver whose next packet is
/// gone.
async fn next(source: &mut Position, wants_packet: bool) -> Result<Option<Bytes>, SourceError> {
    if wants_packet {
        return source.next().await;
    }
    Err(source.behind().await)
}

fn send(connections: &mut BTreeMap<u32, Connection>, output: SenderOutput<Bytes>) {
    let Some(used) = connections.get_mut(&output.connection) else {
        return;
    };
    used.queued += 1;
    let packet = SenderMessage::Packet {
        sequence: output.sequence,
        payload: output.packet,
    };
    used.send(packet);
}

fn refusal_of(error: &SourceError) -> Refusal {
    match error {
        SourceError::TooSlow => Refusal::TooSlow,
        SourceError::Stopped | SourceError::Cut => Refusal::Stopped,
        SourceError::Io(_) | SourceError::Truncated | SourceError::Failed => Refusal::Failed,
    }
}
