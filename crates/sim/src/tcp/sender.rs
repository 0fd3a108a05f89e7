//! The sending side of a connection.

mod cumulative;
mod delivery;
mod recovery;
mod retransmission;
mod selective;
mod transmission;

use derive_more::{Add, AddAssign, Sub, Sum};
use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::Time;

use super::config::TcpConfig;
use super::event::{TcpEvent, TcpOutput};
use super::overhead::Overhead;
use super::rto::Rto;
use super::segment::{Segment, SegmentKind};
use super::window::Window;
use delivery::Delivery;
use polypath_scenario::TcpVariant as Variant;
use recovery::Recovery;
use retransmission::Retransmission;

/// The totals of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, AddAssign, Sub, Sum)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

/// Sends segments `0..total` of one connection; receives ACKs by [`SegmentKind::Ack`].
#[derive(Clone, Debug)]
pub struct Sender {
    connection: u32,
    options: Options,
    sequence: Sequence,
    window: Window,
    recovery: Recovery,
    retransmission: Retransmission,
    /// Whether the next new segment has CWR (RFC 3168, 6.1.2).
    signals_reduction: bool,
    overhead: Option<Box<Overhead>>,
    /// The delivery rate and the pacing, if the variant needs them.
    delivery: Option<Box<Delivery>>,
    stats: SenderStats,
    observed: bool,
    /// Whether the application always has more data.
    is_fed: bool,
}

/// The part of a [`TcpConfig`] that a sender reads while it runs: a third, so that thousands of
/// senders touch less memory.
#[derive(Clone, Copy, Debug)]
struct Options {
    segment: u32,
    ack: u32,
    initial_window: u32,
    variant: Variant,
    limited_transmit: bool,
    syn: bool,
    ecn: bool,
}

impl Options {
    const fn of(config: &TcpConfig) -> Self {
        Self {
            segment: config.segment,
            ack: config.ack,
            initial_window: config.initial_window,
            variant: config.variant,
            limited_transmit: config.limited_transmit,
            syn: config.syn,
            ecn: config.ecn,
        }
    }
}

/// The send sequence variables (RFC 9293, 3.3.1), in segments.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// The first unacknowledged segment.
    una: u32,
    /// The next segment to send; less than `max` after a timeout.
    next: u32,
    /// One past the highest segment that was sent.
    max: u32,
    /// One past the last segment to send.
    total: u32,
    /// One past the last segment that the receiver window permits.
    edge: u32,
}

impl Sender {
    /// The length of an endless file.
    pub const ENDLESS: u32 = u32::MAX;

    /// A sender that sends nothing until it is started.
    #[must_use]
    pub fn new(connection: u32, total: u32, config: TcpConfig, rto: Rto) -> Self {
        Self {
            connection,
            options: Options::of(&config),
            sequence: Sequence {
                una: 0,
                next: 0,
                max: 0,
                total,
                // After a SYN nothing else may be sent until its ACK carries the window.
                edge: if config.syn {
                    1
                } else {
                    config.receiver_window.max(1)
                },
            },
            window: Window::new(&config),
            recovery: Recovery::new(config.variant),
            retransmission: Retransmission::new(rto),
            signals_reduction: false,
            overhead: None,
            delivery: (config.variant == Variant::Bbr).then(Box::default),
            stats: SenderStats::default(),
            observed: false,
            is_fed: false,
        }
    }

    /// Leaves room for new data to an application that [extends](Self::extend) the stream,
    /// instead of retransmitting segments that may not be lost (RFC 6675, `NextSeg`, rule 3).
    #[must_use]
    pub fn fed(mut self) -> Self {
        self.is_fed = true;
        self
    }

    /// Adds a random processing time before each transmission, unless the sender paces them.
    #[must_use]
    pub fn with_overhead(mut self, overhead: Overhead) -> Self {
        self.overhead = Some(Box::new(overhead));
        self
    }

    /// Starts or stops reporting events, which cost nothing if not reported.
    pub fn observe(&mut self, observed: bool) {
        self.observed = observed;
    }

    /// Sends the initial window.
    pub fn start(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.report_window(out);
        self.send_more(now, u32::MAX, out);
    }

    /// Stops sending new data: the data sent so far becomes the whole file.
    pub fn truncate(&mut self) {
        self.sequence.total = self.sequence.total.min(self.sequence.max);
    }

    /// One past the last segment to send.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.sequence.total
    }

    /// Whether every segment is acknowledged.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.sequence.una >= self.sequence.total
    }

    /// The first segment that is not acknowledged.
    #[must_use]
    pub const fn acknowledged(&self) -> u32 {
        self.sequence.una
    }

    /// The congestion window in segments.
    #[must_use]
    pub const fn congestion_window(&self) -> f64 {
        self.window.cwnd()
    }

    /// The totals so far.
    #[must_use]
    pub const fn stats(&self) -> SenderStats {
        self.stats
    }

    #[inline]
    fn take_ack(&mut self, now: Time, ack: &Segment, out: &mut impl FnMut(TcpOutput)) {
        let edge = ack.number.saturating_add(ack.window);
        let updates_window = edge > self.sequence.edge;
        self.sequence.edge = self.sequence.edge.max(edge);
        if ack.ecn_flags.echo {
            self.take_echo(ack.number, out);
        }
        if self.recovery.scoreboard.is_some() {
            self.take_selective(now, ack, out);
        } else if ack.number > self.sequence.una {
            self.take_new_ack(now, ack, out);
        } else if self.sequence.una < self.sequence.max && !updates_window {
            self.take_duplicate_ack(now, out);
        } else if updates_window {
            self.send_more(now, u32::MAX, out);
        }
    }

    /// Handles an echoed mark: the window is reduced once for all marks and losses of a window
    /// (RFC 3168, 6.1.2).
    fn take_echo(&mut self, number: u32, out: &mut impl FnMut(TcpOutput)) {
        if !self.options.ecn || self.recovery.point.is_some_and(|point| number <= point) {
            return;
        }
        // An ACK beyond the point ends a recovery: a mark must neither move the point of a recovery
        // that continues, nor treat its inflation as window.
        self.leave_recovery(out);
        self.window.reduce(self.in_use(number));
        self.recovery.answer_mark(self.sequence.max);
        self.signals_reduction = true;
        self.report(TcpEvent::EcnReduction, out);
    }

    /// The permitted number of segments in flight, if all before `acknowledged` have arrived.
    fn in_use(&self, acknowledged: u32) -> f64 {
        let inflated = self.window.cwnd() + f64::from(self.recovery.inflation);
        inflated.min(f64::from(self.sequence.edge - acknowledged))
    }

    /// Handles the expiry of the retransmission timer (RFC 6298, 5.4 to 5.6): go-back-N from the
    /// first unacknowledged segment, skipping segments known to have arrived.
    fn expire(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        self.stats.timeouts += 1;
        self.recovery.inflation = 0;
        self.window.restart(self.in_use(self.sequence.una));
        self.signals_reduction = self.options.ecn;
        self.retransmission.back_off(now);
        let next = self.retransmission.rto.timeout();
        self.report(TcpEvent::Timeout { next }, out);
        let entered = self.recovery.begin_timeout(self.sequence.max);
        self.report(entered, out);
        self.sequence.next = self.sequence.una;
        self.send_more(now, u32::MAX, out);
    }

    #[inline]
    fn report(&self, event: TcpEvent, out: &mut impl FnMut(TcpOutput)) {
        if self.observed {
            out(TcpOutput::Event {
                connection: self.connection,
                event,
            });
        }
    }

    fn report_window(&self, out: &mut impl FnMut(TcpOutput)) {
        let event = TcpEvent::Window {
            cwnd: self.window.cwnd(),
            ssthresh: self.window.ssthresh(),
        };
        self.report(event, out);
    }
}

impl Machine for Sender {
    type Input = Segment;
    type Output = TcpOutput;

    #[inline]
    fn handle_input(&mut self, now: Time, ack: Segment, out: &mut impl FnMut(TcpOutput)) {
        let ours = ack.connection == self.connection && SegmentKind::is_ack(ack.kind);
        if !ours || ack.number > self.sequence.max || ack.number < self.sequence.una {
            return;
        }
        let before = (self.window.cwnd(), self.window.ssthresh());
        self.take_ack(now, &ack, out);
        if self.observed && before != (self.window.cwnd(), self.window.ssthresh()) {
            self.report_window(out);
        }
    }

    /// The retransmission timer first, then delayed and paced transmissions.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        if self.retransmission.expires.is_some_and(|at| at <= now) {
            self.expire(now, out);
            self.report_window(out);
        }
        if let Some(overhead) = &mut self.overhead
            && overhead.expires(now)
        {
            self.send_allowed(now, u32::MAX, out);
        }
        if let Some(delivery) = &mut self.delivery
            && delivery.take_expired(now)
        {
            self.send_paced(now, out);
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        let retransmission = self.retransmission.expires.map(|at| Deadline {
            at,
            why: "retransmission timeout",
        });
        if self.overhead.is_none() && self.delivery.is_none() {
            return retransmission;
        }
        let pending = self
            .overhead
            .as_ref()
            .and_then(|overhead| overhead.pending());
        let overhead = pending.map(|at| Deadline {
            at,
            why: "send overhead",
        });
        let pending = self
            .delivery
            .as_ref()
            .and_then(|delivery| delivery.pending());
        let pacing = pending.map(|at| Deadline { at, why: "pacing" });
        Deadline::earlier(retransmission, Deadline::earlier(overhead, pacing))
    }
}

#[cfg(test)]
mod tests;
