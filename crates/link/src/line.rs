//! The transmitter of a link, which determines when the last bit of a packet leaves.

mod trace;
mod varying;

use alloc::boxed::Box;

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use trace::Opportunities;
pub use trace::{OPPORTUNITY, Trace, TraceError};
pub use varying::RateVariation;
use varying::Varying;

/// The rate at which a link transmits.
#[derive(Clone, Debug, PartialEq)]
pub enum LineRate {
    /// A constant rate.
    Constant(Rate),
    /// A recorded rate.
    Trace(Trace),
    /// A rate that varies at random.
    Varying {
        /// The mean.
        mean: Rate,
        /// The variation about it.
        variation: RateVariation,
    },
}

impl LineRate {
    /// The rate, if it is constant.
    #[must_use]
    pub fn constant(&self) -> Option<Rate> {
        match self {
            Self::Constant(rate) => Some(*rate),
            Self::Trace(_) | Self::Varying { .. } => None,
        }
    }

    /// The rate in bits per second; of one that is not constant, its mean.
    #[must_use]
    pub fn mean(&self) -> Rate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Trace(trace) => trace.mean_rate(),
            Self::Varying { mean, .. } => *mean,
        }
    }
}

/// The time for which a packet occupies the queue after its last bit has left.
const TIE: Duration = Duration(1);

/// A line that transmits one packet after another.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Constant(Constant),
    Trace(Box<Opportunities>),
    Varying(Box<Varying>),
}

/// The times at which the first and the last bit of a packet leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransmissionTimes {
    pub(crate) begin: Time,
    pub(crate) finish: Time,
}

impl Line {
    /// A line; one that varies draws from the stream that `stream` returns.
    pub(crate) fn new(rate: &LineRate, stream: impl FnOnce() -> Stream) -> Self {
        match rate {
            LineRate::Constant(rate) => Self::Constant(Constant::new(*rate)),
            LineRate::Trace(trace) => Self::Trace(Box::new(Opportunities::new(trace.clone()))),
            LineRate::Varying { mean, variation } => {
                Self::Varying(Box::new(Varying::new(*mean, *variation, stream())))
            }
        }
    }

    /// The time at which the last bit of all packets sent so far leaves.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        match self {
            Self::Constant(line) => line.free_at,
            Self::Trace(line) => line.free_at,
            Self::Varying(line) => line.free_at,
        }
    }

    /// The time from which a packet whose last bit leaves at `finish` no longer occupies the queue.
    /// Without a trace a packet that arrives at `finish` precedes the departure; with a trace
    /// the departure is first, as in Mahimahi.
    #[inline]
    pub(crate) fn vacates(&self, finish: Time) -> Time {
        match self {
            // A line that is free from the start has sent no packet.
            Self::Constant(_) | Self::Varying(_) if finish > Time::ZERO => finish + TIE,
            _ => finish,
        }
    }

    /// The inverse of [`Self::vacates`].
    pub(crate) fn finish_of(&self, vacated: Time) -> Time {
        match self {
            Self::Constant(_) | Self::Varying(_) => vacated - TIE,
            Self::Trace(_) => vacated,
        }
    }

    /// The bytes that were sent and leave after `now`, including the rest of a packet in
    /// transmission.
    pub(crate) fn bytes_after(&self, now: Time) -> u64 {
        match self {
            Self::Constant(line) => line.bytes_after(now),
            Self::Trace(line) => line.bytes_after(now),
            Self::Varying(line) => line.bytes_after(now),
        }
    }

    /// The time at which a packet that has waited since `ready` begins to leave, if it is the next.
    #[inline]
    pub(crate) fn begin(&self, ready: Time) -> Time {
        match self {
            Self::Constant(line) => ready.max(line.free_at),
            Self::Trace(line) => line.begin(ready),
            Self::Varying(line) => ready.max(line.free_at),
        }
    }

    /// Sends a packet that waits since `ready`, after all packets sent before.
    #[inline]
    pub(crate) fn send(&mut self, ready: Time, size: u32) -> TransmissionTimes {
        match self {
            Self::Constant(line) => line.send(ready, size),
            Self::Trace(line) => line.send(ready, size),
            Self::Varying(line) => line.send(ready, size),
        }
    }
}

/// A line with a constant rate.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    rate: Rate,
    free_at: Time,
    /// The last packet: most have the same size, and a division is expensive.
    last: LastPacket,
}

/// The size of a packet and its transmission time.
#[derive(Clone, Copy, Debug, Default)]
struct LastPacket {
    size: u32,
    transmission_time: Duration,
}

impl Constant {
    fn new(rate: Rate) -> Self {
        Self {
            rate,
            free_at: Time::ZERO,
            last: LastPacket::default(),
        }
    }

    #[inline]
    fn send(&mut self, ready: Time, size: u32) -> TransmissionTimes {
        if self.last.size != size {
            let transmission_time = self.rate.transmission_time(Bytes(u64::from(size)));
            self.last = LastPacket {
                size,
                transmission_time,
            };
        }
        let begin = ready.max(self.free_at);
        self.free_at = begin + self.last.transmission_time;
        TransmissionTimes {
            begin,
            finish: self.free_at,
        }
    }

    /// The result is rounded up, so that no byte counts as transmitted early.
    fn bytes_after(&self, now: Time) -> u64 {
        if self.free_at <= now {
            return 0;
        }
        let bits_ns = u128::from(self.rate.0) * u128::from(self.free_at.since(now).as_nanos());
        u64::try_from(bits_ns.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }
}
