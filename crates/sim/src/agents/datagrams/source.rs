//! Sources of datagrams: when each is sent.

use polypath_core::cbr::Cbr;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};

use super::{OnOff, Playback, Poisson};

/// A datagram without contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Size on the wire in bytes.
    pub size: u32,
}

/// The shortest interval that is drawn, so that time advances.
const MIN_INTERVAL: Duration = Duration(1);

/// The times at which a source sends.
pub trait SendTimes {
    /// The time from the start of the source to its first datagram.
    fn first(&mut self) -> Duration;
    /// The time from the start of one datagram to the start of the next.
    fn interval(&mut self) -> Duration;
    /// The size of the next datagram in bytes, if sizes differ.
    fn size(&self) -> Option<u32> {
        None
    }
}

/// The kinds of [`SendTimes`].
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Constant intervals.
    Cbr(Cbr),
    /// Exponential intervals.
    Poisson(Poisson),
    /// Bursts.
    OnOff(OnOff),
    /// Recorded times and sizes.
    Playback(Playback),
}

/// Sends datagrams from its start to its stop, of one size unless its pattern has sizes.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    pattern: Pattern,
    size: u32,
    next: Time,
    stop: Time,
}

impl DatagramSource {
    /// A source that starts at `start` and sends nothing at `stop` or later; [`Time::MAX`] for no
    /// stop.
    #[must_use]
    pub fn new(mut pattern: Pattern, size: u32, start: Time, stop: Time) -> Self {
        let next = start + pattern.first();
        Self {
            pattern,
            size,
            next,
            stop,
        }
    }
}

impl SendTimes for Pattern {
    fn first(&mut self) -> Duration {
        match self {
            // The first is sent at the start.
            Self::Cbr(_) => Duration::ZERO,
            Self::Poisson(traffic) => traffic.first(),
            Self::OnOff(traffic) => traffic.first(),
            Self::Playback(traffic) => traffic.first(),
        }
    }

    fn interval(&mut self) -> Duration {
        match self {
            Self::Cbr(traffic) => traffic.interval(),
            Self::Poisson(traffic) => traffic.interval().max(MIN_INTERVAL),
            Self::OnOff(traffic) => traffic.interval().max(MIN_INTERVAL),
            Self::Playback(traffic) => traffic.interval(),
        }
    }

    fn size(&self) -> Option<u32> {
        match self {
            Self::Playback(traffic) => traffic.size(),
            Self::Cbr(_) | Self::Poisson(_) | Self::OnOff(_) => None,
        }
    }
}

impl Machine for DatagramSource {
    type Input = core::convert::Infallible;
    type Output = Datagram;

    fn handle_input(&mut self, _now: Time, input: Self::Input, _out: &mut impl FnMut(Datagram)) {
        match input {}
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Datagram)) {
        while self.next <= now && self.next < self.stop {
            let size = self.pattern.size().unwrap_or(self.size);
            out(Datagram { size });
            self.next += self.pattern.interval();
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        (self.next < self.stop).then_some(Deadline {
            at: self.next,
            why: "next datagram",
        })
    }
}

/// A random number of seconds as a duration.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}
