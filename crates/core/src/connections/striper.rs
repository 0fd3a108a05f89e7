//! Striping of packets over connections (the paper's 4.2.3).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::machine::{Deadline, Machine};
use crate::time::Time;

/// Assigns packets to connections in round-robin order, skipping blocked connections.
///
/// [`StriperInput::Writable`] sets the number of packets that a connection accepts before it is
/// blocked.
#[derive(Clone, Debug, Default)]
pub struct Striper {
    /// Sorted by number.
    connections: Vec<Connection>,
    /// The connection that received the last packet.
    last: Option<u32>,
    /// The sequence number of the last packet sent; 0 before the first.
    last_sequence: u64,
    /// The number of packets waiting to be sent.
    waiting: u64,
    /// The packets to be sent again, before those that wait.
    repeats: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    number: u32,
    room: u32,
}

/// An input of a striper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StriperInput {
    /// This many more packets are ready to be sent.
    Data(u64),
    /// The connection accepts `room` packets before it is blocked; 0 if it is blocked already. An
    /// unknown connection is added.
    Writable {
        /// The connection.
        connection: u32,
        /// The number of packets it accepts.
        room: u32,
    },
    /// The connection accepts no more packets.
    Closed(u32),
    /// This packet, which was sent, may be lost with its connection and is sent again.
    Repeat(u64),
    /// All packets up to this one have arrived: none of them is sent again.
    Arrived(u64),
}

/// The assignment of a packet to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StriperOutput {
    /// The connection.
    pub connection: u32,
    /// The sequence number of the packet in the stream, from 1.
    pub sequence: u64,
}

impl Striper {
    /// A striper whose first packet follows the packet `sequence`.
    #[must_use]
    pub fn after(sequence: u64) -> Self {
        Self {
            last_sequence: sequence,
            ..Self::default()
        }
    }

    /// The sequence number of the last packet that was assigned to a connection; 0 before the first.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.last_sequence
    }

    /// Whether packets wait for a connection.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0 || !self.repeats.is_empty()
    }

    /// Whether a connection accepts a packet.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.connections.iter().any(|known| known.room > 0)
    }

    fn set_writable(&mut self, connection: u32, room: u32) {
        match self.find(connection) {
            Ok(position) => self.connections[position].room = room,
            Err(position) => self.connections.insert(
                position,
                Connection {
                    number: connection,
                    room,
                },
            ),
        }
    }

    fn find(&self, connection: u32) -> Result<usize, usize> {
        self.connections
            .binary_search_by_key(&connection, |known| known.number)
    }

    /// The first connection that is not blocked, after the last one used.
    fn next_writable(&mut self) -> Option<&mut Connection> {
        let after = match self.last.map(|last| self.find(last)) {
            Some(Ok(position)) => position + 1,
            Some(Err(position)) => position,
            None => 0,
        };
        let count = self.connections.len();
        let free = |position: &usize| self.connections[position % count].room > 0;
        let position = (after..after + count).find(free)?;
        self.connections.get_mut(position % count)
    }

    fn send(&mut self, out: &mut impl FnMut(StriperOutput)) {
        while self.has_waiting() {
            let Some(next) = self.next_writable() else {
                return;
            };
            next.room -= 1;
            let connection = next.number;
            self.last = Some(connection);
            let sequence = self.next_sequence();
            out(StriperOutput {
                connection,
                sequence,
            });
        }
    }

    /// Takes the packet to be sent next.
    fn next_sequence(&mut self) -> u64 {
        self.repeats.pop_first().unwrap_or_else(|| {
            self.waiting -= 1;
            self.last_sequence += 1;
            self.last_sequence
        })
    }
}

impl Machine for Striper {
    type Input = StriperInput;
    type Output = StriperOutput;

    fn handle_input(&mut self, _: Time, input: StriperInput, out: &mut impl FnMut(StriperOutput)) {
        match input {
            StriperInput::Data(packets) => self.waiting = self.waiting.saturating_add(packets),
            StriperInput::Writable { connection, room } => self.set_writable(connection, room),
            StriperInput::Closed(connection) => {
                if let Ok(position) = self.find(connection) {
                    self.connections.remove(position);
                }
            }
            StriperInput::Repeat(sequence) => {
                if (1..=self.last_sequence).contains(&sequence) {
                    self.repeats.insert(sequence);
                }
            }
            StriperInput::Arrived(last) if !self.repeats.is_empty() => {
                self.repeats = self.repeats.split_off(&last.saturating_add(1));
            }
            StriperInput::Arrived(_) => {}
        }
        self.send(out);
    }

    fn handle_timeout(&mut self, _: Time, _: &mut impl FnMut(StriperOutput)) {}

    /// Always `None`: a striper has no timers.
    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
