//! The receiving side of a connection: cumulative ACKs and a buffer for what comes out of order.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::Time;

use super::segment::{Segment, SegmentKind};

/// Answers every data segment of the newest connection with a cumulative ACK.
///
/// A segment of a connection newer than the present one begins anew; one of an older connection is
/// ignored.
#[derive(Clone, Debug)]
pub struct Receiver {
    connection: u32,
    ack_size: u32,
    /// The first segment that has not arrived.
    next: u32,
    window: u32,
    /// One flag for each segment of the window, by its number modulo the length, a power of two: arrived out
    /// of order.
    held: Box<[bool]>,
}

impl Receiver {
    /// A receiver that buffers `window` segments and whose ACKs have `ack_size` bytes.
    #[must_use]
    pub fn new(window: u32, ack_size: u32) -> Self {
        Self {
            connection: 0,
            ack_size,
            next: 0,
            window: window.max(1),
            held: vec![false; window.max(1).next_power_of_two() as usize].into_boxed_slice(),
        }
    }

    /// The connection whose data is being received; 0 before the first.
    #[must_use]
    pub const fn connection(&self) -> u32 {
        self.connection
    }

    /// How many segments of the present connection have arrived in order.
    #[must_use]
    pub const fn in_order(&self) -> u32 {
        self.next
    }

    /// Begins with connection `connection` anew.
    pub fn open(&mut self, connection: u32) {
        self.connection = connection;
        self.next = 0;
        self.held.fill(false);
    }

    /// The ACK for what has arrived in order so far.
    #[must_use]
    pub const fn ack(&self) -> Segment {
        Segment {
            connection: self.connection,
            number: self.next,
            size: self.ack_size,
            kind: SegmentKind::Ack,
        }
    }

    fn accept(&mut self, number: u32) {
        if number < self.next || number - self.next >= self.window {
            return;
        }
        let mask = self.held.len() - 1;
        self.held[number as usize & mask] = true;
        while std::mem::take(&mut self.held[self.next as usize & mask]) {
            self.next += 1;
        }
    }
}

impl Machine for Receiver {
    type Input = Segment;
    type Output = Segment;

    fn handle_input(&mut self, _now: Time, segment: Segment, out: &mut impl FnMut(Segment)) {
        if segment.kind != SegmentKind::Data || segment.connection < self.connection {
            return;
        }
        if segment.connection > self.connection {
            self.open(segment.connection);
        }
        self.accept(segment.number);
        out(self.ack());
    }

    fn handle_timeout(&mut self, _now: Time, _out: &mut impl FnMut(Segment)) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn acks(numbers: &[u32]) -> Vec<u32> {
        let mut receiver = Receiver::new(8, 40);
        let mut acks = Vec::new();
        for &number in numbers {
            let data = Segment {
                connection: 1,
                number,
                size: 1000,
                kind: SegmentKind::Data,
            };
            receiver.handle_input(Time::ZERO, data, &mut |ack| acks.push(ack.number));
        }
        acks
    }

    #[test]
    fn acknowledges_cumulatively() {
        assert_eq!(acks(&[0, 2, 3, 1, 1, 5, 4]), [1, 1, 1, 4, 4, 4, 6]);
        assert_eq!(acks(&[8, 7, 0]), [0, 0, 1], "beyond the window is not held");
    }

    proptest! {
        #[test]
        fn any_order_within_the_window_ends_complete(
            order in Just((0_u32..8).collect::<Vec<_>>()).prop_shuffle()
        ) {
            let acks = acks(&order);
            prop_assert!(acks.is_sorted());
            prop_assert_eq!(acks.last(), Some(&8));
        }
    }
}
