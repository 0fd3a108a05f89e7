//! How many packets to mark.

use super::{LinkWindow, Reading, Sign};

/// Marks in place of the losses of congestion that copies mask.
///
/// For each window that is a sign of congestion as many packets are marked as a link lost or marked on average, of those
/// that did not drop out: many flows hear of congestion as often as over one such link. What is less than a packet is kept for the
/// windows that follow; whole packets that nobody took are to be given up with [`Marks::settle`].
#[derive(Clone, Debug, Default)]
pub struct Marks {
    due: f64,
}

impl Marks {
    /// Takes a window and what a signature made of it.
    pub fn on_window(&mut self, reading: &Reading, links: &[LinkWindow]) {
        if reading.sign != Sign::Congestion {
            return;
        }
        let is_up = |link: &&LinkWindow| link.lost < link.sent;
        let up = links.iter().filter(is_up);
        let (lost, number) = up.fold((0, 0_u32), |(lost, number), link| {
            (lost + link.lost + link.marked, number + 1)
        });
        self.due += f64::from(lost) / f64::from(number.max(1));
    }

    /// Whether the next packet is to be marked; one that is no longer counts.
    pub fn take(&mut self) -> bool {
        let is_due = self.due >= 1.0;
        if is_due {
            self.due -= 1.0;
        }
        is_due
    }

    /// Forgets what is due beyond part of a packet: TCP halves its window once a round trip, however many packets are
    /// marked (RFC 3168, 6.1.2).
    pub fn settle(&mut self) {
        while self.take() {}
    }
}
