//! The server's end, and its driver.

use polypath_core::connections::wire::{Hello, ReceiverMessage, SenderMessage};
use polypath_core::connections::{
    ConnectionEnd, ConnectionNumbers, ServedInput, ServedOutput, ServedStream, StreamEnd,
};
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::{Duration, Time};

use super::connection::ServerSide;
use super::run::{Event, Notice, Run};
use super::{StreamMutant, StreamViolation};

/// The identity of the source, which is a file.
const SOURCE: u64 = 42;

/// The server, with the stream of the receiver if it serves it.
#[derive(Default)]
pub(super) struct Server {
    pub(super) stream: Option<ServedStream<u64>>,
    /// The number of the stream, in the order in which they began.
    number: u64,
    connections: ConnectionNumbers,
    /// The time since which no connection carries the stream, if none does.
    without_connections_since: Time,
    /// The number of packets taken from the source.
    taken: u64,
    has_ended_source: bool,
    /// Whether the source had no packet when one was wanted, and its next one is an event.
    awaits_source: bool,
}

impl Run<'_> {
    /// The server stops without notice: its connections are reset, and its streams are gone.
    pub(super) fn stop_server(&mut self) {
        self.server = Server {
            number: self.server.number,
            ..Server::default()
        };
        let numbers: Vec<u32> = self.connections.keys().copied().collect();
        for connection in numbers {
            if let Some(known) = self.connections.get_mut(&connection) {
                known.at_server = ServerSide::Gone;
                known.queue.clear();
            }
            let end = Notice::Carried(ConnectionEnd::Failed);
            self.at(self.now, Event::EndAtReceiver(connection, end));
        }
    }

    pub(super) fn on_hello(&mut self, failed: &[u32], hello: Hello) -> Result<(), StreamViolation> {
        let connection = hello.connection;
        let Some(known) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        let is_down = self.schedule.down_until(self.now).is_some();
        if known.is_silent_to_server || is_down || known.at_server != ServerSide::Expected {
            known.at_server = ServerSide::Gone;
            return Ok(());
        }
        for &failed in failed {
            self.on_named(failed)?;
        }
        if hello.received > 0 && hello.source != SOURCE {
            return Err(StreamViolation::UnknownSource(hello.source));
        }
        if self.server.stream.is_none() {
            self.start_stream(&hello);
        }
        let (limit, stream) = (self.schedule.limit, self.server.number);
        let Some(known) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        if let Err(refusal) = self.server.connections.add(connection, limit) {
            known.at_server = ServerSide::Refused;
            known.queue.push_back(SenderMessage::Refusal(refusal));
            self.pump(connection);
            return Ok(());
        }
        (known.at_server, known.stream) = (ServerSide::Attached, stream);
        self.serve(Wake::Input(ServedInput::Attached {
            connection,
            received: hello.received,
        }))
    }

    fn start_stream(&mut self, hello: &Hello) {
        self.server = Server {
            stream: Some(ServedStream::new(
                self.now,
                SOURCE,
                hello.buffer,
                hello.received,
            )),
            number: self.server.number + 1,
            taken: hello.received,
            without_connections_since: self.now,
            ..Server::default()
        };
        self.coverage.begun_late += u64::from(self.receiver.is_ending);
    }

    /// The receiver named a connection as failed.
    fn on_named(&mut self, connection: u32) -> Result<(), StreamViolation> {
        self.coverage.named += 1;
        if self.options.mutant == StreamMutant::IgnoresNames {
            return Ok(());
        }
        self.serve(Wake::Input(ServedInput::Failed(connection)))?;
        self.server.connections.remove(connection);
        Ok(())
    }

    pub(super) fn on_message_of_receiver(
        &mut self,
        connection: u32,
        message: ReceiverMessage,
    ) -> Result<(), StreamViolation> {
        let Some(known) = self.connections.get(&connection) else {
            return Ok(());
        };
        if known.is_silent_to_server || !known.is_at_server() {
            return Ok(());
        }
        let input = match message {
            ReceiverMessage::Progress(progress) => ServedInput::Progress {
                connection,
                progress,
            },
            ReceiverMessage::Closing => ServedInput::Closing(connection),
            ReceiverMessage::Leaving => ServedInput::Leaving,
            ReceiverMessage::Failed { connection, .. } => return self.on_named(connection),
            ReceiverMessage::Hello(_) | ReceiverMessage::Open { .. } => return Ok(()),
        };
        self.serve(Wake::Input(input))
    }

    pub(super) fn on_written(&mut self, connection: u32) -> Result<(), StreamViolation> {
        let known = self.connections.get(&connection);
        if known.is_some_and(super::connection::Connection::is_at_server) {
            if self.options.mutant == StreamMutant::WritesTwice {
                self.serve(Wake::Input(ServedInput::Written(connection)))?;
            }
            return self.serve(Wake::Input(ServedInput::Written(connection)));
        }
        Ok(())
    }

    pub(super) fn end_at_server(
        &mut self,
        connection: u32,
        in_order: bool,
    ) -> Result<(), StreamViolation> {
        let Some(known) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        let was_there = known.is_at_server();
        known.at_server = ServerSide::Gone;
        known.queue.clear();
        if !was_there
            || known.stream != self.server.number
            || self.options.mutant == StreamMutant::IgnoresEnds
        {
            return Ok(());
        }
        self.server.without_connections_since = self.now;
        // The other end learns of it, unless it has ended first.
        let arrives = self.now + self.schedule.delay;
        let end = Notice::Carried(ConnectionEnd::Failed);
        self.at(arrives, Event::EndAtReceiver(connection, end));
        self.server.connections.remove(connection);
        self.serve(Wake::Input(ServedInput::Ended {
            connection,
            in_order,
        }))
    }

    pub(super) fn wake_server(&mut self, due: Deadline) -> Result<(), StreamViolation> {
        self.serve(Wake::Timeout)?;
        let next = self.server.stream.as_ref().and_then(Machine::deadline);
        match next {
            Some(next) if next.at <= self.now => Err(StreamViolation::StuckDeadline(due.why)),
            _ => Ok(()),
        }
    }

    /// Wakes the stream, performs its outputs, and gives it the packets that it then wants.
    fn serve(&mut self, wake: Wake<ServedInput<u64>>) -> Result<(), StreamViolation> {
        self.wake_stream(wake)?;
        self.give_packets()
    }

    /// The source has its next packet.
    pub(super) fn on_source(&mut self) -> Result<(), StreamViolation> {
        self.server.awaits_source = false;
        self.give_packets()
    }

    fn give_packets(&mut self) -> Result<(), StreamViolation> {
        while let Some(stream) = &self.server.stream
            && (stream.wants_packet() || self.options.mutant == StreamMutant::TakesTooMuch)
            && !self.server.has_ended_source
        {
            let end = match self.options.mutant {
                StreamMutant::EndsEarly => self.schedule.packets / 2,
                _ => self.schedule.packets,
            };
            let next = self.schedule.source_gives(self.server.taken);
            if self.server.taken < end && next > self.now {
                if !stream.is_source_empty() {
                    self.wake_stream(Wake::Input(ServedInput::SourceEmpty))?;
                }
                if !std::mem::replace(&mut self.server.awaits_source, true) {
                    self.at(next, Event::Source);
                }
                break;
            }
            let input = if self.server.taken < end {
                self.server.taken += 1;
                ServedInput::Packet(self.server.taken)
            } else {
                self.server.has_ended_source = true;
                ServedInput::SourceEnded
            };
            self.wake_stream(Wake::Input(input))?;
        }
        let (Some(stream), capacity) = (&self.server.stream, self.schedule.buffer as usize) else {
            return Ok(());
        };
        let kept = stream.sender().kept();
        if kept > capacity {
            return Err(StreamViolation::OverCapacity { kept, capacity });
        }
        Ok(())
    }

    fn wake_stream(&mut self, wake: Wake<ServedInput<u64>>) -> Result<(), StreamViolation> {
        let mut outputs = Vec::new();
        if let Some(stream) = &mut self.server.stream {
            step(stream, self.now, wake, &mut |output| outputs.push(output));
        }
        outputs
            .into_iter()
            .try_for_each(|output| self.perform_server(output))
    }

    fn perform_server(&mut self, output: ServedOutput<u64>) -> Result<(), StreamViolation> {
        match output {
            ServedOutput::Send {
                connection,
                message,
            } => return self.send_to_receiver(connection, message),
            ServedOutput::Shutdown(connection) => self.shut_down(connection),
            ServedOutput::Stop(connection) => self.stop(connection),
            ServedOutput::End(end) => return self.end_stream(end),
        }
        Ok(())
    }

    fn send_to_receiver(
        &mut self,
        connection: u32,
        message: SenderMessage<u64>,
    ) -> Result<(), StreamViolation> {
        let Some(known) = self.connections.get_mut(&connection) else {
            return Ok(());
        };
        if known.at_server != ServerSide::Attached {
            return Ok(());
        }
        if let SenderMessage::Packet {
            is_application_limited,
            ..
        } = message
        {
            known.sent += 1;
            self.coverage.application_limited += u64::from(is_application_limited);
            if known.sent > known.permitted {
                return Err(StreamViolation::OverCredit {
                    connection,
                    sent: known.sent,
                    permitted: known.permitted,
                });
            }
        }
        known.queue.push_back(message);
        let (kept, capacity) = (known.queue.len(), ServedStream::<u64>::MESSAGES);
        if kept > capacity {
            return Err(StreamViolation::OverCapacity { kept, capacity });
        }
        self.pump(connection);
        Ok(())
    }

    fn shut_down(&mut self, connection: u32) {
        if let Some(known) = self.connections.get_mut(&connection)
            && known.at_server == ServerSide::Attached
        {
            known.at_server = ServerSide::ShuttingDown;
            self.pump(connection);
        }
    }

    /// The server ends a connection at once.
    fn stop(&mut self, connection: u32) {
        if let Some(known) = self.connections.get_mut(&connection)
            && known.is_at_server()
        {
            known.at_server = ServerSide::Gone;
            known.queue.clear();
            self.server.without_connections_since = self.now;
            let end = Notice::Carried(ConnectionEnd::Failed);
            let arrives = self.now + self.schedule.delay;
            self.at(arrives, Event::EndAtReceiver(connection, end));
        }
    }

    /// Whether a connection carries the stream.
    fn has_connections(&self) -> bool {
        let number = self.server.number;
        let mut all = self.connections.values();
        all.any(|known| known.is_at_server() && known.stream == number)
    }

    fn end_stream(&mut self, end: StreamEnd) -> Result<(), StreamViolation> {
        self.coverage.count_end(end);
        let has_all = self.receiver.delivered == self.schedule.packets;
        let is_wrong = match end {
            StreamEnd::Complete => !has_all,
            StreamEnd::Left => !self.receiver.is_ending,
            // Without connections for a minute.
            StreamEnd::Orphaned => {
                let waited = self.now.since(self.server.without_connections_since);
                self.has_connections() || waited < Duration::from_secs(60)
            }
            StreamEnd::Source => true,
        };
        if is_wrong {
            return Err(StreamViolation::WrongEnd(end, self.receiver.delivered));
        }
        self.server.stream = None;
        let numbers: Vec<u32> = self.connections.keys().copied().collect();
        for connection in numbers {
            self.shut_down(connection);
        }
        Ok(())
    }
}
