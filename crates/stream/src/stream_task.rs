//! Drives the stream of one receiver at the server.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;

use bytes::Bytes;
use polypath_core::connections::wire::Refusal;
use polypath_core::connections::{ServedInput, ServedOutput, ServedStream, StreamEnd};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::Duration;
use polypath_live::clock::Clock;
use tokio::sync::{mpsc, oneshot};

use crate::channel::FromSender;
use crate::source::{Position, SourceError};

/// The messages of a connection that may wait.
pub(crate) const MESSAGES: usize = ServedStream::<Bytes>::MESSAGES;

/// An event of a stream.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// A connection carries the stream from now on.
    Attached {
        connection: u32,
        /// The number of packets that the receiver has.
        received: u64,
        queue: MessageQueue,
    },
    /// Any other.
    Input(ServedInput<Bytes>),
}

/// The way to the task that writes to a connection.
#[derive(Debug)]
pub(crate) struct MessageQueue {
    /// `None` once no more messages follow.
    messages: Option<mpsc::Sender<FromSender>>,
    /// Ends the connection at once.
    stop: oneshot::Sender<()>,
}

impl MessageQueue {
    pub(crate) fn new(messages: mpsc::Sender<FromSender>, stop: oneshot::Sender<()>) -> Self {
        Self {
            messages: Some(messages),
            stop,
        }
    }
}

/// The stream of one receiver, its source, and the queues of its connections.
pub(crate) struct StreamTask {
    stream: ServedStream<Bytes>,
    source: Position,
    /// The error of the source, once it has failed.
    error: Option<SourceError>,
    queues: BTreeMap<u32, MessageQueue>,
    clock: Clock,
    end: Option<StreamEnd>,
}

/// An event that a stream waits for.
enum Next {
    Event(StreamEvent),
    Source(Result<Option<Bytes>, SourceError>),
    Timeout,
}

/// The end of a stream, with the error of its source if that ended it.
pub(crate) type StreamResult = Result<StreamEnd, SourceError>;

impl StreamTask {
    /// The stream of a receiver that buffers `buffer` packets, and has the first `received`.
    pub(crate) fn new(source: Position, identity: u64, buffer: u32, received: u64) -> Self {
        let clock = Clock::starting_now();
        Self {
            stream: ServedStream::new(clock.now(), identity, buffer, received),
            source,
            error: None,
            queues: BTreeMap::new(),
            clock,
            end: None,
        }
    }

    /// Serves the stream to its end; the events of all its connections come from `events`.
    pub(crate) async fn serve(mut self, mut events: mpsc::Receiver<StreamEvent>) -> StreamResult {
        loop {
            if let Some(end) = self.end {
                let error = self.error.filter(|_| end == StreamEnd::Source);
                return error.map_or(Ok(end), Err);
            }
            let wants_packet = self.stream.wants_packet();
            let deadline = self.stream.deadline();
            let now = self.clock.now();
            let wait = deadline.map_or(Duration::ZERO, |due| due.at.max(now).since(now));
            let mut is_empty = false;
            let next = tokio::select! {
                event = events.recv() => match event {
                    Some(event) => Next::Event(event),
                    None => return Ok(StreamEnd::Orphaned),
                },
                packet = next(&mut self.source, wants_packet, &mut is_empty),
                    if self.stream.has_source() => Next::Source(packet),
                () = tokio::time::sleep(wait.into()), if deadline.is_some() => Next::Timeout,
            };
            if is_empty && !self.stream.is_source_empty() {
                self.wake(Wake::Input(ServedInput::SourceEmpty));
            }
            match next {
                Next::Event(event) => self.handle_event(event),
                Next::Source(packet) => self.handle_source(packet),
                Next::Timeout => self.wake(Wake::Timeout),
            }
        }
    }

    fn handle_event(&mut self, event: StreamEvent) {
        let input = match event {
            StreamEvent::Attached {
                connection,
                received,
                queue,
            } => {
                self.queues.insert(connection, queue);
                ServedInput::Attached {
                    connection,
                    received,
                }
            }
            StreamEvent::Input(input) => input,
        };
        self.wake(Wake::Input(input));
    }

    fn handle_source(&mut self, packet: Result<Option<Bytes>, SourceError>) {
        let input = match packet {
            Ok(Some(packet)) => ServedInput::Packet(packet),
            Ok(None) => ServedInput::SourceEnded,
            Err(error) => {
                let refusal = refusal_of(&error);
                // A receiver that is too slow would not take it.
                let waits = !matches!(error, SourceError::TooSlow | SourceError::Cut);
                self.error = Some(error);
                ServedInput::SourceFailed { refusal, waits }
            }
        };
        self.wake(Wake::Input(input));
    }

    fn wake(&mut self, wake: Wake<ServedInput<Bytes>>) {
        let (queues, end) = (&mut self.queues, &mut self.end);
        step(&mut self.stream, self.clock.now(), wake, &mut |output| {
            match output {
                ServedOutput::Send {
                    connection,
                    message,
                } => {
                    // There is room; if the writer has ended, the end of the connection follows.
                    if let Some(queue) = queues.get(&connection)
                        && let Some(messages) = &queue.messages
                    {
                        let _ = messages.try_send(message);
                    }
                }
                ServedOutput::Shutdown(connection) => {
                    if let Some(queue) = queues.get_mut(&connection) {
                        queue.messages = None;
                    }
                }
                ServedOutput::Stop(connection) => {
                    if let Some(queue) = queues.remove(&connection) {
                        // It goes nowhere if the connection ended by itself.
                        let _ = queue.stop.send(());
                    }
                }
                ServedOutput::End(reason) => *end = Some(reason),
            }
        });
    }
}

/// The next packet, if one is wanted; otherwise only the error of a receiver whose next packet is
/// gone. Sets `is_empty` if the source had no packet when it was wanted.
async fn next(
    source: &mut Position,
    wants_packet: bool,
    is_empty: &mut bool,
) -> Result<Option<Bytes>, SourceError> {
    if !wants_packet {
        return Err(source.behind().await);
    }
    let mut packet = pin!(source.next());
    poll_fn(|context| {
        let polled = packet.as_mut().poll(context);
        *is_empty |= polled.is_pending();
        polled
    })
    .await
}

fn refusal_of(error: &SourceError) -> Refusal {
    match error {
        SourceError::TooSlow => Refusal::TooSlow,
        SourceError::Stopped | SourceError::Cut => Refusal::Stopped,
        SourceError::Io(_) | SourceError::Truncated | SourceError::Failed => Refusal::Failed,
    }
}
