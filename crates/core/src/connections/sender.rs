//! The sender of a stream, which keeps packets until the receiver has them.

use alloc::collections::{BTreeMap, VecDeque};

use super::striper::{Striper, StriperInput, StriperOutput};
use crate::machine::{Deadline, Machine};
use crate::time::Time;

/// Assigns the packets of a stream to connections ([`Striper`]), and assigns those of a connection
/// that ended to others, so that no packet is lost with its connection.
///
/// The receiver states how many packets it has received in order; the sender keeps the others, at
/// most as many as the receiver buffers ([`wants_packet`](Self::wants_packet)). So none is too far
/// ahead for the receiver: a packet that is sent again would never arrive behind one that the
/// receiver refuses to read before it. It may arrive twice, and is delivered once.
///
/// **Credit.** The receiver window of the kernel sets the rate of a connection (4.2). If the window
/// is too coarse for a wanted rate, the receiver limits the packets that a connection has carried
/// in all, which it raises as they arrive: the same number of packets is in flight as with a
/// window of that size, so throughput is again window over round-trip time.
#[derive(Clone, Debug)]
pub struct StreamSender<P> {
    striper: Striper,
    /// The packets that the receiver may lack, the first of which follows `received`.
    kept: VecDeque<P>,
    received: u64,
    capacity: usize,
    connections: BTreeMap<u32, Connection>,
    /// The packets of connections that ended in order, which the receiver should have: a device on the
    /// way may have ended them, and the receiver then names them as failed.
    finished: BTreeMap<u32, PendingPackets>,
    repeated: u64,
}

/// A connection that carries packets.
#[derive(Clone, Debug, Default)]
struct Connection {
    pending: PendingPackets,
    /// The number of packets sent on it.
    sent: u64,
    /// The number of packets that it may have carried in all, if the receiver limits it.
    credit: Option<u64>,
    /// The number of packets that its socket accepts.
    room: u32,
    /// Whether the receiver wants no further packets on it.
    is_closing: bool,
}

/// The packets that were sent on a connection and that the receiver may lack, in the order of sending.
#[derive(Clone, Debug, Default)]
struct PendingPackets(VecDeque<u64>);

impl PendingPackets {
    fn remove_received(&mut self, received: u64) {
        // A packet that was sent again follows later ones, and goes with them.
        while self.0.front().is_some_and(|first| *first <= received) {
            self.0.pop_front();
        }
    }
}

/// An input of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderInput<P> {
    /// The next packet of the stream; only if the sender [wants one](StreamSender::wants_packet).
    Packet(P),
    /// The socket of the connection accepts `room` packets. An unknown connection is added.
    Writable {
        /// The connection.
        connection: u32,
        /// The number of packets it accepts.
        room: u32,
    },
    /// The receiver permits `packets` packets on the connection in all. An unknown connection is
    /// added; a number below one that was stated before is ignored.
    Credit {
        /// The connection.
        connection: u32,
        /// The number of packets.
        packets: u64,
    },
    /// The receiver has received the first `packets` packets of the stream. A number of packets that
    /// were not sent is ignored.
    Received {
        /// The number of packets.
        packets: u64,
    },
    /// The receiver wants no further packets on the connection; those that it carries still arrive.
    Closing(u32),
    /// The connection has ended after its receiver read everything, as it seems.
    Finished(u32),
    /// The connection has failed, and what it carried may be lost; also if it had finished.
    Failed(u32),
}

/// A packet to be written to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderOutput<P> {
    /// The connection.
    pub connection: u32,
    /// The sequence number of the packet in the stream, from 1.
    pub sequence: u64,
    /// The packet.
    pub packet: P,
}

impl<P: Clone> StreamSender<P> {
    /// A sender that keeps up to `capacity` packets, at least 1 and at most as many as the receiver
    /// buffers. The receiver has received `received` packets, from an earlier sender.
    #[must_use]
    pub fn new(capacity: u32, received: u64) -> Self {
        Self {
            striper: Striper::after(received),
            kept: VecDeque::new(),
            received,
            capacity: usize::try_from(capacity.max(1)).unwrap_or(usize::MAX),
            connections: BTreeMap::new(),
            finished: BTreeMap::new(),
            repeated: 0,
        }
    }

    /// Whether there is room for another packet.
    #[must_use]
    pub fn wants_packet(&self) -> bool {
        self.kept.len() < self.capacity
    }

    /// Whether packets wait for a connection. A driver that takes the next one from its source only
    /// when none waits keeps what is in flight, and not as much as the receiver buffers.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        self.striper.has_waiting()
    }

    /// Whether a packet that came now would be sent at once.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.striper.has_room() && !self.has_waiting()
    }

    /// The number of packets that the receiver may lack, those that wait included.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The number of connections that ended in order, and whose packets may still be missing.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.finished.len()
    }

    /// Whether the receiver has received all packets.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.kept.is_empty()
    }

    /// The number of packets that the receiver has received in order.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The number of packets that were sent again since their connection ended.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    fn wake(&mut self, now: Time, input: StriperInput, out: &mut impl FnMut(SenderOutput<P>)) {
        let (kept, connections) = (&self.kept, &mut self.connections);
        let received = self.received;
        self.striper.handle_input(now, input, &mut |assigned| {
            let StriperOutput {
                connection,
                sequence,
            } = assigned;
            let packet = sequence
                .checked_sub(received + 1)
                .and_then(|offset| kept.get(usize::try_from(offset).ok()?));
            if let (Some(packet), Some(used)) = (packet, connections.get_mut(&connection)) {
                used.pending.0.push_back(sequence);
                used.sent += 1;
                used.room = used.room.saturating_sub(1);
                out(SenderOutput {
                    connection,
                    sequence,
                    packet: packet.clone(),
                });
            }
        });
    }

    /// Informs the striper of the room of a connection after `change`.
    fn update(
        &mut self,
        now: Time,
        connection: u32,
        change: impl FnOnce(&mut Connection),
        out: &mut impl FnMut(SenderOutput<P>),
    ) {
        let known = self.connections.entry(connection).or_default();
        change(known);
        let room = known.permitted();
        self.wake(now, StriperInput::Writable { connection, room }, out);
    }

    fn on_received(&mut self, now: Time, packets: u64, out: &mut impl FnMut(SenderOutput<P>)) {
        if packets <= self.received || packets > self.striper.sent() {
            return;
        }
        // Not more than are kept, since those that wait are kept, too.
        let count = usize::try_from(packets - self.received).unwrap_or(usize::MAX);
        self.kept.drain(..count.min(self.kept.len()));
        self.received = packets;
        for known in self.connections.values_mut() {
            known.pending.remove_received(packets);
        }
        self.finished.retain(|_, pending| {
            pending.remove_received(packets);
            !pending.0.is_empty()
        });
        self.wake(now, StriperInput::Arrived(packets), out);
    }

    fn on_failed(&mut self, now: Time, connection: u32, out: &mut impl FnMut(SenderOutput<P>)) {
        let known = self.connections.remove(&connection);
        let pending = known.map(|known| known.pending);
        let Some(pending) = pending.or_else(|| self.finished.remove(&connection)) else {
            return;
        };
        self.wake(now, StriperInput::Closed(connection), out);
        let received = self.received;
        for sequence in pending
            .0
            .into_iter()
            .filter(|sequence| *sequence > received)
        {
            self.repeated += 1;
            self.wake(now, StriperInput::Repeat(sequence), out);
        }
    }
}

impl Connection {
    /// The number of packets that its socket, its credit and its receiver permit.
    fn permitted(&self) -> u32 {
        if self.is_closing {
            return 0;
        }
        let credit = self
            .credit
            .map_or(u64::MAX, |credit| credit.saturating_sub(self.sent));
        u32::try_from(credit).unwrap_or(u32::MAX).min(self.room)
    }
}

impl<P: Clone> Machine for StreamSender<P> {
    type Input = SenderInput<P>;
    type Output = SenderOutput<P>;

    fn handle_input(
        &mut self,
        now: Time,
        input: SenderInput<P>,
        out: &mut impl FnMut(SenderOutput<P>),
    ) {
        match input {
            SenderInput::Packet(packet) => {
                self.kept.push_back(packet);
                self.wake(now, StriperInput::Data(1), out);
            }
            SenderInput::Writable { connection, room } => {
                self.update(now, connection, |known| known.room = room, out);
            }
            SenderInput::Credit {
                connection,
                packets,
            } => {
                let raise = |known: &mut Connection| known.credit = known.credit.max(Some(packets));
                self.update(now, connection, raise, out);
            }
            SenderInput::Received { packets } => self.on_received(now, packets, out),
            SenderInput::Closing(connection) => {
                self.update(now, connection, |known| known.is_closing = true, out);
            }
            SenderInput::Finished(connection) => {
                let known = self.connections.remove(&connection);
                // Each packet is on one of them, so that they have no more than are kept.
                if let Some(known) = known.filter(|known| !known.pending.0.is_empty()) {
                    self.finished.insert(connection, known.pending);
                }
                self.wake(now, StriperInput::Closed(connection), out);
            }
            SenderInput::Failed(connection) => self.on_failed(now, connection, out),
        }
    }

    fn handle_timeout(&mut self, _: Time, _: &mut impl FnMut(SenderOutput<P>)) {}

    /// Always `None`: a sender has no timers.
    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
