//! The network of a stream: what it does to connections.

use polypath_core::connections::wire::{Hello, SenderMessage};
use polypath_core::connections::{ConnectionEnd, OPEN_WITHIN};
use polypath_core::time::{Duration, Time};

use super::connection::{Connection, ServerSide};
use super::run::{Event, Notice, Run};

/// The time after which a receiver takes a connection for failed that carries nothing, and the
/// further time in which it notices.
pub(super) const RECEIVER_TIMEOUT: Duration = Duration::from_secs(10);
const RECEIVER_NOTICES: u64 = 2000;
/// The same of a server.
const SERVER_TIMEOUT: Duration = Duration::from_secs(120);
impl Run<'_> {
    /// A time of up to `milliseconds`.
    pub(super) fn draw_up_to(&mut self, milliseconds: u64) -> Duration {
        Duration::from_millis(self.stream.below(milliseconds.max(1)))
    }

    /// Resets a connection for both ends; what is on the way is lost.
    pub(super) fn reset(&mut self, connection: u32) {
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        known.is_silent_to_receiver = true;
        known.is_silent_to_server = true;
        let end = end_before(known, self.now);
        self.at(
            self.now,
            Event::EndAtReceiver(connection, Notice::Local(end)),
        );
        self.at(
            self.now,
            Event::EndAtServer(connection, Notice::Local(false)),
        );
    }

    /// Ends a connection in order for both ends, after what is on the way.
    pub(super) fn cut(&mut self, connection: u32) {
        let Some(known) = self.connections.get(&connection) else {
            return;
        };
        if known.at_server == ServerSide::Expected {
            return self.reset(connection);
        }
        let (to_receiver, to_server) = (known.last_to_receiver, known.last_to_server);
        // Of a connection that the receiver closes, what waits would be lost for good (docs/faults.md).
        let in_order = known.at_server == ServerSide::Attached || known.queue.is_empty();
        self.at(
            to_receiver,
            Event::EndAtReceiver(connection, Notice::Carried(ConnectionEnd::InOrder)),
        );
        self.at(
            to_server,
            Event::EndAtServer(connection, Notice::Carried(in_order)),
        );
    }

    /// A connection carries nothing any more to one end or to both.
    pub(super) fn silence(&mut self, connection: u32, to_server: bool, to_receiver: bool) {
        let noticed = self.draw_up_to(RECEIVER_NOTICES);
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        known.is_silent_to_server |= to_server;
        known.is_silent_to_receiver |= to_receiver;
        // Each end waits for acknowledgements, which need both directions.
        let end = end_before(known, self.now);
        let by_receiver = self.now + RECEIVER_TIMEOUT + noticed;
        let by_server = self.now + SERVER_TIMEOUT + noticed;
        self.at(
            by_receiver,
            Event::EndAtReceiver(connection, Notice::Local(end)),
        );
        self.at(
            by_server,
            Event::EndAtServer(connection, Notice::Local(false)),
        );
    }

    /// Opens a connection: its hello arrives, or the attempt fails.
    pub(super) fn open(&mut self, window: u32, failed: Vec<u32>, hello: Hello) {
        let connection = hello.connection;
        let delay = self.schedule.delay;
        let mut opened = self.now + delay * (2 * self.schedule.handshake);
        if self.schedule.opens_slowly(self.now) {
            opened += self.draw_up_to(15_000);
        }
        if let Some(until) = self.schedule.outage_until(self.now) {
            // The next repetition of the first segment.
            opened = opened.max(until + self.draw_up_to(3000));
        }
        let known = Connection::new(window, opened);
        self.connections.insert(connection, known);
        let is_down = self.schedule.down_until(self.now + delay).is_some();
        let is_late = opened > self.now + OPEN_WITHIN;
        if !is_down && !is_late {
            let arrives = self.arrival_at_server(connection, opened);
            return self.at(arrives, Event::Hello { failed, hello });
        }
        // The hello is not sent.
        if let Some(known) = self.connections.get_mut(&connection) {
            known.at_server = ServerSide::Gone;
        }
        let end = ConnectionEnd::Unsent;
        if is_down {
            let refused = Event::EndAtReceiver(connection, Notice::Carried(end));
            self.at(self.now + delay * 2, refused);
        } else {
            let late = Event::EndAtReceiver(connection, Notice::Local(end));
            self.at(self.now + OPEN_WITHIN, late);
        }
    }

    /// The arrival at the server of what is sent on a connection at `at`.
    pub(super) fn arrival_at_server(&mut self, connection: u32, at: Time) -> Time {
        let arrives = self.after_outage(at + self.schedule.delay);
        let Some(known) = self.connections.get_mut(&connection) else {
            return arrives;
        };
        known.last_to_server = known.last_to_server.max(arrives);
        known.last_to_server
    }

    /// The arrival at the receiver of a message of the server.
    fn arrival_at_receiver(&mut self, connection: u32, is_packet: bool) -> Time {
        if is_packet {
            self.link_until = self.link_until.max(self.now) + self.schedule.transmission;
        }
        let sent = self.link_until.max(self.now);
        let arrives = self.after_outage(sent + self.schedule.delay);
        let Some(known) = self.connections.get_mut(&connection) else {
            return arrives;
        };
        known.last_to_receiver = known.last_to_receiver.max(arrives);
        known.last_to_receiver
    }

    /// The arrival of what would arrive at `at`: what an outage swallows is repeated after it.
    fn after_outage(&mut self, at: Time) -> Time {
        match self.schedule.outage_until(at) {
            Some(until) => until + self.draw_up_to(1000),
            None => at,
        }
    }

    /// Sends what the socket of the server accepts, and then the end if nothing more follows.
    pub(super) fn pump(&mut self, connection: u32) {
        while let Some(known) = self.connections.get_mut(&connection)
            && known.sends()
            && let Some(message) = known.next_message()
        {
            let is_packet = matches!(message, SenderMessage::Packet { .. });
            let arrives = self.arrival_at_receiver(connection, is_packet);
            self.at(arrives, Event::ToReceiver(connection, message));
            if is_packet {
                self.at(self.now, Event::Written(connection));
            }
        }
        if let Some(known) = self.connections.get_mut(&connection)
            && let ServerSide::ShuttingDown | ServerSide::Refused = known.at_server
            && known.queue.is_empty()
        {
            known.at_server = match known.at_server {
                ServerSide::Refused => ServerSide::Gone,
                _ => ServerSide::ShutDown,
            };
            let arrives = self.arrival_at_receiver(connection, false);
            let end = Notice::Carried(ConnectionEnd::InOrder);
            self.at(arrives, Event::EndAtReceiver(connection, end));
        }
    }

    /// The round-trip time that the receiver measures: the queue of the link included.
    pub(super) fn rtt(&self) -> Duration {
        self.schedule.delay * 2
            + self.schedule.transmission
            + self.link_until.max(self.now).since(self.now)
    }
}

/// The end of a connection that fails at `at`.
fn end_before(connection: &Connection, at: Time) -> ConnectionEnd {
    if at < connection.is_connected_at {
        ConnectionEnd::Unsent
    } else {
        ConnectionEnd::Failed
    }
}
