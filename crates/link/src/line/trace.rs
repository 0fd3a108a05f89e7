//! A line with a recorded rate: the packet-delivery traces of Mahimahi.
//!
//! Each point in time of a trace is an opportunity to deliver 1500 bytes; the trace repeats. The
//! bytes of a packet may span several opportunities, and several packets may share one. An
//! opportunity is lost if no packet waits when it comes, and so is the rest of a partly used one. A
//! packet that arrives at the time of an opportunity misses it (Mahimahi, `link_queue.cc`: due
//! opportunities are used before a packet joins the queue).

use alloc::sync::Arc;
use alloc::vec::Vec;

use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use super::TransmissionTimes;

/// The bytes that one opportunity delivers.
pub const OPPORTUNITY: Bytes = Bytes(1500);

const OPPORTUNITY_BYTES: u32 = 1500;

/// A recorded rate: a repeating sequence of opportunities to deliver [`OPPORTUNITY`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Times since the start of a period, never decreasing; the last is the end of the period.
    at: Arc<[Duration]>,
}

/// Times that are not a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// It has no opportunity.
    #[error("a trace needs an opportunity")]
    Empty,
    /// The opportunity at this index is earlier than its predecessor.
    #[error("opportunity {0} of the trace is earlier than the one before")]
    Disorder(usize),
    /// Its period is zero.
    #[error("the period of a trace must be more than zero")]
    NoTime,
}

impl Trace {
    /// A trace of opportunities at times since its start; it repeats after the last.
    ///
    /// # Errors
    /// No times, decreasing times or a period of zero.
    pub fn new(at: impl IntoIterator<Item = Duration>) -> Result<Self, TraceError> {
        let at: Vec<Duration> = at.into_iter().collect();
        if let Some(index) = at.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::Disorder(index + 1));
        }
        match at.last() {
            None => Err(TraceError::Empty),
            Some(&Duration::ZERO) => Err(TraceError::NoTime),
            Some(_) => Ok(Self { at: at.into() }),
        }
    }

    /// The time after which it repeats.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.at[self.at.len() - 1]
    }

    /// The mean rate in bits per second, rounded down.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let bytes = Bytes(OPPORTUNITY.0.saturating_mul(self.at.len() as u64));
        Rate::average(bytes, self.period()).unwrap_or(Rate(u64::MAX))
    }
}

/// A line that sends at the opportunities of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    trace: Trace,
    position: Position,
    pub(super) free_at: Time,
}

/// An opportunity and the bytes left of it.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The start of its period.
    base: Time,
    index: usize,
    left: u32,
}

impl Opportunities {
    pub(super) fn new(trace: Trace) -> Self {
        Self {
            trace,
            position: Position {
                base: Time::ZERO,
                index: 0,
                left: OPPORTUNITY_BYTES,
            },
            free_at: Time::ZERO,
        }
    }

    pub(super) fn begin(&self, ready: Time) -> Time {
        self.trace.time_of(self.next(ready))
    }

    pub(super) fn send(&mut self, ready: Time, size: u32) -> TransmissionTimes {
        let mut position = self.next(ready);
        let begin = self.trace.time_of(position);
        let mut rest = size;
        loop {
            let part = rest.min(position.left);
            position.left -= part;
            rest -= part;
            if rest == 0 {
                break;
            }
            position = self.trace.after(position);
        }
        self.position = position;
        self.free_at = self.trace.time_of(position);
        TransmissionTimes {
            begin,
            finish: self.free_at,
        }
    }

    /// The opportunities after `now` that are used: all up to the last, since a busy line skips
    /// none.
    pub(super) fn bytes_after(&self, now: Time) -> u64 {
        if self.free_at <= now {
            return 0;
        }
        let (first, last) = (self.trace.first_after(now), self.position);
        let periods = (last.base.0 - first.base.0) / self.trace.period().0;
        let a_period = self.trace.at.len() as u64;
        let whole = periods * a_period + last.index as u64 - first.index as u64;
        whole * OPPORTUNITY.0 + u64::from(OPPORTUNITY_BYTES - last.left)
    }

    /// The first opportunity after `ready` that has bytes left.
    fn next(&self, ready: Time) -> Position {
        if self.trace.time_of(self.position) <= ready {
            return self.trace.first_after(ready);
        }
        match self.position.left {
            0 => self.trace.after(self.position),
            _ => self.position,
        }
    }
}

impl Trace {
    fn time_of(&self, position: Position) -> Time {
        position.base + self.at[position.index]
    }

    fn after(&self, position: Position) -> Position {
        let last = position.index + 1 == self.at.len();
        let (base, index) = if last {
            (position.base + self.period(), 0)
        } else {
            (position.base, position.index + 1)
        };
        Position {
            base,
            index,
            left: OPPORTUNITY_BYTES,
        }
    }

    /// The first opportunity after `time`, in any later period.
    fn first_after(&self, time: Time) -> Position {
        let into = Duration(time.0 % self.period().0);
        Position {
            base: time - into,
            index: self.at.partition_point(|at| *at <= into),
            left: OPPORTUNITY_BYTES,
        }
    }
}
