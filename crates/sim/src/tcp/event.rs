//! The outputs of TCP machines: segments to send, and events for an observer.

use polypath_core::time::Duration;

use super::segment::Segment;

/// An output of a TCP machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TcpOutput {
    /// Send this segment.
    Segment(Segment),
    /// An event; only an observed machine reports events.
    Event {
        /// The connection.
        connection: u32,
        /// The event.
        event: TcpEvent,
    },
}

/// An event of a sender or of its receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TcpEvent {
    /// The window changed; both values in segments, `cwnd` without the inflation of fast recovery.
    Window {
        /// The congestion window.
        cwnd: f64,
        /// The slow start threshold.
        ssthresh: f64,
    },
    /// Loss recovery started.
    RecoveryEntered {
        /// The method of loss recovery.
        kind: RecoveryKind,
        /// Recovery ends when all segments before this one are acknowledged, in Reno's fast
        /// recovery with the first new ACK; or with a timeout, which starts another recovery
        /// without an end of this one.
        until: u32,
    },
    /// Loss recovery ended.
    RecoveryLeft {
        /// The method of loss recovery.
        kind: RecoveryKind,
    },
    /// The retransmission timer expired.
    Timeout {
        /// The timeout after the back-off.
        next: Duration,
    },
    /// A round-trip time was measured.
    RttSample {
        /// The round-trip time.
        rtt: Duration,
        /// The resulting retransmission timeout.
        rto: Duration,
    },
    /// The window was reduced because the receiver echoed a congestion mark (RFC 3168).
    EcnReduction,
    /// The last segment of a file was acknowledged.
    FileFinished {
        /// Its size in bytes, in whole segments with their headers.
        size: u64,
        /// The time since its start, with its SYN or its first segment.
        took: Duration,
    },
    /// A whole receiver window has arrived in order, which takes at least one round trip.
    ReceiverRtt {
        /// The duration.
        rtt: Duration,
        /// The minimum of these durations in the connection: the receiver's estimate of the
        /// round-trip time.
        least: Duration,
    },
    /// The application of the receiver set its window, in segments; the next ACK carries it.
    ReceiverWindow {
        /// The new window.
        window: u32,
    },
}

/// The method of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryKind {
    /// Slow start after a fast retransmit (Tahoe).
    SlowStart,
    /// Fast recovery (RFC 5681, 6582, 6675).
    Fast,
    /// Slow start after a timeout (RFC 6298).
    Timeout,
}

impl TcpOutput {
    /// The segment, if the output is one.
    #[inline]
    #[must_use]
    pub const fn segment(self) -> Option<Segment> {
        match self {
            Self::Segment(segment) => Some(segment),
            Self::Event { .. } => None,
        }
    }
}

impl From<Segment> for TcpOutput {
    #[inline]
    fn from(segment: Segment) -> Self {
        Self::Segment(segment)
    }
}
