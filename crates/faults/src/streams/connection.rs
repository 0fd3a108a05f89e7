//! A TCP connection between both ends, as far as the ends can tell.

use std::collections::VecDeque;

use polypath_core::connections::wire::SenderMessage;
use polypath_core::time::Time;

/// The packets that a socket accepts beyond the window of the receiver: about 8 kB.
const UNSENT: u32 = 6;

/// A connection, from the attempt to open it until both ends have forgotten it.
#[derive(Debug)]
pub(super) struct Connection {
    /// Whether the receiver has it.
    pub(super) at_receiver: bool,
    pub(super) at_server: ServerSide,
    /// The number of the stream that the server carries on it.
    pub(super) stream: u64,
    /// The time from which the receiver's messages are sent, the hello first.
    pub(super) is_connected_at: Time,
    /// Whether nothing arrives at the receiver any more.
    pub(super) is_silent_to_receiver: bool,
    /// Whether nothing arrives at the server any more.
    pub(super) is_silent_to_server: bool,
    /// The arrival of the last message to each end: none overtakes another.
    pub(super) last_to_receiver: Time,
    pub(super) last_to_server: Time,
    /// The receiver's window in packets.
    pub(super) window: u32,
    /// The packets that are on the way or not yet acknowledged.
    pub(super) in_flight: u32,
    /// The server's messages that the socket has not accepted.
    pub(super) queue: VecDeque<SenderMessage<u64>>,
    /// The packets that the server sent, and those that the receiver had permitted.
    pub(super) sent: u64,
    pub(super) permitted: u64,
}

/// The state of a connection at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerSide {
    /// The hello has not arrived.
    Expected,
    /// It carries the stream.
    Attached,
    /// It carries the stream until its queue is empty, and then ends in order.
    ShuttingDown,
    /// Its last message is on the way.
    ShutDown,
    /// It is refused: the refusal is on the way, and nothing is read.
    Refused,
    /// It is forgotten.
    Gone,
}

impl Connection {
    pub(super) fn new(window: u32, is_connected_at: Time) -> Self {
        Self {
            at_receiver: true,
            at_server: ServerSide::Expected,
            stream: 0,
            is_connected_at,
            is_silent_to_receiver: false,
            is_silent_to_server: false,
            last_to_receiver: Time::ZERO,
            last_to_server: is_connected_at,
            window,
            in_flight: 0,
            queue: VecDeque::new(),
            sent: 0,
            permitted: 0,
        }
    }

    /// The next message that the socket accepts.
    pub(super) fn next_message(&mut self) -> Option<SenderMessage<u64>> {
        let is_packet =
            |message: &SenderMessage<u64>| matches!(message, SenderMessage::Packet { .. });
        let waits_for_room = self.in_flight >= self.window + UNSENT;
        let next = self.queue.front()?;
        if is_packet(next) && waits_for_room {
            return None;
        }
        let message = self.queue.pop_front()?;
        self.in_flight += u32::from(is_packet(&message));
        Some(message)
    }

    /// Whether the server carries a stream on it, or waits for its end.
    pub(super) fn is_at_server(&self) -> bool {
        matches!(
            self.at_server,
            ServerSide::Attached | ServerSide::ShuttingDown | ServerSide::ShutDown
        )
    }

    /// Whether the server sends on it.
    pub(super) fn sends(&self) -> bool {
        self.is_at_server() || self.at_server == ServerSide::Refused
    }

    /// Whether it may be forgotten.
    pub(super) fn is_over(&self) -> bool {
        !self.at_receiver && self.at_server == ServerSide::Gone
    }
}
