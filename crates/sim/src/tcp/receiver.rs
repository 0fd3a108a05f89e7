//! The receiving side of a connection: ACKs and a buffer for what comes out of order.

mod ack_delay;
mod rtt;
mod selective;

use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::Ecn;
use polypath_core::time::{Duration, Time};

use super::config::TcpConfig;
use super::segment::{EcnFlags, Segment, SegmentKind};
use ack_delay::AckDelay;
use rtt::WindowTimer;
use selective::OutOfOrder;

/// Answers the data of the newest connection with cumulative ACKs, immediately or delayed, with
/// SACK blocks if the variant has them.
///
/// A segment of a newer connection replaces the current one; one of an older connection is
/// ignored.
#[derive(Clone, Debug)]
pub struct Receiver {
    connection: u32,
    ack_size: u32,
    /// Whether segment 0 is a SYN.
    syn: bool,
    /// The first segment that has not arrived.
    next: u32,
    window: AdvertisedWindow,
    out_of_order: OutOfOrder,
    delay: AckDelay,
    echo: EcnEcho,
    window_timer: WindowTimer,
    /// Duplicate segments received.
    spurious: u64,
}

/// The receiver window, whose right edge never moves back (RFC 9293, 3.8.6.2.1).
#[derive(Clone, Copy, Debug)]
struct AdvertisedWindow {
    /// The window that the application offers, in segments.
    wanted: u32,
    /// Whether the application wants no data beyond the advertised window.
    is_last: bool,
    /// The right edge of the window: one past the last segment that may be sent.
    edge: u32,
}

/// Whether ACKs carry ECN-Echo (RFC 3168, 6.1.3).
#[derive(Clone, Copy, Debug, Default)]
struct EcnEcho {
    capable: bool,
    marked: bool,
    /// The segments that arrived with a mark, over all connections.
    arrived: u64,
}

impl Receiver {
    /// A receiver before its first connection.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        let wanted = config.receiver_window.max(1);
        Self {
            connection: 0,
            ack_size: config.ack,
            syn: config.syn,
            next: 0,
            window: AdvertisedWindow {
                wanted,
                is_last: false,
                edge: wanted,
            },
            out_of_order: OutOfOrder::new(config.variant.selective()),
            delay: AckDelay::new(config.delayed_ack),
            echo: EcnEcho {
                capable: config.ecn,
                ..EcnEcho::default()
            },
            window_timer: WindowTimer::default(),
            spurious: 0,
        }
    }

    /// The connection whose data is being received; 0 before the first.
    #[must_use]
    pub const fn connection(&self) -> u32 {
        self.connection
    }

    /// The number of segments of the current connection received in order (`RCV.NXT`).
    #[must_use]
    pub const fn in_order(&self) -> u32 {
        self.next
    }

    /// The number of duplicate segments received, over all connections.
    #[must_use]
    pub const fn spurious(&self) -> u64 {
        self.spurious
    }

    /// The number of segments that arrived with a mark (CE, RFC 3168), over all connections; 0
    /// without ECN.
    #[must_use]
    pub const fn marks(&self) -> u64 {
        self.echo.arrived
    }

    /// The estimate of the round-trip time, once a window has been received.
    #[must_use]
    pub const fn rtt(&self) -> Option<Duration> {
        self.window_timer.rtt()
    }

    /// The number of receiver windows of the connection timed for that, and the start of the
    /// current one.
    #[must_use]
    pub const fn windows_timed(&self) -> (u32, Option<Time>) {
        self.window_timer.timed()
    }

    /// The receiver window that the application wants, in segments.
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.window.wanted
    }

    /// Sets the receiver window in segments, at least one. The next ACK carries it; a smaller
    /// window takes effect once the data advertised before has arrived.
    pub fn set_window(&mut self, segments: u32) {
        self.limit_window(segments.max(1));
    }

    /// Like that, but also 0, which closes the window after the advertised data until
    /// [`Self::reopen`].
    pub fn limit_window(&mut self, segments: u32) {
        self.window.wanted = segments;
    }

    /// The update of a closed window, if the application wants data again (RFC 9293,
    /// 3.8.6.2.2): there is no data whose ACK would carry it.
    pub fn reopen(&mut self) -> Option<Segment> {
        let is_shut = self.next >= self.window.edge && !self.window.is_last;
        (is_shut && self.window.wanted > 0).then(|| {
            self.delay.cancel();
            self.ack()
        })
    }

    /// Accepts no data beyond the advertised window: its right edge stays.
    pub fn close(&mut self) {
        self.window.wanted = 0;
        self.window.is_last = true;
    }

    /// Whether it accepts no more data, and all data within the advertised window has arrived.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.window.is_last && self.next >= self.window.edge
    }

    /// Expects the data of a connection that its sender has opened.
    ///
    /// Without a set-up the sender assumes the current window: data may arrive within it
    /// even if the application has reduced it since.
    pub fn expect(&mut self, connection: u32) {
        if !self.syn && connection > self.connection {
            self.open(connection);
        }
    }

    /// Starts connection `connection`.
    pub fn open(&mut self, connection: u32) {
        self.connection = connection;
        self.next = 0;
        self.window.edge = self.window.wanted;
        self.out_of_order.clear();
        self.delay.cancel();
        self.echo.marked = false;
        self.window_timer = WindowTimer::default();
    }

    /// The ACK for the data that has arrived so far.
    #[inline]
    pub fn ack(&mut self) -> Segment {
        self.window.edge = self.window.edge_after(self.next);
        let (sack, sack_size) = self.out_of_order.blocks(self.next);
        Segment {
            connection: self.connection,
            number: self.next,
            size: self.ack_size + sack_size,
            window: self.window.edge - self.next,
            sack,
            kind: if self.window.is_last {
                SegmentKind::LastAck
            } else {
                SegmentKind::Ack
            },
            ecn: Ecn::NotEct,
            ecn_flags: EcnFlags {
                echo: self.echo.marked,
                reduced: false,
            },
        }
    }

    /// Receives a segment; returns whether its ACK may be delayed: it is the next in order and
    /// fills no hole (RFC 5681, 4.2).
    fn accept(&mut self, number: u32) -> bool {
        if number < self.next {
            self.spurious += 1;
            return false;
        }
        if number >= self.window.edge {
            return false;
        }
        if number > self.next {
            let is_new = self.out_of_order.hold(number);
            self.spurious += u64::from(!is_new);
            return false;
        }
        self.next += 1;
        if self.out_of_order.is_empty() {
            return !(self.syn && number == 0);
        }
        self.next = self.out_of_order.release(self.next);
        false
    }
}

impl AdvertisedWindow {
    /// The right edge in an ACK of everything before `next`.
    #[inline]
    fn edge_after(self, next: u32) -> u32 {
        self.edge.max(next.saturating_add(self.wanted))
    }
}

impl EcnEcho {
    /// A segment with CWR ends the echo, unless it is marked itself.
    #[inline]
    fn take(&mut self, segment: &Segment) {
        if self.capable {
            self.marked &= !segment.ecn_flags.reduced;
            let is_marked = segment.ecn == Ecn::Ce;
            self.marked |= is_marked;
            self.arrived += u64::from(is_marked);
        }
    }
}

impl Machine for Receiver {
    type Input = Segment;
    type Output = Segment;

    #[inline]
    fn handle_input(&mut self, now: Time, segment: Segment, out: &mut impl FnMut(Segment)) {
        if segment.kind != SegmentKind::Data || segment.connection < self.connection {
            return;
        }
        if segment.connection > self.connection {
            self.open(segment.connection);
        }
        self.echo.take(&segment);
        let may_wait = self.accept(segment.number);
        let edge = self.window.edge_after(self.next);
        let new_edge = (edge > self.window.edge).then_some(edge);
        self.window_timer.advance(now, self.next, new_edge);
        if !self.delay.holds_back(now, may_wait) {
            out(self.ack());
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Segment)) {
        if self.delay.expires(now) {
            out(self.ack());
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.delay.deadline()
    }
}

#[cfg(test)]
mod tests;
