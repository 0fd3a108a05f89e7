//! The transmitter of a link: when the last bit of a packet leaves.

mod trace;

use alloc::boxed::Box;

use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use trace::Opportunities;
pub use trace::{OPPORTUNITY, Trace, TraceError};

/// How fast a link transmits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRate {
    /// At all times the same.
    Constant(Rate),
    /// As recorded.
    Trace(Trace),
}

impl LineRate {
    /// The rate in bits per second, of a trace its mean.
    #[must_use]
    pub fn mean(&self) -> Rate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Trace(trace) => trace.mean_rate(),
        }
    }
}

/// For so long a packet keeps its place after its last bit has left.
const TIE: Duration = Duration(1);

/// A line that transmits one packet after another.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Constant(Constant),
    Trace(Box<Opportunities>),
}

/// When the first bit of a packet leaves, and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) begin: Time,
    pub(crate) finish: Time,
}

impl Line {
    pub(crate) fn new(rate: &LineRate) -> Self {
        match rate {
            LineRate::Constant(rate) => Self::Constant(Constant::new(*rate)),
            LineRate::Trace(trace) => Self::Trace(Box::new(Opportunities::new(trace.clone()))),
        }
    }

    /// When the last bit of everything that was sent so far leaves.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        match self {
            Self::Constant(line) => line.free_at,
            Self::Trace(line) => line.free_at,
        }
    }

    /// From when on a packet whose last bit leaves at `finish` has no place in the queue: at a constant rate one that
    /// arrives at that instant comes before, with a trace the opportunity does, as in Mahimahi.
    #[inline]
    pub(crate) fn vacates(&self, finish: Time) -> Time {
        match self {
            // A line that is free from the start has sent nothing.
            Self::Constant(_) if finish > Time::ZERO => finish + TIE,
            _ => finish,
        }
    }

    /// When the last bit of a packet leaves whose place is [free](Self::vacates) from `vacated` on.
    pub(crate) fn finish_of(&self, vacated: Time) -> Time {
        match self {
            Self::Constant(_) => vacated - TIE,
            Self::Trace(_) => vacated,
        }
    }

    /// Bytes that were sent and leave after `now`, the rest of a packet in transmission included.
    pub(crate) fn bytes_after(&self, now: Time) -> u64 {
        match self {
            Self::Constant(line) => line.bytes_after(now),
            Self::Trace(line) => line.bytes_after(now),
        }
    }

    /// When a packet that is there since `ready` begins to leave, if it comes next.
    #[inline]
    pub(crate) fn begin(&self, ready: Time) -> Time {
        match self {
            Self::Constant(line) => ready.max(line.free_at),
            Self::Trace(line) => line.begin(ready),
        }
    }

    /// Sends a packet that is there since `ready`, behind all that were sent before.
    #[inline]
    pub(crate) fn send(&mut self, ready: Time, size: u32) -> Sent {
        match self {
            Self::Constant(line) => line.send(ready, size),
            Self::Trace(line) => line.send(ready, size),
        }
    }
}

/// A line with one rate.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    rate: Rate,
    free_at: Time,
    /// Size and transmission time of the packet before: most are of the same size, and a division is dear.
    last: (u32, Duration),
}

impl Constant {
    fn new(rate: Rate) -> Self {
        Self {
            rate,
            free_at: Time::ZERO,
            last: (0, Duration::ZERO),
        }
    }

    #[inline]
    fn send(&mut self, ready: Time, size: u32) -> Sent {
        if self.last.0 != size {
            self.last = (size, self.rate.transmission_time(Bytes(u64::from(size))));
        }
        let begin = ready.max(self.free_at);
        self.free_at = begin + self.last.1;
        Sent {
            begin,
            finish: self.free_at,
        }
    }

    /// Rounded up, so that no byte counts as transmitted before it is.
    fn bytes_after(&self, now: Time) -> u64 {
        if self.free_at <= now {
            return 0;
        }
        let bits_ns = u128::from(self.rate.0) * u128::from(self.free_at.since(now).as_nanos());
        u64::try_from(bits_ns.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }
}
