//! Which connection carries the next packet (the paper's 4.2.3).

use alloc::vec::Vec;

use crate::machine::{Deadline, Machine};
use crate::time::Time;

/// Hands packets to connections in order, in turn: the next one goes to the first connection after the last that is not
/// blocked.
///
/// A connection is not blocked as long as it has room: it says for how many packets with [`StriperInput::Writable`].
#[derive(Clone, Debug, Default)]
pub struct Striper {
    /// By their numbers.
    connections: Vec<Connection>,
    /// The connection that got a packet last.
    last: Option<u32>,
    /// The number of the next packet, from 1.
    next: u64,
    /// Packets that are there to be sent.
    waiting: u64,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    number: u32,
    room: u32,
}

/// What arrives at a striper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StriperInput {
    /// So many more packets are there to be sent.
    Data(u64),
    /// The connection takes `room` packets now, and is blocked after them; 0 if it is blocked at once. One that is not known
    /// yet is new.
    Writable {
        /// The connection.
        connection: u32,
        /// How many it takes.
        room: u32,
    },
    /// The connection takes no more.
    Closed(u32),
}

/// What it says: send this packet over this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StriperOutput {
    /// The connection.
    pub connection: u32,
    /// The number of the packet in the stream, from 1.
    pub sequence: u64,
}

impl Striper {
    /// The number of packets that were handed to connections.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.next
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

    /// The first lane after that of the last packet that is not blocked.
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
        while self.waiting > 0 {
            let Some(next) = self.next_writable() else {
                return;
            };
            next.room -= 1;
            let connection = next.number;
            self.last = Some(connection);
            self.waiting -= 1;
            self.next += 1;
            out(StriperOutput {
                connection,
                sequence: self.next,
            });
        }
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
        }
        self.send(out);
    }

    fn handle_timeout(&mut self, _: Time, _: &mut impl FnMut(StriperOutput)) {}

    /// It does nothing by itself.
    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
