//! The sending side of a connection: Reno congestion control and retransmission.

use core::ops::{Add, AddAssign, Sub};

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::Time;

use super::TcpConfig;
use super::event::TcpOutput;
use super::rto::Rto;
use super::segment::{Segment, SegmentKind};
use super::window::Window;

/// Duplicate ACKs that stand for a loss (RFC 5681, 3.2).
const LOSS_THRESHOLD: u32 = 3;

/// What a sender has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

impl Add for SenderStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            retransmitted: self.retransmitted + other.retransmitted,
            timeouts: self.timeouts + other.timeouts,
        }
    }
}

impl AddAssign for SenderStats {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for SenderStats {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            sent: self.sent - earlier.sent,
            retransmitted: self.retransmitted - earlier.retransmitted,
            timeouts: self.timeouts - earlier.timeouts,
        }
    }
}

/// A segment that is being timed.
#[derive(Clone, Copy, Debug)]
struct Timing {
    number: u32,
    sent: Time,
}

/// Sends segments `0..total` of one connection; takes cumulative ACKs by [`SegmentKind::Ack`].
#[derive(Clone, Debug)]
pub struct Sender {
    connection: u32,
    config: TcpConfig,
    /// One past the last segment to send.
    total: u32,
    /// The first unacknowledged segment.
    una: u32,
    /// The next segment to send; behind `max` after a timeout.
    next: u32,
    /// One past the highest segment that was sent.
    max: u32,
    window: Window,
    recovery: Recovery,
    retransmission: Retransmission,
    stats: SenderStats,
}

#[derive(Clone, Copy, Debug, Default)]
struct Recovery {
    duplicates: u32,
    /// From a fast retransmit to the next new ACK or timeout.
    fast: bool,
    /// One past the highest segment that was sent when the window was last reduced: until all before it
    /// is acknowledged and more, a loss has been answered already.
    point: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Retransmission {
    rto: Rto,
    expires: Option<Time>,
    timing: Option<Timing>,
}

impl Sender {
    /// A sender that has sent nothing, and does nothing before it is started.
    #[must_use]
    pub fn new(connection: u32, total: u32, config: TcpConfig, rto: Rto) -> Self {
        Self {
            connection,
            config,
            total,
            una: 0,
            next: 0,
            max: 0,
            window: Window::new(&config),
            recovery: Recovery::default(),
            retransmission: Retransmission {
                rto,
                expires: None,
                timing: None,
            },
            stats: SenderStats::default(),
        }
    }

    /// Sends the initial window.
    pub fn start(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.send_window(now, out);
    }

    /// Sends nothing new any more: what was sent becomes the whole file.
    pub fn truncate(&mut self) {
        self.total = self.total.min(self.max);
    }

    /// True once every segment is acknowledged.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.una >= self.total
    }

    /// The first segment that is not acknowledged.
    #[must_use]
    pub const fn acknowledged(&self) -> u32 {
        self.una
    }

    /// The congestion window in segments.
    #[must_use]
    pub const fn congestion_window(&self) -> f64 {
        self.window.cwnd()
    }

    /// What it has done so far.
    #[must_use]
    pub const fn stats(&self) -> SenderStats {
        self.stats
    }

    fn take_new_ack(&mut self, now: Time, number: u32, out: &mut impl FnMut(TcpOutput)) {
        let acknowledged = self.una;
        self.window.deflate();
        self.recovery.duplicates = 0;
        self.recovery.fast = false;
        self.una = number;
        self.next = self.next.max(number);
        if let Some(timing) = self.retransmission.timing
            && number > timing.number
        {
            self.retransmission.timing = None;
            self.retransmission.rto.sample(timing.sent, now);
        }
        if self.config.syn && acknowledged == 0 {
            self.window.open(&self.config, self.stats.timeouts > 0);
        } else {
            self.window.grow();
        }
        self.restart_timer(now);
        self.send_window(now, out);
    }

    fn take_duplicate_ack(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.recovery.duplicates += 1;
        if self.recovery.duplicates < LOSS_THRESHOLD {
            if self.config.limited_transmit {
                self.send_beyond_window(now, out);
            }
            return;
        }
        if self.recovery.duplicates == LOSS_THRESHOLD {
            self.retransmit_fast(now, out);
        } else if self.recovery.fast {
            self.window.inflate(1);
        }
        self.send_window(now, out);
    }

    /// Fast retransmit (RFC 5681, 3.2), once for all losses of a window.
    fn retransmit_fast(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if self.recovery.point.is_some_and(|point| self.una <= point) {
            return;
        }
        self.recovery.point = Some(self.max);
        self.recovery.fast = true;
        self.window.halve();
        self.window.inflate(LOSS_THRESHOLD);
        self.retransmission.timing = None;
        self.retransmission.expires = Some(now + self.retransmission.rto.timeout());
        self.transmit(now, self.una, out);
    }

    /// Limited transmit (RFC 3042): one new segment for each of the first duplicate ACKs.
    fn send_beyond_window(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        let beyond = self
            .window
            .segments()
            .saturating_add(self.recovery.duplicates);
        let limit = self
            .una
            .saturating_add(beyond)
            .min(self.una.saturating_add(self.config.receiver_window));
        if self.next < limit && self.next < self.total {
            self.transmit(now, self.next, out);
            self.next += 1;
        }
    }

    fn send_window(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        let limit = self.una.saturating_add(self.window.segments());
        while self.next < limit.min(self.total) {
            self.transmit(now, self.next, out);
            self.next += 1;
        }
    }

    fn transmit(&mut self, now: Time, number: u32, out: &mut impl FnMut(TcpOutput)) {
        self.stats.sent += 1;
        if number < self.max {
            self.stats.retransmitted += 1;
        } else {
            self.max = number + 1;
            let timing = Timing { number, sent: now };
            self.retransmission.timing.get_or_insert(timing);
        }
        if self.retransmission.expires.is_none() {
            self.retransmission.expires = Some(now + self.retransmission.rto.timeout());
        }
        let size = match number {
            0 if self.config.syn => self.config.ack,
            _ => self.config.segment,
        };
        let segment = Segment::new(SegmentKind::Data, self.connection, number, size);
        out(TcpOutput::Segment(segment));
    }

    /// The timer runs while anything is unacknowledged (RFC 6298, 5.2 and 5.3).
    fn restart_timer(&mut self, now: Time) {
        let outstanding = self.una < self.max;
        self.retransmission.expires = outstanding.then(|| now + self.retransmission.rto.timeout());
    }

    /// Go-back-N from the first unacknowledged segment (RFC 6298, 5.4 to 5.6).
    fn expire(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.stats.timeouts += 1;
        self.recovery = Recovery {
            point: Some(self.max),
            ..Recovery::default()
        };
        self.window.restart();
        self.retransmission.timing = None;
        self.retransmission.rto.back_off();
        self.retransmission.expires = Some(now + self.retransmission.rto.timeout());
        self.next = self.una;
        self.send_window(now, out);
    }
}

impl Machine for Sender {
    type Input = Segment;
    type Output = TcpOutput;

    fn handle_input(&mut self, now: Time, ack: Segment, out: &mut impl FnMut(TcpOutput)) {
        let ours = ack.connection == self.connection && ack.kind == SegmentKind::Ack;
        if !ours || ack.number > self.max {
            return;
        }
        if ack.number > self.una {
            self.take_new_ack(now, ack.number, out);
        } else if ack.number == self.una && self.una < self.max {
            self.take_duplicate_ack(now, out);
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if self.retransmission.expires.is_some_and(|at| at <= now) {
            self.expire(now, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let at = self.retransmission.expires?;
        Some(Deadline {
            at,
            why: "retransmission timeout",
        })
    }
}

#[cfg(test)]
mod tests;
