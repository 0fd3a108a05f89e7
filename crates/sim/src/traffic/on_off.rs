//! An exponential on/off source of datagrams.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

/// How a source behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOffConfig {
    /// Rate while on, in bits per second.
    pub peak: Rate,
    /// Mean of the exponential on times.
    pub on: Duration,
    /// Mean of the exponential off times.
    pub off: Duration,
    /// Size of a datagram on the wire.
    pub packet: Bytes,
}

/// A datagram; it says nothing but that it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Size on the wire in bytes.
    pub size: u32,
}

/// Sends datagrams at even intervals while on, the first at the begin of each on time.
///
/// As in ns-2 (`Application/Traffic/Exponential`) an on time is a whole number of datagrams, at least one.
#[derive(Clone, Debug)]
pub struct OnOffSource {
    config: OnOffConfig,
    interval: Duration,
    stream: Stream,
    /// Datagrams of the present on time that are still to be sent.
    remaining: u64,
    next: Time,
}

impl OnOffSource {
    /// A source that is off at `now`.
    #[must_use]
    pub fn new(config: OnOffConfig, stream: Stream, now: Time) -> Self {
        let mut source = Self {
            config,
            interval: config.peak.transmission_time(config.packet),
            stream,
            remaining: 0,
            next: now,
        };
        source.pause();
        source
    }

    /// Draws an off time and the on time that follows it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates; a count is positive"
    )]
    fn pause(&mut self) {
        let off = self.stream.exponential(self.config.off.as_secs_f64());
        let on = self.stream.exponential(self.config.on.as_secs_f64());
        self.next += Duration::from_secs_f64(off);
        self.remaining = (on / self.interval.as_secs_f64()).round().max(1.0) as u64;
    }
}

impl Machine for OnOffSource {
    type Input = core::convert::Infallible;
    type Output = Datagram;

    fn handle_input(&mut self, _now: Time, input: Self::Input, _out: &mut impl FnMut(Datagram)) {
        match input {}
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Datagram)) {
        while self.next <= now {
            let size = u32::try_from(self.config.packet.0).unwrap_or(u32::MAX);
            out(Datagram { size });
            self.remaining -= 1;
            self.next += self.interval.max(Duration(1));
            if self.remaining == 0 {
                self.pause();
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(Deadline {
            at: self.next,
            why: "next datagram",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    #[test]
    fn the_mean_rate_is_the_peak_rate_times_the_share_of_on_times() {
        let config = OnOffConfig {
            peak: Rate(800_000),
            on: Duration::from_secs(1),
            off: Duration::from_secs(2),
            packet: Bytes(1000),
        };
        let mut source = OnOffSource::new(config, Seed(1).stream("udp"), Time::ZERO);
        let mut bits = 0.0;
        let end = Time(60_000_000_000_000);
        while let Some(deadline) = source.deadline()
            && deadline.at < end
        {
            source.handle_timeout(deadline.at, &mut |d| bits += 8.0 * f64::from(d.size));
        }
        let rate = bits / end.as_secs_f64();
        // 20 000 cycles: four standard errors are about 3 %.
        assert!((rate / 266_667.0 - 1.0).abs() < 0.03, "{rate}");
    }
}
